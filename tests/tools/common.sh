# Shared by the scripts below this folder: a scratch folder, which is entered and removed at the end, counted
# reports, and refusals. Sourced; the caller has `set -uo pipefail` and reads its arguments before.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
passed=0 failed=0

report() {  # NAME PROBLEM: passed if there is none
  if [ -z "$2" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1: $2"; fi
}
# wait_until COMMAND...: until it succeeds; fails after ten minutes, which is a hang.
wait_until() {
  local i
  for ((i = 0; i < 6000; ++i)); do
    "$@" && return
    sleep 0.1
  done
  return 1
}
half_written() { find . -name '*.tmp.*'; }
# The text of a report on a failure, also where the files are empty: ... || show log err
show() { echo "found in $*:"; tail -n 20 "$@" 2>&1; }
# refuse NAME PATTERN COMMAND...: the command ends with a status of its own, says one line that begins
# with "glim: error: " and matches the pattern, and leaves no half-written file. Standard input is the
# caller's; out and err are kept.
refuse() {
  local name=$1 pattern=$2 status=0 problem= before=
  shift 2
  before=$(half_written)
  local limit=(timeout 600)
  [ "$(type -t "$1")" != function ] || limit=()
  "${limit[@]}" "$@" >out 2>err || status=$?
  grep '^glim: error: ' err >complaint
  if [ "$status" = 0 ]; then problem="status 0"
  elif [ "$status" -ge 124 ]; then problem="status $status: crashed or hung: $(tail -1 err)"
  elif [ "$(wc -l <complaint)" != 1 ] || [ "$(wc -l <err)" != 1 ]; then problem="not one line: $(cat err)"
  elif ! grep -Eq -- "$pattern" complaint; then problem="no /$pattern/ in: $(cat complaint)"
  elif [ "$(half_written)" != "$before" ]; then problem="left $(half_written)"
  fi
  report "$name" "$problem"
}
# translates NAME COMMAND...: the command trains a model into NAME, which then translates `lines` and is
# measured. The third line is empty, and so is its translation.
translates() {
  local name=$1 problem=
  shift
  printf '3 4 5 3 6\n7\n\n8 9 3\n' >lines
  "$@" --out "$name" >log 2>&1 || problem="train: $(tail -1 log)"
  "$glim" translate --model "$name" --beam 3 <lines >found 2>err || problem="translate: $(cat err)"
  [ "$(wc -l <found)" = 4 ] && [ -z "$(sed -n 3p found)" ] || problem="translate: $(cat found)"
  "$glim" evaluate --model "$name" --source lines --target lines >log 2>&1
  grep -q BLEU log || problem="evaluate: $(tail -1 log)"
  report "$name" "$problem"
}
# resumes COMMAND...: four epochs at once end in the same bits as four with a stop after three updates.
resumes() {
  mkdir one two
  (cd one && "$@" --epochs 4 --dropout 0.3 --out model >log 2>&1)
  (cd two && "$@" --epochs 4 --dropout 0.3 --max-steps 3 --out model >log 2>&1 &&
    "$glim" train --resume --max-steps 0 --progress none --out model >log 2>&1)
  report "a resumed run ends in the same bits" \
    "$([ "$(tensors one/model/last.safetensors)" = "$(tensors two/model/last.safetensors)" ] || show two/log)"
}
# tensors CHECKPOINT: their hash, without the header, which says with which --max-steps a run was started.
tensors() { tail -c +$(($(od -An -t u8 -N 8 "$1") + 9)) "$1" | sha256sum; }
# unchecked CHECKPOINT: as written before there were checksums.
unchecked() { sed 's/"glim_checksum"/"none_is_there"/' "$1"; }
# forge NAME PATTERN FROM TO: where the description in the checkpoint $genuine says TO instead of FROM, of the
# same length, and it has no checksum, `glim ${reads[*]}` refuses it as bad.safetensors.
forge() {
  unchecked "$genuine" | sed "s/$3/$4/" >bad.safetensors
  cmp -s <(unchecked "$genuine") bad.safetensors && report "$1" "nothing was changed"
  refuse "$1" "$2" "$glim" "${reads[@]}"
}
# The last line of a script, and its status.
summary() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
