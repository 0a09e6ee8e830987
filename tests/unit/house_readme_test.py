"""The page of codes is that of sim/base/codes.hpp, and links in the pages lead somewhere."""
import importlib.machinery
import importlib.util
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
loader = importlib.machinery.SourceFileLoader("list_codes", os.path.join(ROOT, "tools", "list_codes"))
list_codes = importlib.util.module_from_spec(importlib.util.spec_from_loader("list_codes", loader))
loader.exec_module(list_codes)


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class Codes(unittest.TestCase):
    def test_table_is_that_of_the_sources(self):
        self.assertEqual(read(*list_codes.PAGE.split("/")), list_codes.page(), "run tools/list_codes --update")

    def test_every_row_is_read(self):
        written = re.findall(r'\{"([EW]-[A-Z0-9-]+)"', read("sim", "base", "codes.hpp"))
        self.assertGreater(len(written), 50)
        self.assertEqual(len(re.findall(r"^\| `[EW]-", list_codes.page(), re.M)), len(written))


class Links(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in ("README.md", "sim/README.md", "sim/CODES.md", "sim/cost/README.md", "sim/schedule/README.md", "topologies/README.md"):
            for target in re.findall(r"\]\(([^)#:]+)\)", read(page)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, os.path.dirname(page), target)), (page, target))


if __name__ == "__main__":
    unittest.main()
