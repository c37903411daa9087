#!/usr/bin/env bash
# program.sh GRAPHS BUILD: a graph of all kinds, printed as a program, compiles as it is and computes the same.
set -uo pipefail
graphs=$(realpath "$1") build=$(realpath "$2") root=$(realpath "$(dirname "$0")/../../..")
source "$root/tests/tools/common.sh"
"$graphs" --program >graph.cpp
report "all kinds" "$([ $? = 0 ] || show graph.cpp)"
# The command of its first line, without optimising.
"${CXX:-c++}" -std=c++20 -O0 -I"$root" graph.cpp -o graph "$build"/libglim.a -fopenmp >log 2>&1
report "compiles" "$([ -x graph ] || show log)"
./graph >found 2>&1
report "its gradients are right" "$([ $? = 0 ] || show found)"
report "its sum" "$(awk '/^sum/ { a = $2 } /^\/\/ sum/ { b = $3 } END { d = a - b; if (!(d * d <= 1e-18 * (1 + b * b))) print a " and " b }' found graph.cpp)"
summary
