# test.sh BUILD_DIR CXX GENERATOR MAKE_PROGRAM [FLAGS]: a project that finds the installed package builds, and rehearses the
# step that the program does. The package knows nothing of the tree or the prefix it was built for.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cmake --install "$1" --prefix "$made/first" >/dev/null
mv "$made/first" "$made/prefix"
if grep -rl "$(cd "$1" && pwd)" "$made/prefix/lib/cmake" "$made/prefix/include"; then
  echo "FAILED: these name the build"
  exit 1
fi
cmake -G "$3" -S "$here" -B "$made/build" -DCMAKE_MAKE_PROGRAM="$4" -DCMAKE_PREFIX_PATH="$made/prefix" \
  -DCMAKE_CXX_COMPILER="$2" -DCMAKE_CXX_FLAGS="${5:-}" >"$made/log" 2>&1 && cmake --build "$made/build" >>"$made/log" 2>&1 || {
  echo "FAILED: the example does not build"
  cat "$made/log"
  exit 1
}
cd "$made"
for settings in layout.zero=0 batch.micro=2; do
  found=$(build/install_example 7b-8xa100-dp $settings) || true
  prefix/bin/rehearse run 7b-8xa100-dp --set $settings --quiet --json report.json >/dev/null || true
  python3 - "$found" <<'PYTHON'
import json, sys
word, step = sys.argv[1].split()
assert word == "step_time_s" and float(step) == json.load(open("report.json"))["step_time_s"], sys.argv[1]
PYTHON
done
status=0
build/install_example 7b-8xa100-dp layout.tp=3 2>said || status=$?
if [[ $status != 2 ]] || ! grep -q E-LAYOUT-GPUS said; then
  echo "FAILED: exit status $status"
  cat said
  exit 1
fi
