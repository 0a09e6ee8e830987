#!/usr/bin/env python3
"""Runs rehearse-mpi under mpirun: the rows of a plain sweep, deaths of processes and ranks, what it links.

usage: mpi_test.py REHEARSE REHEARSE_MPI      exit status 0, 77 without mpirun, or 1 with what was wrong
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sweeps import LARGE, Folder, rows, run_program, wait_until  # noqa: E402

PROGRAM, PROGRAM_MPI = sys.argv.pop(1), sys.argv.pop(1)
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def children(pid):
    return [int(p) for p in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()]


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


class Mpi(Folder):
    kind = LARGE

    def command(self, ranks, *words):
        return ["mpirun", "-q", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", PROGRAM_MPI, "sweep", self.study, "--store",
                self.store, "--quiet", *words]

    def sweep(self, ranks, *words):
        result = run_program(*self.command(ranks, "--json", "-", *words), env=ENVIRONMENT)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def start(self, ranks):
        process = subprocess.Popen(self.command(ranks, "--json", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=ENVIRONMENT)
        relays = []
        wait_until(lambda: relays.extend(p for p in children(process.pid) if program_of(p) == "rehearse-mpi") or len(relays) >= ranks or
                   relays.clear())
        return process, relays

    def test_ranks_give_the_rows_of_a_plain_sweep(self):
        expected = self.undisturbed(PROGRAM)
        for ranks in (1, 2, 3):
            if os.path.exists(self.store):
                os.remove(self.store)
            summary = self.sweep(ranks)
            self.assertEqual(summary["points"], LARGE.points)
            self.assertEqual(summary["failed"], 0)
            self.assertEqual(rows(self.store), expected)
        self.assertEqual(self.sweep(2)["simulated"], 0)

    def test_several_processes_a_rank(self):
        self.assertEqual(self.sweep(2, "--jobs", "2")["failed"], 0)
        self.assertEqual(rows(self.store), self.undisturbed(PROGRAM))

    def test_a_killed_process_of_a_rank_costs_nothing(self):
        expected = self.undisturbed(PROGRAM)
        process, relays = self.start(2)
        pricing = []  # of rank 1: its relay has no sweep, which has children of its own
        wait_until(lambda: pricing.extend(c for r in relays for c in children(r) if b"REHEARSE_SERVE=1" in environment_of(c)) or pricing)
        for pid in pricing[:1]:
            os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(pricing)
        self.assertEqual(json.loads(out)["failed"], 0)
        self.assertEqual(rows(self.store), expected)

    def test_a_killed_rank_ends_the_job_and_leaves_the_store(self):
        expected = self.undisturbed(PROGRAM)
        process, relays = self.start(2)
        wait_until(lambda: os.path.exists(self.store))
        time.sleep(0.2)
        os.kill(relays[-1], signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(self.sweep(2)["failed"], 0)
        self.assertEqual(rows(self.store), expected)

    def test_a_refusal_is_passed_on(self):
        result = run_program(*self.command(2, "--jobs", "no"), env=ENVIRONMENT)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("--jobs 'no' is no number from 1 to 1024 [E-CLI]", result.stderr)

    def test_it_links_mpi_and_no_simgrid(self):
        libraries = run_program("ldd", PROGRAM_MPI).stdout
        self.assertRegex(libraries, r"libmpi|libmpich")
        self.assertNotIn("simgrid", libraries)


def environment_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("skipped: mpirun is not installed; enable: tools/setup")
        sys.exit(77)
    unittest.main(verbosity=1)
