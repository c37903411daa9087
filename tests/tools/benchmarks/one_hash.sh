#!/usr/bin/env bash
# one_hash.sh GLIM_BENCH: the weights after some steps of training are the same bits with every instruction set of
# this CPU and for 1 and 2 threads, and the constants below, on any machine (tensor/numerics.md).
set -uo pipefail
bench=$(realpath "$1")
source "$(dirname "$0")/../common.sh"

golden() {  # SETTING STEPS HASH ISA...
  local setting=$1 steps=$2 wanted=$3 isa threads got
  shift 3
  for isa in "$@"; do
    GLIM_ISA=$isa "$bench" settings >/dev/null 2>&1 && GLIM_ISA=$isa "$bench" machine >/dev/null 2>&1 || continue
    for threads in 1 2; do
      got=$(GLIM_ISA=$isa OMP_NUM_THREADS=$threads timeout 600 "$bench" hash "$setting" --steps "$steps" 2>&1)
      report "$setting, $steps steps, $isa, $threads threads" "$([ "$got" = "$wanted" ] || echo "$got, not $wanted")"
    done
  done
}
golden micro 200 5966b1674d1cf174 baseline avx2 avx512
golden gpt-char 3 c97dfd79de49e689 avx2 avx512
golden tiny 2 babbdc5e34b8d2e1 avx2 avx512
summary
