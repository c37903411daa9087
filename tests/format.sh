#!/usr/bin/env bash
# Every source is as clang-format 14 lays it out; other versions would differ.
set -euo pipefail
cd "$1"
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "No tests ran: clang-format 14 is not here"
  exit 0
fi
mapfile -t files < <(find tensor autograd nn optim models tools tests -name '*.cpp' -o -name '*.hpp')
[ ${#files[@]} -gt 0 ]
bad=$(printf '%s\n' "${files[@]}" | xargs clang-format --dry-run 2>&1 | grep -oE '^[^: ]+:[0-9]+' | cut -d: -f1 | sort -u || true)
[ -z "$bad" ] || { sed 's/^/not formatted: /' <<<"$bad"; exit 1; }
echo "${#files[@]} files are formatted"
