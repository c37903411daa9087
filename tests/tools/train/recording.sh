#!/usr/bin/env bash
# recording.sh GLIM MAKE_IMAGES: glim train --record for every kind of model, and glim report. The
# weights are those of a run without it, bit for bit; a run that was stopped or killed and resumed leaves
# the same recording as one left alone; what cannot be recorded or reported is one line.
set -uo pipefail
glim=$(realpath "$1") make=$(realpath "$2")
source "$(dirname "$0")/../common.sh"
"$make" . || { echo "0 passed, 1 failed"; exit 1; }
for i in $(seq 40); do printf 'word%d is good\tyes\nword%d was bad\tno\n' $((i % 9)) $((i % 7)); done >labelled
for i in $(seq 60); do echo "a line of text number $((i % 11)) with words"; done >text
sizes=(--d-model 16 --layers 2 --progress none --schedule constant --batch-tokens 0 --batch-sentences 8)
attention=(--heads 2 --d-ff 24)
copy=(--task copy --examples 64 --dropout 0.2)

# NAME OPTIONS: without recording, with it and curvature, and with both stopped after 5 updates and resumed.
check() {
  local name=$1 problem=
  shift
  rm -rf plain one two
  "$glim" train "$@" --max-steps 11 --out plain >log 2>&1 || problem="plain: $(tail -1 log)"
  "$glim" train "$@" --max-steps 11 --record --record-every 2 --record-curvature --out one >log 2>&1 ||
    problem="record: $(tail -1 log)"
  "$glim" train "$@" --max-steps 5 --record --record-every 2 --record-curvature --out two >log 2>&1 ||
    problem="stop: $(tail -1 log)"
  "$glim" train --resume --max-steps 11 --progress none --out two >log 2>&1 ||
    problem="resume: $(tail -1 log)"
  [ "$(tensors plain/last.safetensors)" = "$(tensors one/last.safetensors)" ] ||
    problem="recording changes the weights"
  [ "$(grep -o '^{"step":[0-9]*' one/recording.jsonl | tr -dc '0-9\n' | tr '\n' ' ')" = "1 2 4 6 8 10 " ] ||
    problem="other steps: $(cut -c1-20 one/recording.jsonl)"
  cmp -s one/recording.jsonl two/recording.jsonl || problem="a resumed run records something else"
  [ ! -e plain/recording.jsonl ] || problem="recorded without being asked"
  report "$name" "$problem"
}
check transformer "${sizes[@]}" "${attention[@]}" "${copy[@]}"
check pre-norm "${sizes[@]}" "${attention[@]}" "${copy[@]}" --norm pre --positions rotary --accumulate 2 --epochs 4
check copying "${sizes[@]}" "${attention[@]}" "${copy[@]}" --copy --scheduled-sampling 0.5
check non-autoregressive --kind non-autoregressive "${sizes[@]}" "${attention[@]}" "${copy[@]}"
check rnn --kind rnn --d-embed 12 "${sizes[@]}" "${copy[@]}"
check conv --kind conv "${sizes[@]}" "${copy[@]}"
check gpt --kind gpt --task files --text text --block 16 "${sizes[@]}" "${attention[@]}" --dropout 0.2 --epochs 20
check bert --kind bert --task files --text text "${sizes[@]}" "${attention[@]}" --epochs 20
check classifier --kind classifier --task files --labelled labelled "${sizes[@]}" "${attention[@]}" --word-dropout 0.2
check vit --kind vit --images images.idx --labels labels.idx --patch 4 --d-model 16 --layers 2 --progress none \
  --schedule constant --batch-sentences 16 "${attention[@]}" --shift 0.5

