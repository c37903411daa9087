#!/usr/bin/env bash
# planted.sh GRAPHS: an op with a wrong gradient is found, and named in a program of at most five ops.
set -uo pipefail
found=$("$1" --plant --graphs 60)
[ $? = 1 ] || { echo "$found"; echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0
while read -r steps; do
  if [ "$steps" -le 5 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done < <(sed -n 's/^graph .*, \([0-9]*\) steps of .*/\1/p' <<<"$found")
programs=$(grep -c '^Tape tape' <<<"$found") named=$(grep -c 'wrong_tanh' <<<"$found")
[ "$passed" -ge 10 ] && [ "$named" -ge "$programs" ] || { echo "$found"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
