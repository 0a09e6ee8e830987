"""The README's table of error codes lists each code that the sources can give, and no other."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CODE = r"[EW](?:-[A-Z0-9]+)+"


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def codes_in_sources():
    found = set()
    for top in ("sim", "calibration"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith(".cpp"):
                    found.update(re.findall(rf'"({CODE})"', read(folder, name)))
    return found


def codes_in_readme():
    return re.findall(rf"(?m)^\| `({CODE})` \|", read("README.md"))


class Codes(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreater(len(codes_in_sources()), 20)

    def test_all_listed(self):
        self.assertEqual(sorted(codes_in_sources() - set(codes_in_readme())), [])

    def test_none_invented(self):
        self.assertEqual(sorted(set(codes_in_readme()) - codes_in_sources()), [])

    def test_each_once_and_sorted(self):
        self.assertEqual(codes_in_readme(), sorted(set(codes_in_readme())))


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in ("README.md", "sim/README.md"):
            for target in re.findall(r"\]\(([^)#:]+)\)", read(page)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, os.path.dirname(page), target)), (page, target))


if __name__ == "__main__":
    unittest.main()
