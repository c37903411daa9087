# What the scripts below this folder share: a scratch folder, which is entered and removed at the end, counted
# reports, and refusals. Sourced; the caller has `set -uo pipefail` and reads its arguments before.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
passed=0 failed=0

report() {  # NAME PROBLEM: passed if there is none
  if [ -z "$2" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1: $2"; fi
}
# refuse NAME PATTERN COMMAND...: the command ends with a status of its own, says one line that begins
# with "glim: error: " and matches the pattern, and leaves no half-written file. Standard input is the
# caller's; out and err are kept.
refuse() {
  local name=$1 pattern=$2 status=0 problem=
  shift 2
  local limit=(timeout 600)
  [ "$(type -t "$1")" != function ] || limit=()
  "${limit[@]}" "$@" >out 2>err || status=$?
  grep '^glim: error: ' err >complaint
  if [ "$status" = 0 ]; then problem="status 0"
  elif [ "$status" -ge 124 ]; then problem="status $status: crashed or hung: $(tail -1 err)"
  elif [ "$(wc -l <complaint)" != 1 ] || [ "$(wc -l <err)" != 1 ]; then problem="not one line: $(cat err)"
  elif ! grep -Eq -- "$pattern" complaint; then problem="no /$pattern/ in: $(cat complaint)"
  elif [ -n "$(find . -name '*.tmp.*')" ]; then problem="left $(find . -name '*.tmp.*')"
  fi
  report "$name" "$problem"
}
# The last line of a script, and its status.
summary() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
