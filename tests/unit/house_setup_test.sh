# tools/setup on a machine where all is there: silent, at once, and without asking apt. Where something is missing: asks for
# just that. Where apt gives nothing: ends over what building needs, goes on without what only tests need. apt-get and
# dpkg-query are stand-ins; nothing is installed.
set -euo pipefail
setup=$(cd "$(dirname "$0")/../.." && pwd)/tools/setup
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

stand_in() { # NAME BODY
  printf '#!%s\n%s\n' "$BASH" "$2" >"$stage/$1"
  chmod +x "$stage/$1"
}
check() { # WHAT CONDITION...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; sed 's/^/  /' "$stage/out"; exit 1; }
}
run() { PATH=$stage:$PATH bash "$setup" "$@" >"$stage/out" 2>&1 && status=0 || status=$?; }

stand_in apt-get "echo \"\$@\" >>$stage/asked; touch $stage/installed"
stand_in sudo 'exec "$@"'
stand_in node :
stand_in npm :
stand_in dpkg-query 'shift 3; for p in "$@"; do printf "installed=%s " "$p"; done'
run
check "all there: succeeds" test "$status" = 0
check "all there: says nothing" test ! -s "$stage/out"
check "all there: asks apt for nothing" test ! -e "$stage/asked"

lacks() { # PACKAGE...   until apt-get has installed
  stand_in dpkg-query "shift 3; for p in \"\$@\"; do [[ ' $* ' == *\" \$p \"* && ! -e $stage/installed ]] || printf 'installed=%s ' \"\$p\"; done"
  rm -f "$stage/asked" "$stage/installed"
}
lacks cmake
run
check "one missing: succeeds" test "$status" = 0
check "one missing: updates the lists first" grep -q 'update$' <(head -1 "$stage/asked")
check "one missing: installs just that" grep -q 'install --no-install-recommends cmake$' "$stage/asked"

# What only tests need is asked for with --tests alone.
lacks chromium
run
check "without --tests: asks for nothing" test ! -e "$stage/asked"
run --tests
check "with --tests: installs just that" grep -q 'install --no-install-recommends chromium$' "$stage/asked"
check "with --tests: loses nothing" bash -c "! grep -q 'goes on without' '$stage/out'"

stand_in apt-get 'echo "no such host"; exit 100'
lacks cmake
run --tests
check "apt fails: fails" test "$status" = 1
check "apt fails: shows why" grep -q 'no such host' "$stage/out"
check "apt fails: names what building needs" grep -q 'building needs: cmake$' "$stage/out"
lacks cmake chromium
run --tests
check "apt fails, more is missing: fails" test "$status" = 1
lacks chromium clang-format
run --tests
check "apt fails, tests miss something: goes on" test "$status" = 0
check "apt fails, tests miss something: says what, what is lost and why" grep -q \
  '^setup: goes on without clang-format (lost: test house_format) chromium (lost: tests page_\* and trace_speedscope_\*); .*no such host$' "$stage/out"

# apt that succeeds and installs nothing is seen.
stand_in apt-get :
run --tests
check "apt installs nothing that tests need: goes on" test "$status" = 0
check "apt installs nothing that tests need: says so" grep -q 'goes on without clang-format' "$stage/out"
lacks libgtest-dev
run --tests
check "apt installs nothing that building needs: fails" test "$status" = 1
