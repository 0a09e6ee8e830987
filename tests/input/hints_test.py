#!/usr/bin/env python3
"""Every hint that names a change is followed: the error is gone, the command does what was meant, and the model is the same one.

A hint names a change in one of these forms, and a literal in the sources that has one of them must be seen here:
  try --OPTION VALUE --OPTION VALUE, or --OPTION VALUE     words of the command line, alternatives
  as in --OPTION VALUE                                     the same, as an example
  leave out --OPTION and --OPTION                          words of the command line to take away
  leave out the key                                        a key of a file to take away
  did you mean 'WORD'?                                     in place of the one that was given

usage: hints_test.py SOURCES REHEARSE [REHEARSE-CALIBRATE]      exit status 0, or 1 with what was wrong
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = os.path.abspath(sys.argv[1])
REHEARSE = os.path.abspath(sys.argv[2])
CALIBRATE = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 and os.path.exists(sys.argv[3]) else None
del sys.argv[1:]

SCENARIO = """model: {layers: 12, hidden: 1024, heads: 16, vocab: 32768, sequence: 2048}
cluster: {topology: dgx-a100-80g, nodes: 2}
profile: a100-sxm4-80gb
layout: {tp: 2, pp: 2, dp: 4}
batch: {global: 32, micro: 1, sequence: 2048}
"""
TORUS = """gpu: a100-sxm4-80gb
gpus_per_node: 8
nodes: 4
nvlink: 300 GB/s
nvlink_latency: 1 us
nics_per_node: 8
nic: 200 Gb/s
nic_latency: 2 us
fabric: {shape: torus, dims: [2, 2], rate: 25 GB/s}
"""
PCIE = ["cluster.node=pcie", "cluster.pcie={rate: 20 GB/s, latency: 5 us}"]
GONE = ["cluster.nvlink=null", "cluster.nvlink_latency=null"]

# Settings that are refused, with the code; the hints of all that was found are followed at once.
SETTINGS = [
    ("E-NOT-MODELLED", ["layout.cp=2", "layout.dp=2"]),
    ("E-NOT-MODELLED", ["layout.cp=2", "layout.dp=null"]),
    ("E-NOT-MODELLED", ["layout.ep=2"]),
    ("E-NOT-MODELLED", ["layout.zero=3"]),
    ("E-NOT-MODELLED", ["model=config.json"]),
    ("E-LAYOUT-GPUS", ["layout.dp=2"]),
    ("E-LAYOUT-SEQUENCE", ["layout.sequence_parallel=true", "layout.tp=1", "layout.dp=8"]),
    ("E-LAYOUT-LAYERS", ["model.layers=13"]),
    ("E-RECOMPUTE-LAYERS", ["recompute={full_layers: 9}"]),
    ("E-LAYOUT-SCATTER", ["layout.scatter_gather=true", "layout.tp=1", "layout.dp=8"]),
    ("E-BATCH-SEQUENCE", ["batch.sequence=4096"]),
    ("E-OVERLAP-GATHER", ["overlap.param_gather=true"]),
    ("E-LAYOUT-ORDER", ["layout.order=tp-pp-xp"]),
    ("E-SCHEDULE-LIVE", ["max_live=2"]),
    ("E-SCHEDULE-PLACEMENT", ["layout.placement=vee"]),
    ("E-SCHEDULE-CHUNKS", ["layout.chunks=2"]),
    ("E-SCHEDULE-CHUNKS", ["layout.chunks=2", "batch.global=28"]),
    ("E-SCHEDULE-CHUNKS", ["layout.chunks=3", "schedule=zb-v"]),
    ("E-SCHEDULE-CHUNKS", ["schedule=interleaved"]),
    ("E-SCHEDULE-SHAPE", ["layout.placement=vee", "schedule=order.csv", "layout.chunks=3"]),
    ("E-CLUSTER-KEY", PCIE),
    ("E-CLUSTER-KEY", PCIE + GONE + ["cluster.nodes_per_domain=2"]),
    ("E-CLUSTER-KEY", PCIE + GONE + ["cluster.pcie.bridge=10 GB/s"]),
    ("E-CLUSTER-KEY", PCIE + GONE + ["cluster.pcie={rate: 20 GB/s, latency: 5 us, gpus_per_switch: 8, bridge: 9 GB/s}"]),
    ("E-CLUSTER-KEY", ["cluster.pcie={rate: 20 GB/s, latency: 5 us, gpus_per_switch: 4, bridge: 9 GB/s}"]),
    ("E-CLUSTER-KEY", ["cluster.fabric={shape: ring, rate: 50 GB/s}", "cluster.sharp=true"]),
    ("E-CLUSTER-KEY", ["cluster.fabric={shape: one_tier, rate: 50 GB/s, hop_latency: 1 us, tiers: [{nodes: 2}]}"]),
    ("E-CLUSTER-KEY", ["cluster.placement=ranks.csv", "cluster.rank_order=rail"]),
    ("E-CLUSTER-KEY", ["cluster={topology: torus.yaml}", "cluster.node=pcie", "cluster.pcie={rate: 20 GB/s, latency: 5 us}",
                       "layout.dp=8"]),
    ("E-CLUSTER-DIMS", ["cluster={topology: torus.yaml, nodes: 8}", "layout.dp=8"]),
    ("E-CLUSTER-DIMS", ["cluster={topology: torus.yaml}", "cluster.fabric.dims=[2, 4]", "layout.dp=16"]),
    ("E-TYPE", ["cluster=torus.yaml", "layout.dp=8"]),
    ("E-SET", ["layout.dp=null", "layout.tp="]),
    ("E-SET", ["layout.dp=null", "layout.tp"]),
    ("E-NCCL-ALGO", ["layout.zero=1", "collectives={algorithm: tree}"]),
    ("E-NCCL-ALGO", ["layout.zero=1", "collectives={algorithm: tree, protocol: ll128}"]),
    ("E-NCCL-ALGO", ["profile=plain.yaml", "collectives={algorithm: tree}"]),
]
H100 = "collective all_gather --topology dgx-h100 --profile h100-sxm5-80gb --ranks 16 "
SIZED = H100 + "--bytes 8..16 "
# Command lines that are refused, with the code. What is in capitals in a hint stands in the last column.
WORDS = [
    ("E-NCCL-ALGO", SIZED + "--algo tree", {}),
    ("E-NCCL-ALGO", SIZED + "--algo tree --proto ll128", {}),
    ("E-NCCL-ALGO", SIZED.replace("h100-sxm5-80gb", "plain.yaml") + "--algo tree", {}),
    ("E-CLI", H100, {}),
    ("E-CLI", H100 + "--bytes 0", {}),
    ("E-CLI", H100 + "--bytes 8..2", {}),
    ("E-CLI", SIZED.replace("--ranks 16", ""), {}),
    ("E-CLI", SIZED.replace("all_gather", "all_reduce").replace("16", "2", 1) + "--against log.txt", {}),
    ("E-AGAINST", H100.replace("all_gather", "all_reduce") + "--against log.txt", {}),
    ("E-AGAINST", H100.replace("all_gather", "all_reduce").replace("16", "2") + "--against hosts.txt --per-node 2", {}),
    ("E-AGAINST", H100.replace("all_gather --topology dgx-h100", "all_reduce --topology dgx-h100").replace(" --ranks 16", "") +
     "--against bare.txt", {"N": "2", "G": "1"}),
    ("E-CLI", "run mine.yaml --dump x", {}),
    ("E-CLI", "run mine.yaml --stop-after graph --links x", {}),
    ("E-CLI", "run mine.yaml --trace-detail kernel", {}),
    ("E-CLI", "report mine.yaml", {}),
    ("E-CLI", "schedules mine.yaml --schedules 1f1b --memory 0B", {}),
    ("E-CLI", "scale mine.yaml --layouts keep", {}),
    ("E-CLI", "scale mine.yaml --layouts keep --gpus x", {}),
    ("E-CLI", "compare mine.yaml", {}),
    ("E-CLI", "compare mine.yaml --with 'layout.tp=4, layout.dp=2'", {}),
    ("E-CLI", "compare mine.yaml --with ''", {}),
    ("E-CLI", "compare mine.yaml --with layout.tp", {}),
    ("E-CLI", "sensitivity mine.yaml --factors x", {}),
    ("E-CLI", "sweep study.yaml --shard 4", {}),
    ("E-CLI", "sweep study.yaml --timeout 0s", {}),
    ("E-CLI", "best study.yaml --store done.sqlite --error x", {}),
    ("E-CLI", "best study.yaml --store done.sqlite --memory x", {}),
]
CALIBRATES = [
    ("E-IMPORT-OP", "import log.txt --gpu X -o s.jsonl --op all_gather", {}),
    ("E-IMPORT-OP", "import unnamed.txt --gpu X -o s.jsonl", {}),
    ("E-IMPORT-RANKS", "import bare.txt --op all_reduce --gpu X -o s.jsonl", {"N": "2"}),
    ("E-IMPORT-RANKS", "import twice.txt --gpu X -o s.jsonl", {"N": "2"}),
    ("E-IMPORT-RANKS", "import cut.txt --gpu X -o s.jsonl --ranks 2", {"N": "1"}),
    ("E-IMPORT-RANKS", "import mixed.txt -o s.jsonl", {"NAME": "X"}),
    ("E-IMPORT-ROW", "import typed.txt --gpu X -o s.jsonl", {"TYPE": "fp32"}),
    ("E-IMPORT-OP", "import op.csv --gpu X -o s.jsonl", {"NAME": "dropout_add"}),
    ("E-IMPORT-HEADER", "import gpus.csv -o s.jsonl", {"NAME": "X"}),
    ("E-CLI", "run --backend host --ranks 1 --probes bandwidth -o - --dry-run", {}),
]
# Followed by no row: mpirun that is missing, has started other ranks or shares standard input; an import that another command is to
# repeat; a graph that no scenario makes (tests/unit/trace_write_test.cpp).
ELSEWHERE = {"try --ranks 1", "leave out --ranks", "as in --network ib-ndr ", "try --fold off"}

DEVICE = "#  Rank {0} Group  0 Pid {1} on {2} device  {3} [0000:00:00] NVIDIA {4}\n"
HEAD = "# nThread 1 nGpus 1 minBytes 8 maxBytes 16\n"
TABLE = """#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        {1}     {0}     sum      -1    20.00   52.43   52.43      0    20.00   52.43   52.43      0
# Out of bounds values : 0 OK
"""


def log(devices, name="all_reduce_perf", kind="float", count=262144):
    text = (f"# Collective test starting: {name}\n" if name else "") + HEAD
    text += ("# Using devices\n" if devices else "") + "".join(DEVICE.format(i, 100 + i, *d) for i, d in enumerate(devices))
    return text + TABLE.format(kind, count)


TWO = [("a", 0, "H100"), ("a", 1, "H100")]
FILES = {
    "mine.yaml": SCENARIO,
    "torus.yaml": TORUS,
    "config.json": """{"num_hidden_layers": 12, "hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 32768, "hidden_act": "gelu",
 "max_position_embeddings": 2048, "tie_word_embeddings": true}""",
    "study.yaml": "base: mine.yaml\naxes: {batch.global: [16, 32]}\n",
    "ranks.csv": "gpu\n" + "".join(f"{i}\n" for i in range(16)),
    "log.txt": log(TWO),
    "bare.txt": log([]),
    "unnamed.txt": log(TWO, name=""),
    "twice.txt": log([("a", 0, "H100"), ("a", 0, "H100")]),
    "cut.txt": log(TWO[:1]),
    "hosts.txt": log([("a", 0, "H100"), ("b", 0, "H100")]),
    "mixed.txt": log([("a", 0, "H100"), ("a", 1, "H200")]),
    "typed.txt": log(TWO, kind="double", count=131072),
    "op.csv": "op,rows,width,dtype,time_us\nmystery,4096,4096,bf16,50\n",
    "gpus.csv": "gpu,m,n,k,dtype,time_us\nX,4096,4096,4096,bf16,500\nY,4096,4096,4096,bf16,500\n",
}

OPTION = r"--?[a-z][a-z-]*(?: (?:'[^']*'|[^\s,;'-](?:[^\s,;]|,(?=\S))*))?"
WORDS_OF = re.compile(rf"(?:try|as in) ((?:{OPTION})(?: {OPTION})*(?:, or {OPTION}(?: {OPTION})*)*)")
AWAY = re.compile(r"leave out (--[a-z-]+(?: and --[a-z-]+)*)")
seen = set()


def alternatives(hint):
    """Lists of words to add and of options to take away."""
    seen.add(hint)
    for match in WORDS_OF.finditer(hint):
        for words in match[1].split(", or "):
            yield shlex.split(words), []
    for match in AWAY.finditer(hint):
        yield [], match[1].split(" and ")


def flops_of_token(answer):
    """What tells one model from another, whatever it runs on."""
    return answer["model_tflops_per_gpu"] / answer["tokens_per_s_per_gpu"]


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        for name, text in FILES.items():
            with open(os.path.join(cls.folder, name), "w") as file:
                file.write(text)
        shutil.copy(os.path.join(SOURCES, "tests/input/data/calibration/profiles/test-gpu.yaml"), os.path.join(cls.folder, "plain.yaml"))
        made = cls.run_words(REHEARSE, shlex.split("schedule mine.yaml --set schedule=zb-v --csv order.csv"))
        assert made.returncode == 0, made.stderr

    @classmethod
    def run_words(cls, program, words, text=""):
        environment = {**os.environ, "REHEARSE_DATA": SOURCES}
        return subprocess.run([program, *words], cwd=cls.folder, env=environment, input=text, capture_output=True, text=True, timeout=60)

    def batch(self, requests):
        lines = [json.dumps({"scenario": "mine.yaml", "set": sets}) for sets in requests]
        answers = self.run_words(REHEARSE, ["batch"], "\n".join(lines) + "\n").stdout.splitlines()
        self.assertEqual(len(answers), len(lines))
        return [json.loads(answer) for answer in answers]


class Changes(Folder):
    def test_of_settings(self):
        refused = self.batch([sets for _, sets in SETTINGS])
        requests, of = [], []
        for (code, sets), answer in zip(SETTINGS, refused):
            with self.subTest(code=code, sets=sets):
                self.assertIn(code, [e["code"] for e in answer.get("error", [])], answer.get("error"))
                self.assertTrue(all(e["file"] and (e["line"] or e["file"].endswith(".csv")) for e in answer["error"]), answer["error"])
                ways = [list(alternatives(e["hint"])) for e in answer["error"]]
                self.assertTrue(all(ways), answer["error"])
                for i in range(max(map(len, ways))):
                    change = [w for way in ways for w in way[min(i, len(way) - 1)][0] if w != "--set"]
                    keys = [key.split("=")[0] for key in change]
                    # A setting that has no value, or is none, is not kept beside the one in its place.
                    kept = [s for s in sets if not (code in ("E-SET", "E-TYPE") and s.split("=")[0] in keys)]
                    requests.append(kept + change)
                    of.append((code, sets))
        same = flops_of_token(self.batch([[]])[0])
        for (code, sets), request, answer in zip(of, requests, self.batch(requests)):
            with self.subTest(code=code, sets=sets, followed=request):
                self.assertNotIn("error", answer, answer.get("error"))
                if not any(key.startswith("model") for key in request):
                    self.assertAlmostEqual(flops_of_token(answer) / same, 1, 9)

    def test_of_near_words(self):
        """Each key of a scenario and each word that a key may have, with one letter too many."""
        def valid(error):
            listed = re.search(r"valid: ((?:[\w-]+(?:, (?!or |in ))?)+)", error["hint"])
            return listed[1].split(", ") if listed else []

        def found(answer, codes, key):
            return [e for e in answer.get("error", []) if e["code"] in codes and e["key"] in (key, key + ".shape")]
        unknown, choices = ("E-KEY-UNKNOWN",), ("E-CHOICE", "E-SCHEDULE-NAME", "E-FILE-MISSING", "E-PROFILE-STACK")
        keys, paths = [], [""]
        for _ in range(3):
            below = []
            for path, answer in zip(paths, self.batch([[f"{path}xyzzyq=1"] for path in paths])):
                below += [path + word for error in found(answer, unknown, path + "xyzzyq") for word in valid(error)]
            keys += below
            paths = [key + "." for key in below]
        words = [(key, word) for key, answer in zip(keys, self.batch([[f"{key}=xyzzyq"] for key in keys]))
                 for error in found(answer, choices, key) for word in valid(error)]
        self.assertGreater(len(keys), 60)
        self.assertGreater(len(words), 90)
        wrong = [(unknown, key + "q", f"{key}q=1") for key in keys]
        wrong += [(choices, key, f"{key}={word}q") for key, word in words]
        mended = []
        for (codes, key, setting), answer in zip(wrong, self.batch([[setting] for _, _, setting in wrong])):
            near = re.search(r"did you mean '([^']+)'", "".join(e["hint"] for e in found(answer, codes, key)))
            self.assertTrue(near, setting)
            mended.append(f"{key.rpartition('.')[0]}.{near[1]}=1".lstrip(".") if codes == unknown else f"{key}={near[1]}")
        for (codes, _, setting), mend, answer in zip(wrong, mended, self.batch([[mend] for mend in mended])):
            with self.subTest(setting=setting, mended=mend):
                self.assertEqual(found(answer, codes, mend.split("=")[0]), [])

    def follow(self, program, rows):
        for code, line, names in rows:
            words = shlex.split(line)
            with self.subTest(words=line):
                said = self.run_words(program, words)
                self.assertIn(f"[{code}]", said.stderr)
                self.assertEqual(said.returncode, 2)
                if code != "E-CLI":
                    self.assertRegex(said.stderr, r"^(?:[\w.]+:\d+:\d+|--[a-z]+ [\w,^]+:1:1): error")
                ways = [way for hint in re.findall(r"^  hint: (.*)$", said.stderr, re.M) for way in alternatives(hint)]
                self.assertTrue(ways, said.stderr)
                for more, away in ways:
                    changed = self.changed(words, [self.filled(w, names) for w in more], away)
                    with self.subTest(followed=" ".join(changed)):
                        after = self.run_words(program, changed)
                        self.assertIn(after.returncode, (0, 1), after.stderr)
                        self.assertNotIn(f"[{code}]", after.stderr)

    def filled(self, word, names):
        return re.sub(r"(?<![A-Za-z])[A-Z]+$", lambda m: names.get(m[0], m[0]), word)

    def changed(self, words, more, away):
        """An option that is given again takes the place of the first."""
        again = {w for w in more if w.startswith("-") and w != "--set"} | set(away)
        kept, skip = [], False
        for at, word in enumerate(words):
            if word in again:
                skip = at + 1 < len(words) and (not words[at + 1].startswith("-") or words[at + 1] == "-")
            elif not skip:
                kept.append(word)
            else:
                skip = False
        return kept + more

    def test_of_words(self):
        self.run_words(REHEARSE, ["sweep", "study.yaml", "--store", "done.sqlite"])
        self.follow(REHEARSE, WORDS)

    def test_of_calibration(self):
        if not CALIBRATE:
            self.skipTest("no rehearse-calibrate in this build")
        self.follow(CALIBRATE, CALIBRATES)

    def test_of_files(self):
        for key in ("sharp", "tp"):
            text = TORUS + f"{key}: true\n" if key == "sharp" else SCENARIO.replace("tp: 2", "tp: ")
            name, command = ("keyed.yaml", "topology") if key == "sharp" else ("empty.yaml", "check")
            path = os.path.join(self.folder, name)
            with open(path, "w") as file:
                file.write(text)
            said = self.run_words(REHEARSE, [command, name])
            self.assertIn("leave out the key", said.stderr)
            seen.update(re.findall(r"^  hint: (.*)$", said.stderr, re.M))
            with open(path, "w") as file:
                file.write(TORUS if key == "sharp" else SCENARIO.replace("tp: 2, ", "").replace("dp: 4", "dp: 8"))
            self.assertEqual(self.run_words(REHEARSE, [command, name]).returncode, 0)

    def test_z_every_literal_that_names_a_change_is_followed(self):
        form = re.compile(r"(?:try|as in|leave out) --?[a-z]|--set '?[a-z_.]+=|leave out the key")
        stale = re.compile(r"^(?:set|say|add|use) .*(?:--[a-z]|\bto \d|\bto (?:true|false|auto))|leave \S+ out$|[a-z] set \S+ to ")
        literals = {}
        for folder in ("sim", "calibration"):
            for at, _, names in os.walk(os.path.join(SOURCES, folder)):
                for name in names:
                    if name.endswith((".cpp", ".hpp")):
                        with open(os.path.join(at, name)) as file:
                            text = re.sub(r"^\s*//.*$|#include.*$", "", file.read(), flags=re.M)
                        for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                            literals.setdefault(literal.replace('\\"', '"').split("{}")[0], name)
        found = "\n".join(seen)
        missed = {l: name for l, name in literals.items() if form.search(l) and l not in found and l not in ELSEWHERE
                  and not any(e in l for e in ELSEWHERE)}
        self.assertEqual(missed, {}, "no row follows these hints")
        self.assertEqual({l: n for l, n in literals.items() if stale.search(l)}, {}, "a change in another form than those above")


if __name__ == "__main__":
    unittest.main()
