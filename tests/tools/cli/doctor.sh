#!/usr/bin/env bash
# doctor.sh GLIM: what the machine is and how Glim runs on it, as `glim doctor` prints it.
set -uo pipefail
glim=$(realpath "$1") source=$(realpath "$0")
source "$(dirname "$0")/../common.sh"

has() {  # NAME PATTERN: the last output has such a line
  report "$1" "$(grep -Eq -- "$2" out || echo "no /$2/ in: $(head -c 2000 out)")"
}
doctor() { timeout 600 env -u OMP_NUM_THREADS "$@" "$glim" doctor >out 2>err; }

doctor
report "exit status" "$([ $? = 0 ] || show err)"
has "the processor" '^CPU +[^ ]'
has "cores" '^cores +([0-9]+|unknown); [0-9]+ processors? usable, load [0-9.]+'
has "memory" '^memory +[0-9.]+ GiB, [0-9.]+ GiB free'
has "BLAS" '^BLAS +OpenBLAS '
has "the large product" '^large GEMM +(builtin|openblas)( \(GLIM_GEMM=.+\))?$'
has "rates" '^  measured +builtin [0-9.e+]+, openblas [0-9.e+]+ GFLOP/s'
has "products of bfloat16" '^bfloat16 GEMM +(amx|avx512|avx2|baseline|avx512, as the system refuses AMX)( \(GLIM_ISA=.+\))?$'
doctor GLIM_GEMM=openblas
has "a large product asked for" '^large GEMM +openblas \(GLIM_GEMM=openblas\)$'
GLIM_GEMM=openblas timeout 600 "$glim" doctor --gemm builtin >out 2>err
has "an option goes before the variable" '^large GEMM +builtin \(--gemm\)$'
refuse "a large product that is none" "GLIM_GEMM: 'blas' is not one of builtin, openblas" env GLIM_GEMM=blas "$glim" doctor
doctor GLIM_ISA=baseline
has "the least set's products of bfloat16" '^bfloat16 GEMM +baseline \(GLIM_ISA=baseline\)$'
has "an own product without AVX2" '^  measured +builtin [0-9.]+, openblas'
doctor OMP_NUM_THREADS=4096
has "more threads than OpenBLAS can serve are not used" '^threads +64 \(OMP_NUM_THREADS=4096\)$'
if [ "$(nproc)" -lt 64 ]; then
  has "too many threads are named" '^warning: 64 threads share [0-9]+ processor'
  has "with a remedy" '^ remedy: set OMP_NUM_THREADS=[0-9]+ in the environment$'
fi

"$glim" train --task random --layers 1 --d-model 16 --heads 2 --d-ff 32 \
  --max-steps 1000000 --epochs 1000000 --progress none --out endless >log 2>&1 &
child=$!
wait_until test -e endless
kill "$child"
wait "$child" 2>/dev/null
report "stopped at whatever moment, it leaves no half-written file" "$(half_written)"

# A run says what decides its bits besides its options, and its configuration can be read again.
train() { timeout 600 "$glim" train --task copy --layers 1 --d-model 16 --heads 2 --d-ff 32 \
  --max-steps 2 --progress none "$@" >out 2>err; }
engine() {  # NAME: the run in first/ is by this engine
  [ "$(grep '^gemm' first/config.toml)" = "gemm = \"$1\"" ] || cat first/config.toml out err
}
GLIM_GEMM=openblas train --out first
report "a run's configuration names the products" "$(engine openblas)"
report "and the kernels" "$(grep -Eqx '# Kernels [a-z0-9]+ \(GLIM_ISA\)\.' first/config.toml || show first/config.toml)"
train --config first/config.toml --out again
report "and is read again" "$([ $? = 0 ] && diff <(grep -v '^out' first/config.toml) <(grep -v '^out' again/config.toml) || show err)"
again() { timeout 600 "$glim" train --resume --out first --progress none "$@" >out 2>err; }
again --max-steps 3
report "a resumed run keeps its products" "$(engine openblas; grep -- --gemm out)"
again --max-steps 4 --gemm builtin
report "others are said" "$(engine builtin; grep -Eqx 'note: --gemm is builtin from here on and was openblas: .*' out || show out err)"
again --max-steps 5
report "and kept" "$(engine builtin; grep -- --gemm out)"
precision() { grep -qx "matmul-precision = \"$1\"" first/config.toml || cat first/config.toml out err; }
again --max-steps 6 --matmul-precision medium
report "another precision is said" "$(precision medium; grep -Eqx 'note: --matmul-precision is medium from here on and was highest' out || show out err)"
again --max-steps 7
report "and kept" "$(precision medium; grep -- --matmul-precision out)"
refuse "training with a product that is none" 'GLIM_GEMM' env GLIM_GEMM=blas "$glim" train --out none --max-steps 1

# A system that refuses AMX.
if "$glim" doctor | grep -Eq '^bfloat16 GEMM +amx'; then
  refused="python3 $(dirname "$source")/without_amx.py"
  $refused "$glim" doctor >out 2>err
  has "AMX is refused" '^bfloat16 GEMM +avx512, as the system refuses AMX$'
  medium="$glim train --task copy --layers 1 --d-model 32 --heads 1 --d-ff 64 --max-steps 2 --progress none"
  medium+=" --matmul-precision medium --out medium --overwrite"
  hash=$($medium | tail -n 1)
  $refused $medium >out 2>err
  report "the same bits without it" "$([ "$hash" = "$(tail -n 1 out)" ] || show out err)"
  report "said once" "$([ "$(grep -c 'the system refuses it' out)" = 1 ] || show out err)"
fi

for wrong in --rate extra; do
  timeout 600 "$glim" doctor "$wrong" >out 2>err
  report "doctor $wrong" "$([ $? = 2 ] && [ "$(wc -l <err)" = 1 ] || show err)"
done
summary
