#!/usr/bin/env bash
# Every source lies as clang-format 14 lays it out; other versions would differ.
set -euo pipefail
cd "$1"
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "No tests ran: clang-format 14 is not here"
  exit 0
fi
good=0 bad=0
while IFS= read -r -d '' file; do
  if clang-format --dry-run -Werror "$file" >/dev/null 2>&1; then
    good=$((good + 1))
  else
    bad=$((bad + 1))
    echo "not formatted: $file"
  fi
done < <(find tensor autograd nn optim models tools tests \( -name '*.cpp' -o -name '*.hpp' \) -print0)
echo "$good files are formatted, $bad are not"
[ "$bad" = 0 ] && [ "$good" -gt 0 ]
