#!/usr/bin/env bash
# streams.sh GLIM: one bad line of many does not end the others, and a reader that goes away, as `head` does,
# keeps no verb from writing its files.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
small=(--layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 2 --progress none)
"$glim" train --task copy --examples 40 --max-length 12 "${small[@]}" --average 2 --out model >log 2>&1 || { cat log; exit 1; }

# --- one bad line of many ---
long=$(seq -s ' ' 40)
printf '3 4 5\n5 \xff 6\n7 8\n%s\n9\n' "$long" >mixed
printf '3 4 5\n\n7 8\n\n9\n' >good
# goes_on NAME ARGS...: `mixed` is translated as `good` is, and its lines 2 and 4 are reported.
goes_on() {
  local name=$1 status=0 problem=
  shift
  "$glim" translate --model model "$@" <good >expected 2>&1
  "$glim" translate --model model "$@" <mixed >out 2>err || status=$?
  [ "$status" = 1 ] || problem="status $status"
  cmp -s out expected || problem="$problem $(diff out expected)"
  [ "$(wc -l <err)" = 2 ] && grep -q '^glim: error: standard input:2: invalid UTF-8' err &&
    grep -q '^glim: error: standard input:4: .*--truncate' err || problem="$problem $(cat err)"
  report "$name" "$problem"
}
goes_on "bad lines among good ones"
goes_on "in a batch" --batch-sentences 3
goes_on "with several translations" --nbest 2
goes_on "and alignments" --alignments
"$glim" translate --model model --json <mixed >out 2>err
report "as JSON, the error is in its line" "$([ $? = 1 ] &&
  [ "$(grep -o '"line":[0-9]*\|"error":"[0-9a-z]*' out | tr -d '\n')" = \
    '"line":1"line":2"error":"invalid"line":3"line":4"error":"40"line":5' ] || show out err)"

# --- standard input that cannot be read ---
reads_folder() { "$glim" "$@" </; }
reads_nothing() { "$glim" "$@" <&-; }
printf 'a b c\tgood\nd e f\tbad\na b\tgood\ne f\tbad\n' >labelled
printf 'a\tA\nb\tB\n\na\tA\nb\tB\n\na\tA\n\nb\tB\n' >tagged
for kind in classifier tagger; do
  file=labelled
  [ $kind = classifier ] || file=tagged
  "$glim" train --kind $kind --labelled $file "${small[@]}" --out $kind >log 2>&1 || { cat log; exit 1; }
done
verbs=("translate --model model" "classify --model classifier" "classify --model tagger")
"$glim" step --help >/dev/null 2>&1 && verbs+=("step --model model")
for verb in "${verbs[@]}"; do
  refuse "$verb reads a folder" 'standard input: cannot be read: Is a directory' reads_folder $verb
  refuse "$verb reads what is closed" 'standard input: cannot be read: Bad file descriptor' reads_nothing $verb
done
refuse "train reads a folder" 'standard input: Is a directory' reads_folder train --source - --target good --out none

# --- progress that cannot be written ---
"$glim" compare --kinds rnn,conv --task copy --examples 40 --d-model 16 --heads 2 --epochs 1 --out unseen >log 2>/dev/full
report "a full standard error ends no run" "$([ $? = 0 ] && [ -s unseen/conv/last.safetensors ] || show log)"

# --- a reader that goes away ---
gone() {  # NAME FILES COMMAND...: without a reader the command ends well, and the files are there
  local name=$1 files=$2 status=0
  shift 2
  exec 3> >(:)
  wait $!
  "$@" >&3 2>err || status=$?
  exec 3>&-
  report "$name" "$([ "$status" = 0 ] || echo "status $status: $(cat err)"
    for f in $files; do [ -s "$f" ] || echo "$f is missing"; done)"
}
gone "train" "gone/last.safetensors gone/recording.jsonl" "$glim" train --task copy --examples 40 "${small[@]}" --record --out gone
gone "compare" "both/rnn/last.safetensors both/conv/last.safetensors" "$glim" compare --kinds rnn,conv --task copy \
  --examples 40 --d-model 16 --heads 2 --epochs 1 --out both
gone "average" mean.safetensors "$glim" average model/last.safetensors --out mean.safetensors
gone "evaluate" found.txt "$glim" evaluate --model model --out found.txt
if "$glim" inspect --help >/dev/null 2>&1; then
  gone "inspect" "page/inspect.html page/inspect.json page/inspect.safetensors" "$glim" inspect --model model --data --out page
  gone "report" "runs.html loss.svg" "$glim" report gone --out runs.html --svg loss
  gone "study" "found/warm-up.json found/entropy.json" "$glim" study warm-up entropy --quick --seeds 1 --out found
  printf 'continue\nexport gradients.safetensors\n' >script
  gone "step" gradients.safetensors "$glim" step --model model <script
fi
gone "a verb without files" "" "$glim" gradcheck --only relu --json

# --- a run's folder ---
"$glim" average model --out all.safetensors >out 2>err
report "the mean of a run's epochs" "$(grep -q '^the mean of 2 checkpoints is in all.safetensors' out || show out err)"
"$glim" average model/epoch-1.safetensors model/epoch-2.safetensors --out two.safetensors >out 2>err
report "is that of its files" "$([ "$(tensors all.safetensors)" = "$(tensors two.safetensors)" ] || show out err)"
"$glim" average model/epoch-1.safetensors --out one.safetensors >out 2>err
report "one is one checkpoint" "$(grep -q '^the mean of 1 checkpoint is in' out || show out err)"
refuse "a run without epochs to average" 'gone: .*--average' "$glim" average gone --out none.safetensors
refuse "no such run" 'nothere: ' "$glim" average nothere --out none.safetensors
summary
