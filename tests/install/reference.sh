#!/usr/bin/env bash
# reference.sh ROOT: the reference of the headers is made without a warning of Doxygen, and shows their equations.
set -uo pipefail
root=$(realpath "$1")
source "$root/tests/tools/common.sh"
if ! command -v doxygen >/dev/null; then
  echo "No tests ran: Doxygen is not here"
  exit 0
fi
"$root/tools/reference" "$work/reference" >log 2>&1
report "no warning" "$([ "$(cat log)" = "$work/reference/index.html" ] || show log)"
shows() {  # PAGE TEXT
  report "$1 shows '$2'" "$(grep -qF -- "$2" "reference/$1.html" || echo "it does not")"
}
shows classglim_1_1Linear 'y = x Wᵀ + b      x: (..., in)'
shows classglim_1_1MultiheadAttention 'head_i = attention(Q W_i^Q, K W_i^K, V W_i^V)'
shows classglim_1_1Adam 'θ ← θ - η m̂ / (√v̂ + ε)'
shows namespaceglim 'max(0, x)'
report "no equation begins with slashes" "$(grep -h '^///' reference/*.html | head -n 3)"
shows files 'glim.hpp'
summary