# --- curvature ---
curved() { "$glim" train "${sizes[@]}" "${attention[@]}" "$@" >log 2>&1 || report "curvature: $*" "$(tail -1 log)"; }
small=("${copy[@]}" --norm pre --accumulate 2 --epochs 4 --max-steps 9)
rm -rf one four
curved "${small[@]}" --record --record-every 3 --record-curvature --out one
OMP_NUM_THREADS=4 curved "${small[@]}" --record --record-every 3 --record-curvature --out four
report "curvature has the same bits for any threads" "$(cmp one/recording.jsonl four/recording.jsonl 2>&1)"
report "curvature of a batch" "$(python3 -c '
import json
first, *records = [json.loads(line) for line in open("one/recording.jsonl")]
assert first["kinks"] == ["linear_relu"] or first["kinks"] == ["relu"], first["kinks"]
assert all(r["curvature"] > 0 for r in records), records
assert records[0]["threshold"] is None and all(abs(r["threshold"] - 38) < 1e-9 and r["step_curvature"] > 0 for r in records[1:]), records' 2>&1)"
curved "${copy[@]}" --optimizer sgd --rate 0.3 --epochs 4 --max-steps 9 --record --record-every 3 --record-curvature --out sgd
report "curvature for sgd" "$(python3 -c '
import json
for r in [json.loads(line) for line in open("sgd/recording.jsonl")][2:]:
    assert abs(r["step_curvature"] - r["rate"] * r["curvature"]) < 1e-4 * r["step_curvature"], r' 2>&1)"
"$glim" report one --out curved.html --svg curvature >log 2>&1
report "curvature in a report" "$(grep -q 'curvature leaves out the kinks' curved.html && grep -q '"threshold":38' curved.html && [ -s curvature.svg ] || show log)"
refuse "curvature of rounded products" 'record-curvature: needs --matmul-precision highest' "$glim" train "${sizes[@]}" "${attention[@]}" \
  "${copy[@]}" --record --record-curvature --matmul-precision medium --out fresh
refuse "curvature without recording" 'record-curvature.*--record' "$glim" train "${copy[@]}" --record-curvature --out fresh

