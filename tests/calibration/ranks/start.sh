#!/usr/bin/env bash
# usage: start.sh RANKS PROGRAM [ARGUMENT...]    runs the program as a job of that many ranks on this machine. Exit status 77
# without mpirun.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../support/skip.sh"
command -v mpirun >/dev/null || skip "mpirun is not installed" "tools/setup"
ranks=$1
shift
options=()
# More ranks than cores are fine for a test; root in a container is no danger.
if mpirun --version | grep -q 'Open MPI'; then
  options=(--oversubscribe)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Open MPI keeps memory until the process ends.
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_leaks=0}
exec mpirun -n "$ranks" "${options[@]}" "$@"
