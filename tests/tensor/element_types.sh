#!/usr/bin/env bash
# element_types.sh ROOT COMPILER...: what elements are made of is said when a program is compiled.
set -uo pipefail
root=$1
shift
compiler=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# compiles EXPRESSION: its errors, if any, are in $work/err.
compiles() {
  printf '#include "tensor/tensor.hpp"\nusing namespace glim;\nauto value = %s;\n' "$1" >"$work/one.cpp"
  "${compiler[@]}" -std=c++20 -fsyntax-only -I "$root" "$work/one.cpp" 2>"$work/err"
}
for type in float double std::int64_t bool; do
  compiles "from_vector(std::vector<$type>{}, {0})" || { echo "FAIL $type: $(head -3 "$work/err")"; failed=1; }
done
for bad in 'from_vector(std::vector<int>{1}, {1})' 'ones({1}).to_vector<int>()' 'ones({1}).data<char>()'; do
  if compiles "$bad"; then
    echo "FAIL $bad compiles"
    failed=1
  elif ! grep -q 'elements are float, double, std::int64_t or bool: of a std::vector<int> make a' "$work/err"; then
    echo "FAIL $bad: $(head -3 "$work/err")"
    failed=1
  fi
done
[ "$failed" = 0 ] && echo "four element types compile, and others are refused in words"
exit "$failed"
