#!/usr/bin/env python3
"""What the programs do to files: no output destroys what was read, no input is without bound, and what the system refuses is no
fault of the program's.

usage: files_test.py REHEARSE [REHEARSE-CALIBRATE]      exit status 0, or 1 with what was wrong
"""
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

REHEARSE = os.path.abspath(sys.argv[1])
CALIBRATE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 and os.path.exists(sys.argv[2]) else None
del sys.argv[1:3]
SANITIZED = "REHEARSE_SANITIZED" in os.environ
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")

SCENARIO = """name: mine
model: models/tiny.yaml
cluster: {topology: nodes.yaml, nodes: 4, placement: ranks.csv}
profile: gpu.yaml
layout: {tp: 2, pp: 2, dp: 4}
batch: {global: 32, micro: 1, sequence: 1024}
schedule: mine.csv
"""
STUDY = "base: mine.yaml\naxes: {batch.global: [16, 32]}\n"
LOG = "size_bytes,time_us\n1024,20\n1048576,50\n"
TABLE = "m,n,k,dtype,time_us\n128,128,128,bf16,10\n4096,4096,8192,bf16,1200\n"

# Words of each command with the option whose file is to be refused last, and the files that it reads.
OF_SCENARIO = ["mine.yaml", "models/tiny.yaml", "nodes.yaml", "gpu.yaml", "gpu/gemm.csv", "ranks.csv", "mine.csv"]
COMMANDS = {
    "run": ("mine.yaml", OF_SCENARIO),
    "check": ("mine.yaml", OF_SCENARIO),
    "ledger": ("mine.yaml", OF_SCENARIO),
    "schedule": ("mine.yaml", OF_SCENARIO),
    "schedules": ("mine.yaml --schedules 1f1b", OF_SCENARIO),
    "compare": ("mine.yaml --with batch.global=16", OF_SCENARIO),
    "sensitivity": ("mine.yaml", OF_SCENARIO),
    "scale": ("mine.yaml --gpus 16", OF_SCENARIO[:2]),
    "sweep": ("study.yaml", ["study.yaml", *OF_SCENARIO[:5]]),
    "best": ("study.yaml --store study.sqlite", ["study.yaml", "study.sqlite"]),
    "merge": ("study.sqlite", ["study.sqlite"]),
    "report": ("mine.yaml study.sqlite", [*OF_SCENARIO, "study.sqlite"]),
    "topology": ("mine.yaml", OF_SCENARIO),
    "collective": ("all_reduce --topology nodes.yaml --profile gpu.yaml --ranks 4 --against log.csv", ["nodes.yaml", "gpu.yaml", "log.csv"]),
    "score": ("truth.yaml", ["truth.yaml"]),
}
CALIBRATES = {
    "run": ("--backend host --ranks 1 --points points.jsonl --dry-run", ["points.jsonl"]),
    "plan": ("mine.yaml", OF_SCENARIO),
    "verify": ("mine.yaml --backend host", OF_SCENARIO),
    "import": ("table.csv --gpu X", ["table.csv"]),
    "fit": ("samples.jsonl", ["samples.jsonl"]),
    "compare": ("samples.jsonl samples.jsonl", ["samples.jsonl"]),
}
READ = {"--against", "--score", "--points", "--constants", "--topology", "--profile", "--borrowed", "--limits"}  # options that name inputs
KEPT = {("sweep", "--store"), ("best", "--store")}  # read and written on, with rules of their own
NEEDED = {("fit", "--json"): "-o new", ("merge", "--json"): "-o new"}
MORE = {"--dump": "--stop-after graph", "--trace": "", "--svg": ""}


def outputs_of(program, command):
    """Options of a command that name a file or folder to be written, as --help has them."""
    text = subprocess.run([program, command, "--help"], capture_output=True, text=True).stdout
    found = re.findall(r"^  (?:-\w \[ )?(--[\w-]+)(?: \])? (FILE|DIR)", text, re.M)
    return [option for option, _ in found if option not in READ and (command, option) not in KEPT]


