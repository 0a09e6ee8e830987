#!/usr/bin/env python3
"""Runs rehearse-calibrate run as a user would: odd command lines, a sweep killed twice, a full file, an interrupt.

usage: run_test.py PROGRAM      exit status 0, or 1 with what was wrong
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)
CHEAP = "gemm,memory,launch,bandwidth"


def run(*words, **options):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, **options)


def lines(path):
    """Line breaks in a file that may not be there yet."""
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def wait_for(path, count, seconds=60):
    until = time.monotonic() + seconds
    while lines(path) < count and time.monotonic() < until:
        time.sleep(0.01)


def records(path, kind="sample"):
    with open(path) as file:
        return [r for r in map(json.loads, file) if r["record"] == kind]


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "samples.jsonl")

    def measure(self, *words):
        return run("run", "--backend", "host", "--ranks", "1", "-o", self.file, *words)


class CommandLine(Folder):
    def refuses(self, words, message, hint=None):
        result = run(*words)
        expected = f"error: {message}\n" + (f"  hint: {hint}\n" if hint else "")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", expected))

    def test_what_is_missing(self):
        self.refuses(["run"], "--backend is missing [E-CLI]", "--backend host or --backend cuda")
        self.refuses(["run", "--backend", "host"], "-o is missing [E-CLI]", "-o samples.jsonl; --dry-run needs none")
        self.refuses(["run", "--backend", "host", "-o", "-"], "samples go to a file, so that they survive [E-CLI]", "as in -o samples.jsonl")

    def test_what_is_wrong(self):
        host = ["run", "--backend", "host", "-o", self.file]
        self.refuses(["run", "--backend", "hots", "-o", self.file], "unknown backend 'hots' [E-BACKEND]",
                     run("run", "--backend", "hots", "-o", self.file).stderr.split("hint: ")[1].strip())
        duration = "a number and s, min or h: 90s, 10min, 1.5h"
        for text in ("10", "ten min", "10 m", "-"):
            self.refuses(host + ["--budget=" + text], f"--budget '{text}' is no duration [E-CLI]", duration)
        for text in ("0s", "-2min"):
            self.refuses(host + ["--budget=" + text], "--budget must be more than nothing [E-CLI]", duration)
        self.refuses(host + ["--ranks", "0"], "--ranks '0' is no number from 1 to 4096 [E-CLI]")
        self.refuses(host + ["--ranks", "two"], "--ranks 'two' is no number from 1 to 4096 [E-CLI]")
        self.refuses(host + ["--seed", "1.5"], "--seed '1.5' is no whole number from 0 up [E-CLI]")
        self.refuses(host + ["--probes", "gemm,gemm"], "the probe 'gemm' is named twice [E-CLI]")
        self.refuses(host + ["--probes", "gem"], "unknown probe 'gem' [E-CLI]",
                     "did you mean 'gemm'? valid: gemm, batched_gemm, attention, memory, launch, bandwidth, collective, overlap")
        self.refuses(host + ["--points", "p", "--probes", "gemm"], "--points and --probes are both given [E-CLI]",
                     "a file of points says itself what to measure")
        spelled = os.path.join(self.folder, ".", os.path.basename(self.file))
        for other in (self.file, spelled):
            self.refuses(host + ["--json", other], "-o and --json name one file [E-CLI]", "name another file")
        self.refuses(host + ["--points", "p", "--json", "./p"], "--json would overwrite 'p' [E-CLI]", "name another file")
        self.refuses(host + ["extra"], "'extra' is not taken [E-CLI]", "see rehearse-calibrate run --help")
        self.assertFalse(os.path.exists(self.file))

    def test_files_that_cannot_be(self):
        one = ["run", "--backend", "host", "--ranks", "1"]
        place = os.path.join(self.folder, "no", "x.jsonl")
        result = run(*one, "-o", place)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{place}: error: cannot write samples: No such file or directory [E-FILE-WRITE]", result.stderr)
        with open(self.file, "w") as file:
            file.write("not a sample\n")
        result = run(*one, "-o", self.file)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{self.file}:1:", result.stderr)
        self.assertIn("[E-SAMPLE]", result.stderr)

    def test_no_output_overwrites_an_input(self):
        table = os.path.join(self.folder, "gemm.csv")
        with open(table, "w") as file:
            file.write("m,n,k,dtype,time_us\n128,128,128,bf16,10\n4096,4096,8192,bf16,1200\n")
        self.assertEqual(run("import", table, "--gpu", "X", "-o", self.file).returncode, 0)
        profile = os.path.join(self.folder, "x.yaml")
        scenario = os.path.join(self.folder, "s.yaml")
        with open(scenario, "w") as file:
            file.write("name: mine\n")
        for words, message in [
                (["import", table, "--gpu", "X", "-o", table], f"-o would overwrite '{table}'"),
                (["fit", self.file, "-o", profile, "--json", self.file], f"--json would overwrite '{self.file}'"),
                (["fit", self.file, "-o", profile, "--json", profile], "-o and --json name one file"),
                (["compare", self.file, self.file, "--json", self.file], f"--json would overwrite '{self.file}'"),
                (["import", scenario, "-o", scenario], f"-o would overwrite '{scenario}'")]:
            self.refuses(words, message + " [E-CLI]", "name another file")
        with open(scenario) as file:
            self.assertEqual(file.read(), "name: mine\n")
        self.assertEqual(len(records(self.file)), 2)
        self.assertFalse(os.path.exists(profile))

    def test_options_without_effect_are_refused(self):
        table = os.path.join(self.folder, "gemm.csv")
        with open(table, "w") as file:
            file.write("m,n,k,dtype,time_us\n128,128,128,bf16,10\n")
        limits = os.path.join(self.folder, "limits.yaml")
        with open(limits, "w") as file:
            file.write("device: {hbm: {value: 1 GB/s, basis: guess, source: none}}\n")
        unit = os.path.join(self.folder, "unit.yaml")
        with open(unit, "w") as file:
            file.write("device: {peak: {bf16: {value: 312 GB, basis: guess, source: none}}}\n")
        word = ["import", table, "-o", self.file]
        for words, message in [
                ([*word, "--ranks", "0"], "--ranks and --nodes are positive"),
                ([*word, "--nodes", "0"], "--ranks and --nodes are positive"),
                ([*word, "--ranks", "-2"], "--ranks and --nodes are positive"),
                ([*word, "--limits", limits], f"--limits: '{limits}' holds neither device.peak nor device.nvlink"),
                ([*word, "--limits", unit], "--limits: device.peak.bf16 "),
                (["fit", table, "-o", limits, "--name", ".."], "a profile's name is that of a folder beside it"),
                (["fit", table, "-o", limits, "--thin", "nan"], "--thin is a fraction up to 0.5")]:
            result = run(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(message, result.stderr)
            self.assertIn("[E-CLI]", result.stderr)
        self.assertFalse(os.path.exists(self.file))

    def test_verify_starts_no_more_ranks_than_cores(self):
        result = run("verify", "gpt3-175b-1024xa100")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("error: the layout has 1024 ranks, and this machine ", result.stderr)
        self.assertIn("[E-VERIFY]", result.stderr)

    def test_probes_are_listed(self):
        result = run("probes")
        self.assertEqual(result.returncode, 0)
        names = [line.split()[0] for line in result.stdout.splitlines()]
        self.assertEqual(names, "gemm batched_gemm attention memory launch bandwidth collective overlap".split())
        self.assertEqual([row["name"] for row in json.loads(run("probes", "--json", "-").stdout)], names)


class Sweep(Folder):
    def test_dry_run_measures_nothing(self):
        result = run("run", "--backend", "host", "--ranks", "1", "--dry-run", "--budget", "20s")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertIn("points, about", lines[-1])
        self.assertGreater(len(lines), 12)
        self.assertEqual(os.listdir(self.folder), [])

    def test_points_of_a_file(self):
        points = os.path.join(self.folder, "points.jsonl")
        works = [{"kind": "launch", "graph": False}, {"kind": "gemm", "dtype": "fp32", "role": "forward", "m": 32, "n": 32, "k": 32},
                 {"kind": "gemm", "dtype": "bf16", "role": "forward", "m": 32, "n": 32, "k": 32}]
        with open(points, "w") as file:
            for value, work in enumerate(works):
                file.write(json.dumps({"work": work, "value": value, "seconds": 0.1}) + "\n")
        result = self.measure("--points", points, "--json", "-")
        summary = json.loads(result.stdout)
        self.assertEqual(summary["left"], 0)
        samples = records(self.file)
        self.assertEqual([s["work"] for s in samples], works[::-1])
        self.assertEqual((samples[0]["status"], samples[0]["code"]), ("failed", "refused"))
        again = self.measure("--points", points, "--quiet", "--no-retry")  # a busy machine may have rejected one
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual(len(records(self.file)), 3)

    def test_a_dry_run_has_its_json(self):
        result = run("run", "--backend", "host", "--ranks", "1", "--dry-run", "--budget", "20s", "--json", "-")
        plan = json.loads(result.stdout)
        self.assertGreater(len(plan["points"]), 10)
        self.assertEqual(set(plan["points"][0]), {"point", "probe", "seconds"})
        self.assertAlmostEqual(plan["seconds"], sum(p["seconds"] for p in plan["points"]))
        path = os.path.join(self.folder, "plan.json")
        run("run", "--backend", "host", "--ranks", "1", "--dry-run", "--budget", "20s", "--json", path)
        with open(path) as file:
            again = json.load(file)
        names = [p["point"] for p in plan["points"]]
        self.assertEqual([p["point"] for p in again["points"]][:10], names[:10])  # how many fit depends on the day's speed

    def test_rejected_points_are_tried_again_after_the_others(self):
        points = os.path.join(self.folder, "points.jsonl")
        works = [{"kind": "gemm", "dtype": "fp32", "role": "forward", "m": n, "n": 32, "k": 32} for n in (32, 64)]
        def name(chosen):
            with open(points, "w") as file:
                file.writelines(json.dumps({"work": work, "value": 2 - i, "seconds": 0.1}) + "\n" for i, work in enumerate(chosen))
        name(works[:1])
        self.measure("--points", points, "--quiet")
        with open(self.file) as file:
            text = file.read()
        with open(self.file, "w") as file:
            for line in text.splitlines():
                record = json.loads(line)
                if record["record"] == "sample":
                    record.update(status="rejected", code="unstable", reason="by hand")
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
        name(works)
        left_out = run("run", "--backend", "host", "--ranks", "1", "-o", self.file, "--points", points, "--dry-run", "--no-retry", "--json", "-")
        self.assertEqual((json.loads(left_out.stdout)["rejected_before"], len(json.loads(left_out.stdout)["points"])), (1, 1))
        self.measure("--points", points, "--quiet")
        self.assertEqual([s["work"]["m"] for s in records(self.file)], [32, 64, 32])

    def test_a_file_that_is_no_samples_stays(self):
        with open(self.file, "w") as file:
            file.write('{"name": "mine"}')  # one line without its end
        result = self.measure("--quiet")
        self.assertEqual(result.returncode, 2)
        with open(self.file) as file:
            self.assertEqual(file.read(), '{"name": "mine"}')

    @unittest.skipUnless((os.cpu_count() or 1) >= 2, "one core")
    def test_an_mpirun_that_cannot_start(self):
        fake = os.path.join(self.folder, "mpirun")
        with open(fake, "w") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(fake, 0o755)
        path = self.folder + ":" + os.environ["PATH"]
        result = run("run", "--backend", "host", "--ranks", "2", "-o", self.file, env={**os.environ, "PATH": path})
        self.assertEqual(result.returncode, 2)
        self.assertIn("mpirun cannot be started: it ended before its ranks began [E-BACKEND]", result.stderr)
        os.chmod(fake, 0o644)
        result = run("run", "--backend", "host", "--ranks", "2", "-o", self.file, env={**os.environ, "PATH": self.folder})
        self.assertEqual(result.returncode, 2)

    def test_killed_twice_nothing_is_lost_or_doubled(self):
        command = [PROGRAM, "run", "--backend", "host", "--ranks", "1", "-o", self.file, "--probes", CHEAP, "--quiet", "--budget", "60s"]
        seen = []
        for kill in range(2):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(self.file, 5 * (kill + 1))
            process.kill()
            process.wait()
            with open(self.file, "rb") as file:
                whole = file.read()
            seen.append(whole[: whole.rfind(b"\n") + 1])
            with open(self.file, "ab") as file:  # as a write that was cut
                file.write(b'{"record":"sample","pro')
        result = self.measure("--probes", CHEAP, "--quiet", "--budget", "3s", "--json", "-")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        with open(self.file, "rb") as file:
            whole = file.read()
        for before in seen:
            self.assertTrue(whole.startswith(before))
        works = [json.dumps(s["work"]) for s in records(self.file) if s["status"] == "ok"]
        self.assertEqual(len(works), len(set(works)))
        self.assertEqual(len(records(self.file, "environment")), 3)
        self.assertGreater(len(records(self.file)), 8)  # unstable ones too: much else may run

    def test_an_interrupt_leaves_a_whole_file(self):
        command = [PROGRAM, "run", "--backend", "host", "--ranks", "1", "-o", self.file, "--probes", CHEAP, "--budget", "60s"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(self.file, 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("interrupted; the same command goes on where it stopped", out)
        self.assertGreater(len(records(self.file)), 3)

    def test_two_runs_do_not_write_to_one_file(self):
        first = subprocess.Popen([PROGRAM, "run", "--backend", "host", "--ranks", "1", "-o", self.file, "--quiet", "--budget", "60s"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.file, 1)
        second = self.measure("--quiet")
        first.kill()
        first.wait()
        self.assertEqual(second.returncode, 2)
        self.assertIn("another run is writing to it [E-FILE-WRITE]", second.stderr)

    @unittest.skipUnless(shutil.which("mpirun") and (os.cpu_count() or 1) >= 2, "no mpirun or one core")
    def test_two_ranks(self):
        result = run("run", "--backend", "host", "--ranks", "2", "-o", self.file, "--probes", "collective", "--budget", "8s", "--json", "-")
        summary = json.loads(result.stdout)
        self.assertEqual(summary["ranks"], 2)
        samples = records(self.file)
        self.assertGreater(len(samples), 1)
        wrong = [s for s in samples if s.get("code") in ("wrong-result", "above-wire", "zero-time", "call-failed")]
        self.assertEqual(wrong, [])
        self.assertIn("starting 2 ranks with mpirun; --ranks 1 measures one alone\n", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
