#!/usr/bin/env bash
# foreign_inlines.sh ROOT ISA SOURCE... -- COMPILER... FLAGS...: kernels call no inline function of other headers
# (tensor/simd/vec.hpp). The linker keeps one copy of an inline function, and one that was compiled for AVX-512 ends
# the program on another CPU. The sources are compiled without inlining, so that each such call leaves a weak symbol.
set -uo pipefail
root=$1 isa=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while [ "$1" != -- ]; do
  printf '#include "%s"\n' "$(realpath "$1")" >>"$work/kernels.cpp"
  shift
done
shift
# foreign SOURCE: the weak symbols of its object that are not of the kernels' own namespace.
foreign() {
  "${command[@]}" -std=c++20 -O0 -fno-inline -I "$root" "-DGLIM_ISA=$isa" -c "$1" -o "$work/object" 2>"$work/err" ||
    { echo "does not compile: $(head -3 "$work/err")"; return; }
  nm -C --defined-only "$work/object" | sed -nE 's/^[0-9a-f]+ [WVuvw] //p' | grep -vE "glim::$isa::|^DW\.ref\."
}
command=("$@")
found=$(foreign "$work/kernels.cpp")
[ -z "$found" ] || { printf 'kernels for %s have inline functions of other headers:\n%s\n' "$isa" "$found"; exit 1; }
printf '#include "%s"\n#include <algorithm>\nnamespace glim::%s { float planted(const float* x) { return std::max(x[0], x[1]); } }\n' \
  "$work/kernels.cpp" "$isa" >"$work/planted.cpp"
foreign "$work/planted.cpp" | grep -q 'std::max' || { echo "a call of std::max in a kernel is not found"; exit 1; }
echo "no inline function of other headers in the kernels for $isa"
