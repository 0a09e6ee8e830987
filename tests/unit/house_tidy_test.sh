# tools/tidy of a commit: reads what changed since then and is built, and nothing else. clang-tidy is a stand-in. Exit
# status 77 without git.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/skip.sh"
command -v git >/dev/null || skip "git is not installed" "apt-get install git"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{bin,tree/{tools,sim,calibration,tests,build}}
cp "$root/tools/tidy" "$stage/tree/tools"
printf '#!%s\nprintf "%%s\\n" "${@: -1}"\n' "$BASH" >"$stage/bin/clang-tidy"
chmod +x "$stage/bin/clang-tidy"
export PATH=$stage/bin:$PATH GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
cd "$stage/tree"
commit() { git add -A && git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm "$1"; }
for name in same committed edited gone unbuilt; do echo "int $name;" >sim/$name.cpp; done
echo build >.gitignore
git init -q
commit first
echo >>sim/committed.cpp
echo >>sim/unbuilt.cpp
commit second
echo >>sim/edited.cpp
echo "int added;" >sim/added.cpp
rm sim/gone.cpp
for name in same committed edited gone added; do echo "\"file\": \"$PWD/sim/$name.cpp\","; done >build/compile_commands.json

expect() { # ARGUMENTS FILES
  local found
  found=$(bash tools/tidy $1 | sort | paste -sd ' ')
  [[ $found == "$2" ]] || { echo "FAILED: tidy $1 reads '$found' instead of '$2'"; exit 1; }
}
expect "build" "sim/added.cpp sim/committed.cpp sim/edited.cpp sim/same.cpp"
expect "build HEAD~1" "sim/added.cpp sim/committed.cpp sim/edited.cpp"
expect "build HEAD" "sim/added.cpp sim/edited.cpp"
commit third
expect "build HEAD" ""
status=0
bash tools/tidy build nowhere 2>said || status=$?
[[ $status == 2 ]] && grep -q "'nowhere' is no commit" said || { echo "FAILED: no commit: exit status $status"; exit 1; }
