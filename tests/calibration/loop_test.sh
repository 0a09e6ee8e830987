#!/usr/bin/env bash
# usage: loop_test.sh BUILD_DIR SOURCE_DIR    The whole loop on this machine: what three small scenarios need is planned,
# measured, fitted, simulated with the new profile, and run for real under mpirun. The bound is loose: another build may
# run beside it. Exit status 77 without mpirun, or where so much else runs that a third of the samples are unstable.
set -euo pipefail

build=$1 source=$2
source "$source/tests/support/skip.sh"
command -v mpirun >/dev/null || skip "mpirun is not installed" "tools/setup"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
calibrate=$build/rehearse-calibrate
scenarios=("$source"/scenarios/host/{dp2,tp2,pp2}.yaml)

"$calibrate" plan "${scenarios[@]}" -o points.jsonl >plan.txt
"$calibrate" run --backend host --ranks 2 --points points.jsonl --budget 60s -o samples.jsonl >run.txt || [[ $? == 1 ]]
samples=$(grep -c '"record":"sample"' samples.jsonl) stable=$(grep -c '"status":"ok"' samples.jsonl || true)
((3 * stable >= 2 * samples)) || skip "$stable of $samples samples are stable: too much else runs" "a quiet machine"
"$calibrate" fit samples.jsonl --name host-2core -o host-2core.yaml >fit.txt
for scenario in "${scenarios[@]}"; do
  "$build/rehearse" run "$scenario" --set profile="$folder/host-2core.yaml" --quiet >simulated.txt || [[ $? == 1 ]]
  "$calibrate" verify "$scenario" --set profile="$folder/host-2core.yaml" --runs 3 --within 75 --json verified.json
  grep -q '"measured_s"' verified.json
done
# A job of another size is refused, and rank 0 comes to say why, whichever rank ends first.
for _ in 1 2 3 4 5 6; do
  if bash "$source/tests/calibration/ranks/start.sh" 3 "$calibrate" verify "${scenarios[0]}" --set profile="$folder/host-2core.yaml" >out.txt 2>error.txt; then exit 1; fi
  grep -q 'the layout has 2 ranks, and this job 3 \[E-VERIFY\]' error.txt
  [[ ! -s out.txt ]]
done
