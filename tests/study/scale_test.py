#!/usr/bin/env python3
"""`rehearse scale` searches by rounds: its best layout is the best of all that its rounds could have tried.

usage: scale_test.py REHEARSE
"""
import csv
import json
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
MODEL = "{layers: 16, hidden: 2048, heads: 16, vocab: 32000, sequence: 2048}"
BASE = f"""name: base
model: {MODEL}
cluster: {{topology: dgx-a100-80g, nodes: 2}}
profile: a100-sxm4-80gb
layout: {{tp: 1}}
batch: {{global: 64, micro: 1, sequence: 2048}}
"""
# Orders that scale tries, as (schedule, chunks); with one stage only the first.
ORDERS = [("1f1b", 1), ("zb-v", 2), ("interleaved", 2), ("interleaved", 4), ("interleaved", 8), ("zb-h1", 1)]
STUDY = """name: all
base: base.yaml
set: {{layout.dp: null, layout.sequence_parallel: {sequence_parallel}}}
axes:
  layout.tp: {tp}
  layout.pp: [1, 2, 4, 8, 16]
  zip: {{schedule: [{schedules}], layout.chunks: [{chunks}]}}
  batch.micro: [1, 2, 4]
  recompute: [none, selective, full]
  layout.zero: [0, 1]
"""


class Scale(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.write("base.yaml", BASE)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        with open(f"{self.folder.name}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def run_program(self, *words):
        done = subprocess.run([PROGRAM, *words, "--quiet"], cwd=self.folder.name, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def best_of_all(self, sets):
        steps = []
        for tp, sequence_parallel in (("[1]", "false"), ("[2, 4, 8]", "true")):
            schedules, chunks = zip(*ORDERS)
            self.write("all.yaml", STUDY.format(tp=tp, sequence_parallel=sequence_parallel, schedules=", ".join(schedules),
                                                chunks=", ".join(map(str, chunks))))
            table = self.run_program("sweep", "all.yaml", "--store", f"tp{tp[1]}.sqlite", "--csv", "-", *sets)
            for row in csv.DictReader(table.splitlines()):
                if row["verdict"] == "simulated" and (row["layout.pp"] != "1" or row["schedule"] == "1f1b"):
                    steps.append(float(row["step_time_s"]))
        self.assertGreater(len(steps), 200)
        return min(steps)

    def test_the_best_is_the_least_of_all(self):
        for sets in ([], ["--set", "cluster.nic=25Gb/s"], ["--set", "batch.global=16"]):
            with self.subTest(sets=sets):
                scaled = json.loads(self.run_program("scale", "base.yaml", "--gpus", "16..16", "--strong", "--json", "-", *sets))
                self.assertAlmostEqual(scaled["scale"][0]["step_time_s"] / self.best_of_all(sets), 1, delta=1e-12)


if __name__ == "__main__":
    unittest.main()
