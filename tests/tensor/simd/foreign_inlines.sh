#!/usr/bin/env bash
# foreign_inlines.sh ROOT ISA SOURCE... -- COMPILER... FLAGS...: kernels call no inline function of other headers
# (tensor/simd/vec.hpp). The linker keeps one copy of an inline function, and one that was compiled for AVX-512 ends
# the program on another CPU. The sources are compiled without inlining, so that each such call leaves a weak symbol, and
# with one more function, whose call of std::max has to be found.
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
printf '#include <algorithm>\nnamespace glim::%s { float planted(const float* x) { return std::max(x[0], x[1]); } }\n' "$isa" >>"$work/kernels.cpp"
"$@" -std=c++20 -O0 -fno-inline -I "$root" "-DGLIM_ISA=$isa" -c "$work/kernels.cpp" -o "$work/object" || exit 1
# Weak symbols that are not of the kernels' namespace.
found=$(nm -C --defined-only "$work/object" | sed -nE 's/^[0-9a-f]+ [WVuvw] //p' | grep -vE "glim::$isa::|^DW\.ref\.")
grep -q 'std::max<float>' <<<"$found" || { echo "a call of std::max in a kernel is not found"; exit 1; }
found=$(grep -v 'std::max<float>' <<<"$found")
[ -z "$found" ] || { printf 'kernels for %s have inline functions of other headers:\n%s\n' "$isa" "$found"; exit 1; }
echo "no inline function of other headers in the kernels for $isa"
