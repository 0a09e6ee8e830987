# packages_test.sh CMAKE NPM: without npm's registry, CMake comes to its warning soon, and that says what is lost. Exit
# status 77 without npm.
set -euo pipefail
cmake=$1 npm=$2
source "$(dirname "$0")/../support/skip.sh"
[[ -x $npm ]] || skip "npm is not installed" "tools/setup"
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$root"/package{,-lock}.json "$folder"
cat >"$folder/fetch.cmake" <<CMAKE
include($root/sim/view/page/packages.cmake)
fetch_packages("$npm" "$folder" why)
warn_of_no_page("\${why}")
CMAKE
# Nothing listens at port 9, and nothing is cached. The waits alone would be 70 s.
export no_proxy=127.0.0.1 npm_config_registry=http://127.0.0.1:9 npm_config_cache=$folder/cache
SECONDS=0
"$cmake" -P "$folder/fetch.cmake" 2>"$folder/said"
took=$SECONDS
cat "$folder/said"
((took < 30)) || { echo "FAILED: took $took s"; exit 1; }
for word in "CMake Warning" E-REPORT-BUILD page_ trace_speedscope_ "tools/setup" ECONNREFUSED; do
  grep -q -- "$word" "$folder/said" || { echo "FAILED: does not say $word"; exit 1; }
done
