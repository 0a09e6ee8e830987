#!/usr/bin/env python3
"""Runs rehearse sweep and merge as a user would: killed, interrupted, sharded, on stores that are no good.

usage: sweep_test.py REHEARSE      exit status 0, or 1 with what was wrong
"""
import csv
import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sweeps import LARGE, STUDY, Folder, rows, run_program, wait_until  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1))


def run(*words, **options):
    return run_program(PROGRAM, *words, **options)


class Sweeps(Folder):
    def sweep(self, *words, store=None, code=0):
        result = run("sweep", self.study, "--store", store or self.store, "--json", "-", "--quiet", *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def start(self, *words):
        return subprocess.Popen([PROGRAM, "sweep", self.study, "--store", self.store, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def check_counts(self, summary, left=0):
        parts = [summary[key] for key in ("rejected", "unfit", "reused", "simulated", "left")]
        self.assertEqual(summary["points"], sum(parts))
        self.assertEqual(summary["left"], left)
        self.assertEqual(summary["rejected"], sum(summary["rejected_by_code"].values()))
        self.assertEqual(summary["simulated"], sum(summary["engines"].values()))


class Results(Sweeps):
    def test_points_are_counted_kept_and_reused(self):
        first = self.sweep("--jobs", "2")
        self.check_counts(first)
        self.assertEqual(first["points"], STUDY.points)
        self.assertGreater(first["simulated"], 0)
        self.assertGreater(first["unfit"], 0)
        self.assertGreater(first["rejected"], 0)
        self.assertEqual(first["reused"], 0)
        again = self.sweep()
        self.check_counts(again)
        self.assertEqual((again["simulated"], again["reused"]), (0, first["simulated"]))
        self.assertEqual((again["rejected"], again["unfit"]), (first["rejected"], first["unfit"]))
        self.assertEqual(again["fastest"], first["fastest"])
        self.assertEqual(len(rows(self.store)), STUDY.points)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(["s.sqlite", "study.yaml"]))

    def test_a_figure_is_that_of_a_run(self):
        best = self.sweep()["fastest"][0]
        sets = [word for setting in best["settings"] for word in ("--set", setting)]
        report = json.loads(run("run", STUDY.base, *STUDY.sets, *sets, "--json", "-", "--quiet").stdout)
        self.assertEqual(report["step_time_s"], best["step_time_s"])

    def test_another_number_of_processes_gives_the_same_rows(self):
        expected = self.undisturbed(PROGRAM)
        for jobs in ("1", "3"):
            path = os.path.join(self.folder, jobs + ".sqlite")
            self.sweep("--jobs", jobs, store=path)
            self.assertEqual(rows(path), expected)

    def test_changed_settings_are_priced_anew(self):
        first = self.sweep()
        second = self.sweep("--set", "grad_bucket=100 MB")
        self.assertEqual((second["reused"], second["simulated"]), (0, first["simulated"]))
        self.assertEqual(len(rows(self.store)), 2 * STUDY.points)

    def test_csv_of_a_full_store(self):
        self.sweep()
        result = run("sweep", self.study, "--store", self.store, "--csv", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        table = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual(len(table), STUDY.points)
        stored = sqlite3.connect(self.store)
        for row in table:
            verdict, step = stored.execute("SELECT verdict, step_time_s FROM points WHERE digest = ?", (row["digest"],)).fetchone()
            self.assertEqual(row["verdict"], verdict)
            self.assertEqual(float(row["step_time_s"]) if row["step_time_s"] else None, step)
            self.assertIn(row["recompute"], ("none", "full", "{full_layers: 8}"))
        stored.close()

    def test_table(self):
        result = run("sweep", self.study, "--store", self.store)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{STUDY.points} points in {self.store}\n", result.stdout)
        self.assertIn("E-LAYOUT-GPUS", result.stdout)
        self.assertIn("fastest\n", result.stdout)

    def test_the_store_is_named_after_the_study(self):
        subprocess.run([PROGRAM, "sweep", self.study, "--quiet", "--shard", "2/3"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "study-2of3.sqlite")))


class Refusals(Sweeps):
    def refuses(self, words, text):
        result = run(*words)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(text, result.stderr)

    def test_command_lines(self):
        sweep = ["sweep", self.study, "--store", self.store]
        self.refuses(["sweep"], "STUDY is missing [E-CLI]")
        self.refuses(sweep + ["--jobs", "0"], "--jobs '0' is no number from 1 to 1024 [E-CLI]")
        for shard in ("0/3", "4/3", "1", "1/", "/3", "a/b", "1/3/5"):
            self.refuses(sweep + ["--shard", shard], f"--shard '{shard}' is no part of a whole [E-CLI]")
        self.refuses(sweep + ["--timeout", "10"], "--timeout: ")
        self.refuses(sweep + ["--timeout", "0s"], "--timeout must be more than nothing [E-CLI]")
        self.refuses(sweep + ["--csv", "-", "--json", "-"], "cannot share standard output [E-CLI]")
        self.refuses(sweep + ["--engine", "simgird"], "unknown engine 'simgird' [E-CLI]")
        self.assertFalse(os.path.exists(self.store))

    def test_outputs_are_no_inputs(self):
        for option in ("--store", "--csv", "--json"):
            self.refuses(["sweep", self.study, option, self.study], f"{option} would overwrite '{self.study}' [E-CLI]")
        self.refuses(["sweep", self.study, "--store", self.store, "--csv", self.store], "name one file [E-CLI]")
        with open(self.study) as file:
            self.assertEqual(file.read(), STUDY.text)

    def test_stores_that_are_none(self):
        for text in (b"", b"not a store\n", b"x" * 5000):
            with open(self.store, "wb") as file:
                file.write(text)
            self.refuses(["sweep", self.study, "--store", self.store], f"{self.store}: error: this is no store of results [E-STORE-FILE]")
            with open(self.store, "rb") as file:
                self.assertEqual(file.read(), text)

    def test_a_store_of_another_version(self):
        self.sweep()
        store = sqlite3.connect(self.store)
        store.execute("UPDATE about SET value = '0.0.1 (0)'")
        store.commit()
        store.close()
        with open(self.store, "rb") as file:
            before = file.read()
        self.refuses(["sweep", self.study, "--store", self.store], "the store is of rehearse 0.0.1 (0), and this is ")
        with open(self.store, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_one_sweep_at_a_time(self):
        first = self.start("--jobs", "1", "--quiet")
        wait_until(lambda: os.path.exists(self.store))
        os.kill(first.pid, signal.SIGSTOP)
        try:
            self.refuses(["sweep", self.study, "--store", self.store], "another sweep writes to the store [E-STORE-BUSY]")
        finally:
            os.kill(first.pid, signal.SIGCONT)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0)


class Deaths(Sweeps):
    kind = LARGE

    def test_killed_five_times_nothing_is_lost_or_doubled(self):
        expected = self.undisturbed(PROGRAM)
        chance, caught = random.Random(5), 0
        for _ in range(5):
            process = self.start("--jobs", "2", "--quiet")
            time.sleep(chance.uniform(0.1, 0.5) * self.lasts)
            process.kill()
            process.communicate()
            caught += process.returncode == -signal.SIGKILL
        self.assertGreater(caught, 0)
        self.check_counts(self.sweep())
        self.assertEqual(rows(self.store), expected)

    # One death a sweep: a point that two processes died of counts as failed, and a second kill may meet the same one.
    def test_a_killed_worker_costs_nothing(self):
        expected = self.undisturbed(PROGRAM)
        chance, killed = random.Random(7), 0
        for _ in range(3):
            if os.path.exists(self.store):
                os.remove(self.store)
            process = self.start("--jobs", "2", "--quiet", "--json", "-")
            time.sleep(chance.uniform(0.05, 0.4) * self.lasts)
            found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
            for pid in found.stdout.split()[:1]:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(json.loads(out)["failed"], 0)
            self.assertEqual(rows(self.store), expected)
        self.assertGreater(killed, 0)

    def test_no_process_outlives_the_sweep(self):
        process = self.start("--jobs", "2", "--quiet")
        workers = []
        wait_until(lambda: workers.extend(subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True,
                                                         text=True).stdout.split()) or workers or process.poll() is not None)
        process.kill()
        process.communicate()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers))
        self.assertFalse([pid for pid in workers if os.path.exists(f"/proc/{pid}")])

    def test_an_interrupt_leaves_a_clean_store(self):
        expected = self.undisturbed(PROGRAM)
        for number in (signal.SIGINT, signal.SIGTERM):
            if os.path.exists(self.store):
                os.remove(self.store)
            process = self.start("--jobs", "1", "--quiet")
            wait_until(lambda: os.path.exists(self.store))
            time.sleep(0.3)
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
            self.assertEqual((process.returncode, err), (1, ""))
            self.assertIn("interrupted; the same command goes on where it stopped\n", out)
            self.assertEqual(sorted(os.listdir(self.folder)), ["s.sqlite", "study.yaml"])
            self.sweep()
            self.assertEqual(rows(self.store), expected)

    def test_points_that_take_too_long(self):
        summary = self.sweep("--timeout", "1 us")
        self.assertEqual(summary["rejected_by_code"].get("E-POINT-TIME", 0), summary["failed"])
        self.check_counts(summary)
        self.check_counts(self.sweep())
        self.assertEqual(rows(self.store), self.undisturbed(PROGRAM))


class Shards(Sweeps):
    def test_shards_merge_into_the_whole(self):
        parts = []
        for shard in (1, 2, 3):
            parts.append(os.path.join(self.folder, f"part{shard}.sqlite"))
            summary = self.sweep("--shard", f"{shard}/3", store=parts[-1])
            self.check_counts(summary)
            self.assertIn(summary["points"], (STUDY.points // 3, STUDY.points // 3 + 1))
        result = run("merge", *parts, "-o", self.store, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout), {"stores": 3, "points": STUDY.points, "twice": 0})
        self.assertEqual(rows(self.store), self.undisturbed(PROGRAM))
        self.assertEqual(self.sweep()["simulated"], 0)
        again = run("merge", *parts, "-o", self.store)
        self.assertEqual((again.returncode, again.stdout), (2, ""))
        self.assertIn("there is a file of this name [E-STORE-FILE]", again.stderr)
        both = os.path.join(self.folder, "both.sqlite")
        self.assertEqual(run("merge", self.store, parts[0], "-o", both).returncode, 0)
        self.assertEqual(rows(both), rows(self.store))
        refused = run("merge", self.store, "-o", self.store)
        self.assertIn(f"-o would overwrite '{self.store}' [E-CLI]", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
