"""What the tests of sweeps share: a small study, a folder for it, the rows of a store."""
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest


class STUDY:
    base = "7b-8xa100-dp"
    sets = ("--set", "layout.dp=null")
    text = """base: 7b-8xa100-dp
set: {layout.dp: null}
axes:
  layout.tp: [1, 2, 3, 4, 8]
  layout.pp: [1, 2]
  layout.zero: [0, 1]
  batch.micro: [1, 2]
  recompute: [none, full, {full_layers: 8}]
"""
    points = 5 * 2 * 2 * 2 * 3


class LARGE:
    """Points of 20 ms, for sweeps that are to be caught in the middle."""
    text = """base: gpt3-175b-1024xa100
set: {layout.dp: null}
axes:
  layout.tp: [8, 16]
  layout.pp: [8, 16, 7]
  grad_bucket: [100 MB, 200 MB, 300 MB, 400 MB]
"""
    points = 2 * 3 * 4


def run_program(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **options)


def wait_until(holds, seconds=30):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)


def rows(path):
    """All that a store holds, in an order that follows from it alone."""
    store = sqlite3.connect(path)
    try:
        return {name: sorted(map(repr, store.execute(f"SELECT * FROM {name}"))) for name in ("points", "studies", "about")}["points"]
    finally:
        store.close()


class Folder(unittest.TestCase):
    kind = STUDY
    expected = None  # rows of a sweep that nothing disturbs

    def undisturbed(self, program):
        if type(self).expected is None:
            path = os.path.join(self.folder, "undisturbed.sqlite")
            began = time.monotonic()
            subprocess.run([program, "sweep", self.study, "--store", path, "--quiet", "--jobs", "2"], check=True, stdout=subprocess.DEVNULL)
            type(self).lasts = time.monotonic() - began
            type(self).expected = rows(path)
            os.remove(path)
        return type(self).expected

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.study = os.path.join(self.folder, "study.yaml")
        self.store = os.path.join(self.folder, "s.sqlite")
        with open(self.study, "w") as file:
            file.write(self.kind.text)
