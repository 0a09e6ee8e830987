# speedscope_test.sh TRACE SCREENSHOT.png: speedscope_test.mjs, where there is node.
set -euo pipefail
tests=$(cd "$(dirname "$0")/.." && pwd)
source "$tests/support/skip.sh"
command -v node >/dev/null || skip "node is not installed" "tools/setup"
exec node "$tests/trace/speedscope_test.mjs" "$@"
