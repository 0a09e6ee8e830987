# house_scenario_test.sh REHEARSE COMMAND FILE: the shipped file runs. A scenario that says "exit status 1" in its heading is
# there to show what does not fit; any other must fit.
set -euo pipefail
expected=0
head -5 "$3" | grep -q 'exit status 1' && expected=1
status=0
output=$("$1" "$2" "$3") || status=$?
[[ $2 == check && $status == 0 && $expected == 1 ]] && expected=0 # a plan may be sound and yet not fit
if [[ $status != "$expected" ]]; then
  printf '%s\nFAILED: exit status %s, expected %s: rehearse %s %s\n' "$output" "$status" "$expected" "$2" "$3"
  exit 1
fi
[[ $output ]] || { echo "FAILED: said nothing"; exit 1; }
