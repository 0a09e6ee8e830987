"""tools/check_layers finds what it is there to find: each rule broken in a tree made for it."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "check_layers")
spec = importlib.util.spec_from_loader("check_layers", importlib.machinery.SourceFileLoader("check_layers", TOOL))
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


def findings(**files):
    """Findings in a tree of these files; a name is a path with / written __ and no suffix."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = os.path.join(root, name.replace("__", "/") + ".cpp")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return check_layers.check_tree(root)[0]


class Includes(unittest.TestCase):
    def test_clean_tree(self):
        self.assertEqual(findings(sim__plan__a='#include <vector>\n#include "sim/base/units.hpp"\n'), [])

    def test_room_above(self):
        found = findings(sim__base__a='#pragma once\n#include "sim/spec/scenario.hpp"\n')
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("sim/base/a.cpp:2: include: base may not include sim/spec/scenario.hpp"), found)

    def test_each_forbidden_pair_of_rooms(self):
        for room, allowed in check_layers.ROOMS.items():
            top = room if room == "calibration" else f"sim__{room}"
            for other in check_layers.ROOMS:
                path = "calibration/x.hpp" if other == "calibration" else f"sim/{other}/x.hpp"
                found = findings(**{f"{top}__a": f'#include "{path}"\n'})
                self.assertEqual(len(found), 0 if other == room or other in allowed.split() else 1, (room, other))

    def test_engine_is_hidden_from_what_needs_no_replay(self):
        for room in ("io", "account", "view", "graph", "calibration"):
            self.assertNotIn("engine", check_layers.ROOMS[room].split())

    def test_third_party_in_its_room_only(self):
        for header, home in (("yaml-cpp/yaml.h", "io"), ("simgrid/s4u.hpp", "engine"), ("boost/program_options.hpp", "cli"),
                             ("boost/graph/adjacency_list.hpp", "graph"), ("nlohmann/json.hpp", "view"),
                             ("fmt/format.h", "cli"), ("zlib.h", "view")):
            self.assertEqual(findings(**{f"sim__{home}__a": f"#include <{header}>\n"}), [], header)
            self.assertEqual(len(findings(sim__plan__a=f"  #  include <{header}>\n")), 1, header)

    def test_unknown_library_and_room_and_relative_path(self):
        self.assertEqual(len(findings(sim__io__a="#include <absl/strings/str_cat.h>\n")), 1)
        self.assertEqual(len(findings(sim__attic__a="int x;\n")), 1)
        self.assertEqual(len(findings(sim__io__a='#include "reader.hpp"\n')), 1)

    def test_cuda_only_in_calibration(self):
        self.assertEqual(len(findings(sim__engine__a="#include <cuda_runtime.h>\n")), 1)
        self.assertEqual(findings(calibration__a="#include <cuda_runtime.h>\n"), [])


class Text(unittest.TestCase):
    def test_lowering_has_one_place(self):
        self.assertEqual(len(findings(sim__cli__a="auto g = lower(s, schedule);\n")), 1)
        self.assertEqual(findings(sim__step__a="auto g = lower(s, schedule);\n"), [])
        self.assertEqual(findings(sim__cli__a="auto g = lowered(plan); x.lower(2); to_lower(c);\n"), [])

    def test_views(self):
        self.assertEqual(len(findings(sim__io__a="auto v = x | std::views::take(3);\n")), 1)
        self.assertEqual(findings(sim__io__a='// std::views\nauto s = "std::views";\n'), [])

    def test_long_file(self):
        self.assertEqual(findings(sim__io__a="int x;\n" * 400), [])
        self.assertEqual(len(findings(sim__io__a="int x;\n" * 401)), 1)

    def test_long_function(self):
        def function(lines, head="int f(int a) {"):
            return f"namespace n {{\n{head}\n" + "  a += '}';  // }\n" * (lines - 2) + "}\n}\n"

        for head in ("int f(int a) {", "C::C(int a) : b_(a) {", "std::vector<int> C::f(int a) const {",
                     "template <class T>\nint f(T a) {", "struct S f(int a) {", "C& C::operator=(const C& a) {"):
            extra = head.count("\n")
            self.assertEqual(findings(sim__io__a=function(60 - extra, head)), [], head)
            found = findings(sim__io__a=function(61 - extra, head))
            self.assertEqual(len(found), 1, head)
            self.assertIn("sim/io/a.cpp:2: length: a function of 61 lines", found[0])

    def test_member_function_and_table(self):
        body = "    x += 1;\n" * 60
        self.assertEqual(len(findings(sim__io__a=f"class C {{\n  void f() {{\n{body}  }}\n}};\n")), 1)
        self.assertEqual(findings(sim__io__a="const int table[] = {\n" + "  f(1),\n" * 80 + "};\n"), [])


if __name__ == "__main__":
    unittest.main()
