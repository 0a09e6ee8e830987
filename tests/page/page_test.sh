# page_test.sh NAME REHEARSE MAKE_PAGE FOLDER: makes a page and opens it in headless Chromium. Exit status 77 where node,
# chromium, npm's packages or the page are missing.
set -euo pipefail
name=$1 rehearse=$2 make_page=$3 folder=$4
tests=$(cd "$(dirname "$0")/.." && pwd)
source "$tests/support/skip.sh"
command -v node >/dev/null || skip "node is not installed" "tools/setup"
page=$folder/$name.html
case $name in
run) results=("$tests/../scenarios/gpt3-175b-1024xa100.yaml") ;;
comparison)
  "$rehearse" run "$tests/golden/small.yaml" --quiet --set batch.global=32 --set name=larger --json "$folder/larger.json" >/dev/null
  results=("$tests/golden/small.yaml" "$folder/larger.json" "$tests/page/score.json" "$tests/page/sensitivity.json")
  ;;
*)
  "$make_page" "$name" "$page"
  exec node "$tests/page/page_test.mjs" "$name" "$page"
  ;;
esac
status=0
"$rehearse" report "${results[@]}" --quiet -o "$page" 2>"$folder/$name.err" || status=$?
! grep -q E-REPORT-BUILD "$folder/$name.err" ||
  skip "this build has no page" "node and npm (tools/setup), and npm's registry in reach when CMake configures"
cat "$folder/$name.err"
((status == 0)) || exit 1
exec node "$tests/page/page_test.mjs" "$name" "$page"
