#!/usr/bin/env bash
# variants.sh GLIM: outputs at once, copying, distillation, guided attention and scheduled sampling
# through the verbs: each trains, resumes to the bit, translates and is measured; glim compare puts
# the kinds side by side.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
sizes=(--layers 1 --d-model 16 --progress none --schedule constant)
attention=(--heads 2 --d-ff 24)

# NAME OPTIONS: the same run stopped after 3 updates and taken up again, and its translations.
printf '3 4 5 3 6\n7\n\n8 9 3\n' >lines
check() {
  local name=$1 problem=
  shift
  rm -rf one two
  mkdir one two
  (cd one && "$glim" train "$@" --epochs 2 --dropout 0.2 --out model >log 2>&1) ||
    problem="train: $(tail -1 one/log)"
  (cd two && "$glim" train "$@" --epochs 2 --dropout 0.2 --max-steps 3 --out model >log 2>&1 &&
    "$glim" train --resume --max-steps 0 --progress none --out model >log 2>&1) ||
    problem="resume: $(tail -1 two/log)"
  [ "$(tensors one/model/last.safetensors)" = "$(tensors two/model/last.safetensors)" ] ||
    problem="a resumed run ends in other bits: $(tail -1 two/log)"
  for way in "--beam 1" "--beam 3 --nbest 2" "--beam 1 --alignments --batch-sentences 4"; do
    "$glim" translate --model one/model $way <lines >found 2>err || problem="translate $way: $(cat err)"
  done
  [ "$(wc -l <found)" = 4 ] || problem="translate: $(cat found)"
  "$glim" evaluate --model one/model --source lines --target lines >log 2>&1
  grep -q BLEU log || problem="evaluate: $(tail -1 log)"
  report "$name" "$problem"
}
task=(--task copy --examples 200 --max-length 20)
for length in predict long; do
  check "outputs at once, $length" "${task[@]}" "${sizes[@]}" "${attention[@]}" \
    --kind non-autoregressive --length $length
done
check "guided attention and scheduled sampling" "${task[@]}" "${sizes[@]}" "${attention[@]}" \
  --guided-attention 1 --scheduled-sampling 0.5 --sampling-steps 4 --sampling-schedule inverse-sigmoid
check "a recurrent model, guided" "${task[@]}" "${sizes[@]}" --kind rnn --d-embed 8 \
  --guided-attention 1 --scheduled-sampling 0.5 --sampling-schedule constant
check "copying" "${task[@]}" "${sizes[@]}" "${attention[@]}" --copy --min-frequency 60
check "copying, recurrent, sampled" "${task[@]}" "${sizes[@]}" --kind rnn --d-embed 8 --copy \
  --min-frequency 60 --scheduled-sampling 0.5

# --- a word that was never seen comes out ---
for i in $(seq 1 400); do echo "a$((RANDOM)) b c$((RANDOM)) d"; done >names.src
sed 's/\([^ ]*\) b \([^ ]*\) d/x \2 y \1/' names.src >names.tgt
"$glim" train --source names.src --target names.tgt --copy --min-frequency 5 --label-smoothing 0 \
  --layers 1 --d-model 32 --heads 2 --d-ff 64 --norm pre --schedule constant --rate 3e-3 --epochs 40 \
  --batch-tokens 0 --batch-sentences 20 --progress none --out names >log 2>&1
said=$(echo "Ada b Grace d" | "$glim" translate --model names --beam 2 2>&1)
report "copies words that it never saw" "$([ "$said" = "x Grace y Ada" ] || echo "$said")"

# --- distillation ---
"$glim" train "${task[@]}" "${sizes[@]}" "${attention[@]}" --epochs 1 --out teacher >log 2>&1
student=(train "${task[@]}" "${sizes[@]}" "${attention[@]}" --kind non-autoregressive --teacher teacher
  --teacher-beam 1 --out student)
"$glim" "${student[@]}" --epochs 1 >log 2>&1
report "the teacher's translations are kept" "$([ "$(wc -l <student/distilled.txt)" = 200 ] || show log)"
report "and said to be" "$(grep -q 'targets: translations by teacher' log || show log)"
mv teacher gone
"$glim" train --resume --epochs 2 --progress none --out student >log 2>&1
report "a resumed run needs no teacher" "$(grep -q 'kept in' log || show log)"

# --- the kinds side by side ---
"$glim" compare --task copy --examples 120 --layers 1 --d-model 16 --heads 2 --d-ff 24 --d-embed 8 \
  --schedule constant --epochs 1 --batch-sentences 20 --table table.md --out side >log 2>err
report "a row for each kind" "$([ "$(grep -c '^| ' table.md 2>/dev/null)" -ge 5 ] || show err)"
report "the table is what is printed" "$(grep -q '^| rnn |.*| n |' log || show log)"
"$glim" compare --kinds rnn --max-steps 1 --d-model 8 --d-embed 8 --beam 1 --timed 1 --out usual >log 2>err
report "the phrasebook unless another task is named" "$(grep -q '^phrasebook, ' log || show err)"
"$glim" compare --models side/rnn,side/non-autoregressive --timed 5 >log 2>err
report "trained models side by side" "$(grep -q '^| non-autoregressive |.*| 1 |' log || show err)"
for i in {1..40}; do printf '%d %d\tA%d B%d\n' $((i % 5)) $((i % 7)) $((i % 5)) $((i % 7)); done >own.tsv
tables=("$glim" compare --pairs own.tsv --kinds transformer,rnn --max-steps 2 --d-model 8 --d-embed 8 --beam 1 --timed 1)
"${tables[@]}" --out held >log 2>err
report "tables: what is held out is the test" "$(grep -q '^own.tsv, .* 4 test pairs;' log || show log err)"
"${tables[@]}" --test-pairs own.tsv --out tested >log 2>err
report "or a table" "$(grep -q '^own.tsv, .* 40 test pairs;' log || show log err)"
refuse "or nothing" '--test-source: is needed, with --test-target, or --test-pairs: ' "${tables[@]}" --valid-share 0 --out none
refuse "not both" '--test-pairs: has both sides' "${tables[@]}" --test-pairs own.tsv --test-source own.tsv --out none
"$glim" compare --task copy --kinds rnn --out side >log 2>err
report "a comparison is not overwritten" "$(grep -q 'side/rnn.*holds a model' err || show err)"

summary