# --- killed at a random moment, as often as it takes ---
train=(train "${sizes[@]}" "${attention[@]}" "${copy[@]}" --epochs 12 --save-every 2 --record --record-every 3)
start=$(date +%s%N)
"$glim" "${train[@]}" --out alone >log 2>&1
took=$(( ($(date +%s%N) - start) / 1000 )) kills=0
for run in 1 2 3 4; do
  problem= attempts=0
  rm -rf killed
  while :; do
    resume=()
    [ -e killed/last.safetensors ] && resume=(--resume)
    [ ${#resume[@]} -gt 0 ] || rm -rf killed
    "$glim" "${train[@]}" "${resume[@]}" --out killed >/dev/null 2>err &
    pid=$!
    if ((attempts < 3)); then
      sleep "$(awk -v t="$took" -v r="$RANDOM" 'BEGIN { printf "%.4f", t * r / 32768 / 1e6 }')"
      kill -9 "$pid" 2>/dev/null
    fi
    wait "$pid" 2>/dev/null
    status=$? attempts=$((attempts + 1))
    [ "$status" = 137 ] && kills=$((kills + 1)) && continue  # the kill may have come too late
    [ "$status" = 0 ] || problem=$(cat err)
    break
  done
  cmp -s alone/recording.jsonl killed/recording.jsonl || problem="the recording differs"
  report "killed $run" "$problem"
done
report "some were killed" "$([ "$kills" -gt 0 ] || echo none)"

# --- what is refused ---
refuse_training() { refuse "$1" "$2" "$glim" train "${sizes[@]}" "${attention[@]}" "${copy[@]}" "${@:3}"; }
mkdir -p full && ln -s /dev/full full/recording.jsonl
refuse_training "a full disk" 'recording\.jsonl: cannot write: No space left' --record --out full
mkdir -p taken/recording.jsonl
refuse_training "a folder in its place" 'recording\.jsonl: cannot write' --record --out taken
refuse_training "an interval below 0" 'record-every' --record --record-every -1 --out fresh
refuse_training "an interval without recording" 'record-every.*--record' --record-every 7 --out fresh
refuse_training "a recording beyond its limit" 'record.*MB.*--record-every [0-9]+' --record --record-every 1 \
  --epochs 1000000 --out fresh
refuse_training "another interval at resume" 'record-every: cannot change' --resume --record --record-every 9 --out alone
cp -r one again && "$glim" train "${sizes[@]}" "${attention[@]}" "${copy[@]}" --max-steps 2 --overwrite --out again >log 2>&1
report "a new run does not keep an older one's recording" "$([ ! -e again/recording.jsonl ] || echo kept)"
"$glim" compare --kinds rnn,conv --d-embed 12 --d-model 16 --layers 1 --max-steps 4 --task copy --examples 64 --batch-sentences 8 \
  --schedule constant --record --record-every 2 --out both >log 2>&1
report "glim compare records, too" "$(wc -l both/{rnn,conv}/recording.jsonl 2>&1 | grep -q '^ *8 total' || show log)"

# --- glim report ---
"$glim" train "${sizes[@]}" "${attention[@]}" "${copy[@]}" --rate 1e30 --record --record-every 1 --out hot >log 2>&1
report "a run that cannot go on says why" "$(tail -1 hot/recording.jsonl | grep -q '"stopped":".*not finite' || show hot/recording.jsonl)"
"$glim" report hot one alone --svg '*/entropy' loss >log 2>&1 || report "a report" "$(cat log)"
report "its events" "$(grep -q '^  not-finite: step [0-9]*: the run stopped' log || show log)"
"$glim" report one alone --out pages --csv losses.csv --svg loss >log 2>&1
report "a folder of the page" "$(ls pages/report.html pages/loss.svg 2>&1 >/dev/null)"
report "the losses as a table" "$(python3 -c '
import csv, json
rows = list(csv.DictReader(open("losses.csv")))
lines = [json.loads(line) for run in ("one", "alone") for line in open(run + "/metrics.jsonl")]
assert len(rows) == len(lines) and {row["run"] for row in rows} == {"one", "alone"}
assert sorted(float(row["nll"]) for row in rows) == sorted(line["nll"] for line in lines)
assert all(line["seconds"] > 0 for line in lines if line["type"] == "train")' 2>&1)"
refuse "a table that exists" 'losses\.csv: exists already' "$glim" report one --out other --csv losses.csv
report "its files" "$(ls report.html hot-entropy.svg one-entropy.svg alone-entropy.svg loss.svg 2>&1 >/dev/null)"
cp -r one vision
"$glim" train --kind rnn --d-embed 12 "${sizes[@]}" "${copy[@]}" --max-steps 11 --record --record-every 2 --out rnn >log 2>&1
"$glim" report vision rnn alone --out kinds.html >log 2>&1 || report "runs of several kinds" "$(cat log)"
report "runs of several kinds" "$(grep -c '^vision\|^rnn\|^alone' log | grep -vx 3)"
refuse_report() { refuse "report: $1" "$2" "$glim" report "${@:3}"; }
before=$(sha256sum report.html)
refuse_report "a page that exists" 'report\.html: exists already: --overwrite' one
report "report: it is as it was" "$([ "$(sha256sum report.html)" = "$before" ] || echo changed)"
"$glim" train --task copy --examples 1 --layers 1 --d-model 4 --heads 1 --d-ff 4 --batch-sentences 1 --epochs 1000 --out long >log 2>&1
report "a long run says what --record gives" "$(grep -q '^note: --record would keep' log || tail -n 3 log
  "$glim" train "${sizes[@]}" "${attention[@]}" "${copy[@]}" --max-steps 2 --out short 2>&1 | grep 'note: --record')"
report "report: a run that was not recorded" "$("$glim" report plain --out plain.html >out 2>&1
  grep -q '^plain: [1-9].* log line' out && grep -q 'not recorded: .*glim train --record' out && [ -s plain.html ] || show out)"
refuse_report "an unknown folder" 'aloen.*nearest: alone' aloen --out new.html
refuse_report "a run twice" 'twice' one ./one/ --out new.html
refuse_report "a page beyond its limit" 'max-mb' one --max-mb 0.1 --out new.html
refuse_report "an unknown picture" 'nearest: loss' alone --svg los --out new.html
refuse_report "a picture that exists" 'loss\.svg: exists' alone --svg loss --out new.html
refuse_report "a folder that is not there" 'nowhere/new\.html' one --out nowhere/new.html
mkdir -p broken && head -3 one/recording.jsonl | sed '2s/"rms":\[[^,]*,/"rms":[/' >broken/recording.jsonl
refuse_report "damage" 'broken/recording\.jsonl: line 2: rms has' broken --out new.html
report "report: nothing is left of what was refused" "$(ls new.html 2>/dev/null)"
head -c -20 one/recording.jsonl >broken/recording.jsonl
report "report: a line cut short" "$("$glim" report broken --out cut.html >out 2>&1; grep -q 'cut short' out || show out)"
summary
