#!/usr/bin/env bash
# address_space.sh GLIM: with however little address space, a verb does its work or says in one line why
# not. OpenBLAS takes 128 MiB for each thread when it is loaded, and as much for their products.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"

"$glim" train --task copy --examples 40 --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 \
  --progress none --out model >/dev/null 2>err || { cat err; exit 1; }
echo '1 2 3' >lines

# LIMIT KIB THREADS VERB...: within `ulimit LIMIT KIB`.
within() {
  local limit=$1 kib=$2 threads=$3 status=0 problem=
  shift 3
  (ulimit "$limit" "$kib"; OMP_NUM_THREADS=$threads timeout 600 "$glim" "$@") <lines >out 2>err || status=$?
  if [ "$status" -ge 124 ] && [ "$status" != 127 ]; then  # 127: the dynamic linker's refusal
    problem="status $status: crashed or hung: $(tail -1 err)"
  elif [ "$status" = 0 ]; then
    [ -s out ] && ! [ -s err ] || problem="status 0: $(head -c 1000 out err)"
  elif [ "$(grep -c . err)" != 1 ]; then
    problem="status $status, not one line: $(cat err)"
  fi
  cat err >>said
  report "ulimit $limit $kib, $threads threads: $1" "$problem"
}
for kib in 60000 150000 200000 300000 500000 700000 1000000 1500000 3000000; do
  for threads in 1 2 8; do
    within -v $kib $threads --version
    within -v $kib $threads translate --model model
    within -v $kib $threads translate --model model --gemm openblas
    within -v $kib $threads doctor
  done
  within -d $kib 2 translate --model model
  within -d $kib 2 translate --model model --gemm openblas
done

report "what is missing is named, with a remedy" \
  "$(grep -Eq '^glim: error: OpenBLAS: the system refused .*ulimit -v.*OMP_NUM_THREADS' said || sort said | uniq -c)"
summary
