#!/usr/bin/env python3
"""rehearse batch and rehearse run -: what other programs drive, and the example client.

usage: batch_test.py REHEARSE      exit status 0, or 1 with what was wrong
"""
import json
import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
HERE = os.path.dirname(os.path.abspath(__file__))
INLINE = {"model": "models/llama2-7b.yaml", "cluster": {"topology": "dgx-a100-80g", "nodes": 1}, "profile": "a100-sxm4-80gb",
          "layout": {"tp": 8}, "batch": {"global": 16, "micro": 1}, "grad_bucket": "160 MB"}


def batch(*lines):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    result = subprocess.run([PROGRAM, "batch"], input=text, capture_output=True, text=True, timeout=120)
    return result.returncode, [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def plain(report):
    return {key: value for key, value in report.items() if key not in ("id", "engine", "provenance", "name")}


class Batch(unittest.TestCase):
    def run_json(self, *words, **options):
        result = subprocess.run([PROGRAM, "run", *words, "--json", "-", "--quiet"], capture_output=True, text=True, timeout=120, **options)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def test_answers_are_those_of_run(self):
        status, answers, err = batch({"id": "a", "scenario": "7b-8xa100-dp"},
                                     {"id": [2], "scenario": "7b-8xa100-dp", "set": ["layout.tp=8", "layout.dp=1"]})
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([a["id"] for a in answers], ["a", [2]])
        self.assertEqual(plain(answers[0]), plain(self.run_json("7b-8xa100-dp")))
        self.assertEqual(plain(answers[1]), plain(self.run_json("7b-8xa100-dp", "--set", "layout.tp=8", "--set", "layout.dp=1")))

    def test_scenarios_in_the_request(self):
        text = json.dumps(INLINE, indent=1).replace('"160 MB"', "160 MB")  # JSON is YAML, but for quantities in quotes
        status, answers, err = batch({"id": 1, "scenario": INLINE}, {"id": 2, "scenario": text + "\n"}, {"id": 3, "scenario": INLINE, "set": ["layout.tp=4"]})
        self.assertEqual((status, err), (0, ""))
        expected = plain(self.run_json("-", input=text))  # rehearse run - reads a scenario from standard input
        self.assertEqual([plain(answers[0]), plain(answers[1])], [expected, expected])
        self.assertNotEqual(plain(answers[2]), expected)

    def test_what_is_wrong_gets_an_answer_and_the_stream_goes_on(self):
        status, answers, err = batch("no json", "[1]", {"id": 3}, {"id": 4, "scenario": "7b-8xa100-dp", "sets": []},
                                     {"id": 5, "scenario": "7b-8xa100-dp", "set": "x=1"}, {"id": 6, "scenario": "nope"},
                                     {"id": 7, "scenario": "7b-8xa100-dp", "set": ["layout.tp=3", "layout.dpp=1"]},
                                     {"id": 8, "scenario": "a: [\n"}, {"id": 9, "scenario": 5}, {"id": 10, "scenario": "-"}, "",
                                     "{\"id\": 11, \"scenario\": \"\xff\"}", {"id": 12, "scenario": "7b-8xa100-dp"},
                                     '{"id": 99999999999999999999999, "scenario": "7b-8xa100-dp"}')
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([a["id"] for a in answers], [None, None, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, None])
        codes = [a["error"][0]["code"] if "error" in a else "" for a in answers]
        self.assertEqual(codes, ["E-BATCH-LINE", "E-BATCH-LINE", "E-KEY-MISSING", "E-KEY-UNKNOWN", "E-BATCH-LINE", "E-FILE-MISSING",
                                 "E-KEY-UNKNOWN", "E-YAML-SYNTAX", "E-BATCH-LINE", "E-BATCH-LINE", "E-FILE-MISSING", "", "E-BATCH-LINE"])
        error = answers[6]["error"][0]
        self.assertEqual((error["file"], error["line"], error["column"]), ("--set layout.dpp=1", 1, 8))
        self.assertIn("did you mean 'pp'?", error["hint"])

    def test_example_client(self):
        result = subprocess.run([sys.executable, os.path.join(HERE, "batch_client.py"), PROGRAM], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"tp 1: [0-9.]+ s")
        self.assertIn("[E-LAYOUT-GPUS]", result.stdout)
        self.assertRegex(result.stdout, r"fastest: tp \d")


if __name__ == "__main__":
    unittest.main(verbosity=1)
