# tools/setup on a machine where all is there: silent, at once, and without asking apt. On one where something is missing
# and that is neither root nor has sudo: says what is missing. apt-get and dpkg-query are stand-ins; nothing is installed.
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

stand_in dpkg-query "shift 3; for p in \"\$@\"; do [[ \$p == cmake && ! -e $stage/installed ]] || printf 'installed=%s ' \"\$p\"; done"
rm -f "$stage/asked"
run
check "one missing: succeeds" test "$status" = 0
check "one missing: updates the lists first" grep -q 'update$' <(head -1 "$stage/asked")
check "one missing: installs just that" grep -q 'install --no-install-recommends cmake$' "$stage/asked"

# What only tests need is asked for with --tests alone.
stand_in dpkg-query "shift 3; for p in \"\$@\"; do [[ \$p == chromium && ! -e $stage/installed ]] || printf 'installed=%s ' \"\$p\"; done"
rm -f "$stage/asked" "$stage/installed"
run
check "without --tests: asks for nothing" test ! -e "$stage/asked"
run --tests
check "with --tests: installs just that" grep -q 'install --no-install-recommends chromium$' "$stage/asked"

stand_in dpkg-query "shift 3; for p in \"\$@\"; do [[ \$p == cmake && ! -e $stage/installed ]] || printf 'installed=%s ' \"\$p\"; done"
stand_in apt-get 'echo "no such host"; exit 100'
rm -f "$stage/installed"
run
check "apt fails: fails" test "$status" = 1
check "apt fails: shows why" grep -q 'no such host' "$stage/out"
