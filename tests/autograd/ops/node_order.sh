#!/usr/bin/env bash
# node_order.sh NODES BUILD: g++ and clang record the same nodes in the same order. C++ leaves open which operand of an
# operator is computed first, and the two differ where a rule leaves it open too. NODES is nodes.cpp, compiled by g++;
# clang is Emscripten's, and the core's objects are those of the live page's module. Skipped (77) where BUILD has none.
set -euo pipefail
nodes=$(realpath "$1") objects=$(realpath "$2")/tools/live.p
cd "$(dirname "$0")/../../.."
[ -e "$objects/live.js" ] && command -v em++ >/dev/null || { echo "node_order: skipped: the live page's module is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in tools/gradient_cases/*.cpp tools/live/machine.cpp tests/autograd/ops/nodes.cpp; do
  echo "#include \"$PWD/$source\""
done >"$work/nodes.cpp"
compile=$(sed -n 's/^  command = \(em++ .*\) -MMD .*/\1/p' "$objects/build.ninja")
$compile -O0 -c "$work/nodes.cpp" -o "$work/nodes.o"
em++ -O1 -fwasm-exceptions -msimd128 "$work/nodes.o" "$objects"/{autograd,models,nn,optim,tensor}[0-9]*.o -o "$work/nodes.js" -sSINGLE_FILE=1 \
  -sALLOW_MEMORY_GROWTH=1 -sERROR_ON_UNDEFINED_SYMBOLS=0 -sENVIRONMENT=node -sTOTAL_STACK=4MB 2>/dev/null
node "$work/nodes.js" >"$work/clang"
"$nodes" >"$work/g++"
diff "$work/g++" "$work/clang" | head -n 40
echo "$(grep -c '^  ' "$work/g++") nodes in one order"