def commands_of(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    return re.findall(r"^  (\w+) ", text.split("commands:")[1].split("\n\n")[0], re.M)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        shutil.copytree(os.path.join(DATA, "scenarios", "models"), self.path("models"))
        shutil.copy(os.path.join(DATA, "topologies", "small-node.yaml"), self.path("nodes.yaml"))
        self.put("ranks.csv", "gpu\n" + "".join(f"{i}\n" for i in range(16)))
        with open(os.path.join(DATA, "calibration", "profiles", "test-gpu.yaml")) as file:
            self.put("gpu.yaml", file.read() + "\ngemm:\n  - {table: gpu/gemm.csv, dtype: bf16, basis: guess, source: made up, licence: none}\n")
        os.mkdir(self.path("gpu"))
        self.put("gpu/gemm.csv", "m,n,k,time_us\n128,128,128,10\n256,256,256,20\n")
        self.put("mine.yaml", SCENARIO)
        self.put("study.yaml", STUDY)
        self.put("log.csv", LOG)
        self.put("table.csv", TABLE)
        self.put("truth.yaml", "[]\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_program(self, words, program=REHEARSE, **more):
        words = words.split() if isinstance(words, str) else words
        environment = {**os.environ, "REHEARSE_DATA": DATA, **more.pop("env", {})}
        return subprocess.run([program, *words], cwd=more.pop("cwd", self.folder), env=environment, capture_output=True, text=True,
                              errors="replace", timeout=120, **more)

    def made(self, words, **more):
        result = self.run_program(words, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def schedule(self):
        text = SCENARIO.replace("schedule: mine.csv", "schedule: 1f1b")
        self.put("first.yaml", text)
        self.made("schedule first.yaml --csv mine.csv")


class Outputs(Folder):
    """Every output option of every command against every file that the command reads, under its name and others."""

    def every(self, program, table):
        none = {"batch", "probes"}
        self.assertEqual(set(commands_of(program)) - none, set(table), "a command without its words here")
        kinds = 0
        for command, (words, reads) in table.items():
            options = outputs_of(program, command)
            if command not in none:
                self.assertTrue(options, command)
            for option in options:
                for read in reads:
                    # fit adds .yaml to the name of its output, which then is another
                    if (command, option) == ("fit", "--output") or option == "--svg" and command in ("report", "fit"):
                        continue
                    name = read
                    if kinds % 3 == 1:
                        os.link(self.path(read), self.path("hard"))
                        name = "hard"
                    elif kinds % 3 == 2:
                        os.symlink(self.path(read), self.path("soft"))
                        name = "soft"
                    kinds += 1
                    with self.subTest(program=os.path.basename(program), command=command, option=option, read=read, name=name):
                        before = self.get(read)
                        result = self.run_program([command, *words.split(), *MORE.get(option, "").split(), *NEEDED.get((command, option), "").split(), option, name], program=program)
                        self.assertEqual(self.get(read), before)
                        if option != "--trace":  # the name has another ending, or is no folder
                            self.assertIn("would overwrite", result.stderr)
                        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                    for made in ("hard", "soft"):
                        if os.path.lexists(self.path(made)):
                            os.unlink(self.path(made))

    def test_every_output_against_every_file_read(self):
        self.schedule()
        self.made("sweep study.yaml --store study.sqlite --quiet")
        self.every(REHEARSE, COMMANDS)

    def test_a_schedule_that_is_compared(self):
        self.schedule()
        before = self.get("mine.csv")
        for option in outputs_of(REHEARSE, "schedules"):
            result = self.run_program(f"schedules first.yaml --schedules ./mine.csv,1f1b {option} mine.csv")
            self.assertEqual((result.returncode, result.stdout, self.get("mine.csv")), (2, "", before), option)
            self.assertIn("would overwrite", result.stderr)

    def test_two_outputs_do_not_share_standard_output(self):
        self.schedule()
        for words in ("run mine.yaml --links - --json -", "run mine.yaml --links /dev/stdout --json -", "schedules mine.yaml --svg - --json -",
                      "schedule mine.yaml --csv - --json /dev/fd/1", "topology nodes.yaml --dot - --svg -"):
            result = self.run_program(words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn("cannot share standard output [E-CLI]", result.stderr, words)

    @unittest.skipUnless(CALIBRATE, "no rehearse-calibrate")
    def test_every_output_of_the_harness(self):
        self.schedule()
        self.made("plan mine.yaml -o points.jsonl", program=CALIBRATE)
        self.made("import table.csv --gpu X -o samples.jsonl", program=CALIBRATE)
        self.every(CALIBRATE, CALIBRATES)

    def test_a_trace_is_not_written_over_what_was_read(self):
        self.schedule()
        os.link(self.path("models/tiny.yaml"), self.path("step.json"))
        result = self.run_program("run mine.yaml --trace step.json")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("would overwrite", result.stderr)

    def test_standard_input_is_a_file_too(self):
        self.schedule()
        with open(self.path("mine.yaml")) as file:
            result = self.run_program("check - --json mine.yaml", stdin=file)
        self.assertEqual(result.returncode, 2)
        self.assertIn("would overwrite '<stdin>'", result.stderr)
        self.assertEqual(self.get("mine.yaml").decode(), SCENARIO)

    def test_two_outputs_to_one_file(self):
        self.schedule()
        for words in ("run mine.yaml --json x --links ./x", "schedule mine.yaml --json x --csv x", "sweep study.yaml --csv x --json x",
                      "sweep study.yaml --store x --csv x", "sweep study.yaml --store x --csv x-wal", "merge a -o x --json x"):
            result = self.run_program(words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertRegex(result.stderr, "name one file|would overwrite", words)

    def test_an_older_result_stays_until_the_new_one_is_whole(self):
        self.schedule()
        self.put("out.json", "older\n")
        os.chmod(self.path("out.json"), 0o640)
        full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
        for option, name in (("--json", "out.json"), ("--links", "out.json"), ("--trace", "out.json")):
            result = self.run_program(["run", "mine.yaml", option, name], preexec_fn=full)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, r"File too large \[E-(FILE-WRITE|TRACE-PATH)\]")
            self.assertEqual(self.get("out.json"), b"older\n", option)
        self.made("run mine.yaml --json out.json")
        self.assertIn(b"step_time_s", self.get("out.json"))
        self.assertEqual(os.stat(self.path("out.json")).st_mode & 0o777, 0o640)
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith(".rehearse")], [])

    def test_devices_and_links_are_written_through(self):
        self.schedule()
        self.made("run mine.yaml --json /dev/null")
        os.symlink("far.json", self.path("near.json"))
        self.made("check mine.yaml --json near.json")
        self.assertTrue(os.path.islink(self.path("near.json")))
        self.assertTrue(os.path.exists(self.path("far.json")))
        full = self.run_program("run mine.yaml --json /dev/full")
        self.assertEqual((full.returncode, full.stdout), (2, ""))
        self.assertIn("No space left on device [E-FILE-WRITE]", full.stderr)


class Stores(Folder):
    def setUp(self):
        super().setUp()
        self.schedule()

    def test_files_of_like_names_stay(self):
        for end in ("-new", "-lock", "-journal", "-wal", "-shm", "-new-journal"):
            name = "s.sqlite" + end
            self.put(name, "a letter\n")
            result = self.run_program("sweep study.yaml --store s.sqlite --quiet")
            self.assertEqual(self.get(name), b"a letter\n", end)
            if end in ("-new", "-new-journal"):
                self.assertEqual(result.returncode, 0, result.stderr)
                os.unlink(self.path("s.sqlite"))
            else:
                self.assertEqual(result.returncode, 2, end)
                self.assertIn("[E-STORE-FILE]", result.stderr)
            os.unlink(self.path(name))

    def test_files_of_like_names_stay_beside_a_store(self):
        self.made("sweep study.yaml --store s.sqlite --quiet")
        for end in ("-lock", "-journal", "-wal", "-shm"):
            for words in ("sweep study.yaml --store s.sqlite --quiet", "best study.yaml --store s.sqlite"):
                self.put("s.sqlite" + end, "a letter\n")
                result = self.run_program(words)
                self.assertEqual(self.get("s.sqlite" + end), b"a letter\n", (end, words))
                if (end, words[:4]) != ("-lock", "best"):
                    self.assertEqual(result.returncode, 2, (end, words))
                os.unlink(self.path("s.sqlite" + end))

    def sweep_disturbed(self, disturb):
        self.put("study.yaml", "base: mine.yaml\nset: {schedule: 1f1b}\naxes: {batch.global: %s}\n" % list(range(8, 8 * 400, 8)))
        environment = {**os.environ, "REHEARSE_DATA": DATA}
        process = subprocess.Popen([REHEARSE, "sweep", "study.yaml", "--store", "s.sqlite", "--quiet", "--jobs", "1"], cwd=self.folder,
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 30
        while time.monotonic() < until and not os.path.exists(self.path("s.sqlite-wal")):
            time.sleep(0.005)
        disturb()
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (2, ""), err)
        self.assertIn("[E-STORE-FILE]", err)

    def test_a_store_that_is_removed_is_no_result(self):
        self.sweep_disturbed(lambda: os.unlink(self.path("s.sqlite")))

    def test_a_store_that_another_program_changes_is_no_result(self):
        def add_trigger():
            base = sqlite3.connect(self.path("s.sqlite"), timeout=20)
            base.execute("CREATE TRIGGER t AFTER INSERT ON points BEGIN DELETE FROM points; END")
            base.commit()
            base.close()
        self.sweep_disturbed(add_trigger)
        again = self.run_program("sweep study.yaml --store s.sqlite")
        self.assertEqual(again.returncode, 2)
        self.assertIn("the store holds the trigger 't'", again.stderr)

    def test_variables_of_rehearse_mpi_from_elsewhere_are_refused(self):
        for name, value in (("REHEARSE_SERVE", "1"), ("REHEARSE_LANES", "99"), ("REHEARSE_LANES", "x"), ("REHEARSE_LANES", "0,0")):
            result = self.run_program("sweep study.yaml --store s.sqlite", env={name: value}, stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 2, name)
            self.assertIn(f"{name} is set, and not by rehearse-mpi [E-CLI]\n  hint: unset {name}", result.stderr)

    def test_cells_of_tables_are_no_formulas(self):
        self.put("study.yaml", "base: mine.yaml\nset: {schedule: 1f1b}\naxes: {name: [=1+1, plain]}\n")
        table = self.made("sweep study.yaml --store s.sqlite --csv - --quiet").stdout
        self.assertIn(",'=1+1,", table)
        self.assertIn(",plain,", table)


class Bounds(Folder):
    """Inputs without an end, of every reader; the address space is bounded so that a reader that takes all of it fails here."""

    def refused(self, words, code, program=REHEARSE, **more):
        # AddressSanitizer reserves terabytes of addresses, and bounds what it fills by an option of its own.
        limit = None if SANITIZED else lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        result = self.run_program(words, program=program, preexec_fn=limit, **more)
        self.assertEqual(result.returncode, 2, (words, result.stderr))
        self.assertIn(f"[{code}]", result.stderr, words)

    def test_files_without_end(self):
        for name, code in (("mine.yaml", "E-FILE-READ"), ("models/tiny.yaml", "E-FILE-READ"), ("nodes.yaml", "E-FILE-READ"),
                           ("gpu.yaml", "E-FILE-READ"), ("gpu/gemm.csv", "E-FILE-READ"), ("ranks.csv", "E-FILE-READ"),
                           ("mine.csv", "E-SCHEDULE-FILE"), ("study.yaml", "E-FILE-READ"), ("log.csv", "E-FILE-READ"),
                           ("truth.yaml", "E-FILE-READ")):
            with self.subTest(name=name):
                self.setUp()
                self.schedule()
                os.unlink(self.path(name))
                os.symlink("/dev/zero", self.path(name))
                command = {"study.yaml": "sweep", "log.csv": "collective", "truth.yaml": "score"}.get(name, "check")
                self.refused([command, *COMMANDS[command][0].split()], code)
        self.refused("check /dev/zero", "E-FILE-READ")
        with open("/dev/zero") as zero:
            self.refused("check -", "E-FILE-READ", stdin=zero)

    @unittest.skipUnless(CALIBRATE, "no rehearse-calibrate")
    def test_files_without_end_of_the_harness(self):
        self.refused("import /dev/zero --gpu X -o x", "E-FILE-READ", program=CALIBRATE)
        self.refused("fit /dev/zero -o x.yaml", "E-FILE-READ", program=CALIBRATE)
        self.refused("run --backend host --ranks 1 --dry-run --points /dev/zero", "E-FILE-READ", program=CALIBRATE)

    def test_many_keys_are_read_in_time(self):
        self.put("keys.yaml", SCENARIO + "".join(f"k{i}: {i}\n" for i in range(200_000)))
        began = time.monotonic()
        self.refused("check keys.yaml", "E-KEY-UNKNOWN")
        self.assertLess(time.monotonic() - began, 200 if SANITIZED else 20)

    def test_what_is_no_text_is_named(self):
        for name, start, says in (("z.yaml", b"\x1f\x8b\x08", "it is compressed"), ("w.yaml", b"\xff\xfen\0a\0", "it is UTF-16 text")):
            with open(self.path(name), "wb") as file:
                file.write(start)
            result = self.run_program(["check", name])
            self.assertEqual(result.returncode, 2)
            self.assertIn(says, result.stderr)

    def test_pipes_are_read(self):
        self.schedule()
        result = subprocess.run(["bash", "-c", f"{REHEARSE} check <(sed 's/schedule: mine.csv/schedule: 1f1b/; s#: models#: {self.folder}/models#; "
                                 f"s#: nodes.yaml#: {self.folder}/nodes.yaml#; s#: ranks.csv#: {self.folder}/ranks.csv#; s#: gpu.yaml#: {self.folder}/gpu.yaml#' mine.yaml)"],
                                cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("mine.yaml")) as file:
            self.assertEqual(self.run_program("check /dev/stdin", stdin=file).returncode, 2)  # beside /dev there is no model
        with open(self.path("mine.yaml")) as file:
            self.made("check -", stdin=file)

    def test_the_stream_of_requests_is_no_scenario(self):
        """Under no name: as a scenario, or as a file that one names."""
        names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", {"model": "/dev/stdin", "cluster": {"topology": "nodes.yaml", "nodes": 4}}]
        requests = "".join(json.dumps({"id": i, "scenario": name}) + "\n" for i, name in enumerate(names))
        self.put("requests.jsonl", requests)
        with open(self.path("requests.jsonl")) as file:
            for how in ({"input": requests}, {"stdin": file}):
                answers = [json.loads(line) for line in self.made("batch", **how).stdout.splitlines()]
                self.assertEqual([a["id"] for a in answers], list(range(len(names))))
                for answer in answers:
                    said = [e for e in answer["error"] if "standard input holds the requests" in e["message"]]
                    self.assertTrue(said and (said[0]["file"] or said[0]["key"]), answer)


class System(Folder):
    """What the system refuses ends with 2 and says so."""

    def setUp(self):
        super().setUp()
        self.schedule()

    def test_extreme_quantities(self):
        for setting in ("cluster.nic_latency=1e308 s", "cluster.nic=1e-300 B/s", "cluster.nvlink=1e-300 B/s", "cluster.nvlink=1e300 GB/s",
                        "grad_bucket=1e300 B", "batch.global=100000000", "cluster.nic_latency=1e9 s", "cluster.nic=0.001 B/s",
                        "cluster.nvlink=0.001 B/s", "grad_bucket=0.001 B", "batch.sequence=100000000", "model.hidden=1000000"):
            for command in ("run mine.yaml --quiet --json - --set schedule=1f1b", "check mine.yaml --quiet --set schedule=1f1b"):
                result = self.run_program(command.split() + ["--set", setting])
                self.assertIn(result.returncode, (0, 1, 2), (setting, result.stderr))
        for value in ("1e308 s", "1e-300 s"):
            result = self.run_program(["check", "mine.yaml", "--set", "cluster.nic_latency=" + value])
            self.assertIn(f"'{value}' is outside what is accepted, 1e-18 s to 1e9 s [E-UNIT]", result.stderr)

    def test_a_slow_step_has_a_trace(self):
        result = self.run_program(["run", "mine.yaml", "--quiet", "--trace", "t.json", "--set", "cluster.nic=0.001 B/s", "--set", "cluster.nic_latency=1e9 s"])
        self.assertIn(result.returncode, (0, 1, 2), result.stderr)

    def test_numbers_out_of_range_in_json(self):
        self.put("r.json", '{"step_time_s": 1e400}')
        result = self.run_program("report r.json --svg out")
        self.assertEqual(result.returncode, 2, result.stderr)
        result = self.run_program("batch", input='{"id": 1e400, "scenario": "small"}\n{"id": 2, "scenario": {"name": 1e999}}\n')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([json.loads(line)["error"][0]["code"] for line in result.stdout.splitlines()], ["E-BATCH-LINE"] * 2)

    def test_lines_of_batch(self):
        lines = ['{"id": 1, "id": 2, "scenario": "small"}', '{"scenario": {"a": {"b": 1, "b": 2}}}', '{"scenario": "sm\\u0000all"}']
        result = self.run_program("batch", input="\n".join(lines) + "\n")
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([a["error"][0]["code"] for a in answers], ["E-BATCH-LINE"] * 3)
        self.assertEqual([a["error"][0]["message"] for a in answers],
                         ["the key 'id' stands twice in one object", "the key 'b' stands twice in one object",
                          "scenario holds a control character, which no path has"])

    def test_links_in_a_ring(self):
        for name in ("models/tiny.yaml", "nodes.yaml", "gpu.yaml", "gpu/gemm.csv", "ranks.csv", "mine.csv", "mine.yaml"):
            with self.subTest(name=name):
                self.setUp()
                os.unlink(self.path(name))
                os.symlink(os.path.basename(name), self.path(name))
                for command in ("run mine.yaml", "report mine.yaml --svg out", "best study.yaml --store mine.yaml"):
                    self.assertIn(self.run_program(command).returncode, (0, 2), command)  # the data has a tiny model too
        os.symlink("ring", self.path("ring"))
        for words in ("run mine.yaml --json ring", "run mine.yaml --trace ring/", "sweep study.yaml --store ring", "report ring --svg x",
                      "merge ring -o x", "topology ring.yaml"):
            result = self.run_program(words)
            self.assertEqual(result.returncode, 2, (words, result.stderr))

    def test_a_full_disk(self):
        for words in ("run mine.yaml --trace /dev/full", "run mine.yaml --json /dev/full", "run mine.yaml --links /dev/full",
                      "schedule mine.yaml --csv /dev/full"):
            self.assertEqual(self.run_program(words).returncode, 2, words)
        small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
        for words in ("run mine.yaml --trace t.json", "run mine.yaml --trace t/", "sweep study.yaml --store s.sqlite", "report mine.yaml --svg d"):
            result = self.run_program(words, preexec_fn=small)
            self.assertEqual(result.returncode, 2, (words, result.stderr))

    def test_a_folder_that_is_gone(self):
        for words in ("run small", "check small --json x.json", "run small --trace t.json", "run small --trace t/", "report small --svg d",
                      "sweep x.yaml", "best x.yaml", "run x.yaml", "run x", "merge a -o b"):
            result = subprocess.run(["bash", "-c", f'mkdir gone && cd gone && rmdir ../gone && exec {REHEARSE} {words}'], cwd=self.folder,
                                    env={**os.environ, "REHEARSE_DATA": DATA}, capture_output=True, text=True)
            self.assertIn(result.returncode, (0, 2), (words, result.stderr))

    @unittest.skipIf(SANITIZED, "UBSan opens a pipe to look at an address, and without one reports it as bad")
    def test_few_descriptors(self):
        for most in range(4, 12):
            few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            for words in ("run mine.yaml --json x.json --trace t.json", "sweep study.yaml --store s%d.sqlite --jobs 2" % most):
                result = self.run_program(words, preexec_fn=few)
                self.assertIn(result.returncode, (0, 2, 127), (most, words, result.stderr))

    @unittest.skipIf(SANITIZED, "AddressSanitizer reserves more addresses")
    def test_little_memory(self):
        little = lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
        result = self.run_program("run mine.yaml --set schedule=1f1b --set batch.global=40000000 --set cluster.placement=null", preexec_fn=little)
        self.assertIn(result.returncode, (0, 1, 2), result.stderr)

    def test_closed_standard_streams(self):
        for closed in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
            result = subprocess.run(["bash", "-c", f"{REHEARSE} run mine.yaml --quiet --json x.json {closed}"], cwd=self.folder,
                                    env={**os.environ, "REHEARSE_DATA": DATA}, capture_output=True, text=True)
            self.assertEqual(result.returncode, 2 if ">&-" in closed.replace("2>&-", "") else 0, (closed, result.stderr))
            with open(self.path("x.json")) as file:
                json.load(file)
        for words in ("run mine.yaml", "--help", "ledger mine.yaml"):
            result = subprocess.run(["bash", "-c", f"{REHEARSE} {words} | head -1; echo ${{PIPESTATUS[0]}}"], cwd=self.folder,
                                    env={**os.environ, "REHEARSE_DATA": DATA}, capture_output=True, text=True)
            self.assertIn(result.stdout.split()[-1], ("0", str(128 + signal.SIGPIPE)), result.stderr)

    def test_the_verdict_stands_first(self):
        result = self.run_program("run mine.yaml --quiet --set batch.micro=4096 --set batch.global=131072")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertTrue(result.stdout.startswith("DOES NOT FIT: peak "), result.stdout[:200])


if __name__ == "__main__":
    unittest.main(verbosity=1)
