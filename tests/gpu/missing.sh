#!/usr/bin/env bash
# usage: missing.sh REHEARSE-CALIBRATE     without a GPU, the cuda backend ends with 2 and says what is missing.
set -u
source "$(dirname "$0")/../support/skip.sh"
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
  skip "there is a GPU" "a machine without"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" run --backend cuda --budget 10s -o "$folder/samples.jsonl" >"$folder/out" 2>"$folder/err"
status=$?
cat "$folder/err"
[[ $status == 2 ]] || { echo "exit status $status, not 2"; exit 1; }
grep -q "no CUDA device" "$folder/err" || { echo "does not say that there is no CUDA device"; exit 1; }
[[ ! -s $folder/out ]] || { echo "stdout is not empty"; exit 1; }
