#!/usr/bin/env bash
# threads.sh [FOLDER]: ThreadSanitizer over tensor, autograd, nn, optim, a training run and eight threads that use one
# trained model, in a build of clang's.
#
# Its OpenMP tells ThreadSanitizer of its barriers by Archer, which Debian has in libomp-dev; g++'s does not, and every
# parallel loop would be a race. OpenBLAS has g++'s OpenMP, with one thread: the own products take its place.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/system.sh
folder=${1:-build-threads}
archer=$(find /usr/lib/llvm-*/lib -name libarcher.so 2>/dev/null | sort -V | tail -1)
[ -n "$archer" ] || { echo "threads: libarcher.so is missing: install libomp-dev"; exit 77; }
programs=()
for room in tensor autograd nn optim; do programs+=("tests/$room/test_$room"); done
CXX=clang++ tools/build "$folder" "${programs[@]}" tools/glim tests/tools/use_pipeline -- -Dpages=disabled -Dbenchmarks=disabled -Dtests=enabled \
  -Dbuildtype=debug -Ddebug=false -Dcpp_args=-g1 -Doptimization=1 -Db_sanitize=thread -Db_lundef=false
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} OMP_TOOL_LIBRARIES=$archer OPENBLAS_NUM_THREADS=1
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=0 exitcode=66 ${TSAN_OPTIONS:-}"
passed=0 failed=0
check() {  # NAME COMMAND...
  local name=$1 status=0
  shift
  "$@" >"$folder/threads-$name.log" 2>&1 || status=$?
  if [ "$status" = 0 ] && ! grep -q "WARNING: ThreadSanitizer" "$folder/threads-$name.log"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name (status $status): $folder/threads-$name.log"
  fi
}
for program in "${programs[@]}"; do check "${program##*_}" "$folder/$program" '~[slow]'; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check train "$folder/tools/glim" train --task copy --examples 200 --layers 2 --heads 2 --d-model 32 --d-ff 64 \
  --epochs 2 --progress none --out "$work/model"
check translate "$folder/tools/glim" translate --model "$work/model" --beam 3 <<<"3 4 5"
check pipeline "$folder/tests/tools/use_pipeline" translate "$work/model" 3 1 5 <<<"3 4 5"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
