"""tools/list_skipped on what ctest writes: tests that skip from a shell, from gtest and without a word, and one that runs.
And no test of the tree skips without the line that it reads.

usage: house_skipped_test.py CTEST
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = f"""
add_test(runs sh -c "echo 'skipped: no line of mine; enable: nothing'")
add_test(shell bash -c "source {ROOT}/tests/support/skip.sh; echo noise; skip 'tool is not installed' 'tools/setup --tests'")
add_test(gtest sh -c "printf '%s\\\\n' 'a_test.cpp:7: Skipped' 'skipped: no page; enable: node, and npm' '' '[  SKIPPED ] A.B (0 ms)'")
add_test(silent sh -c "exit 77")
add_test(off sh -c true)
set_tests_properties(shell silent PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(gtest PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")
set_tests_properties(off PROPERTIES DISABLED ON)
"""
WANTED = """\
skipped shell: tool is not installed; enabled by: tools/setup --tests
skipped gtest: no page; enabled by: node, and npm
skipped silent: it does not say why
"""
SKIPS = re.compile(r"GTEST_SKIP\(\)|exit 77|exit\(77\)|\? 77 :|return 77")
SAYS = re.compile(r"GTEST_SKIP\(\) << \w|; enable: |skip_line|no_page")

for path in [p for folder in ("tests", "tools") for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".py", ".sh", ".mjs", "")]:
    if path.is_file() and path != pathlib.Path(__file__).resolve():
        lines = path.read_text(errors="replace").splitlines()
        for i, line in enumerate(lines):
            if SKIPS.search(line) and not SAYS.search("\n".join(lines[max(0, i - 2) : i + 1])):
                sys.exit(f"FAILED: {path.relative_to(ROOT)}:{i + 1} skips without saying what enables it")

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(TESTS)
    results = folder + "/results.xml"
    ran = subprocess.run([sys.argv[1], "--output-junit", results], cwd=folder, capture_output=True, text=True)
    listed = subprocess.run([sys.executable, ROOT / "tools/list_skipped", results], capture_output=True, text=True)
    if ran.returncode or listed.returncode or listed.stdout != WANTED:
        sys.exit(f"{ran.stdout}{ran.stderr}\nFAILED: lists\n{listed.stdout}{listed.stderr}instead of\n{WANTED}")
