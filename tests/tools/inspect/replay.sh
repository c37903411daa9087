#!/usr/bin/env bash
# replay.sh GLIM MAKE_IMAGES: `glim inspect --run DIR --step N` makes a step of a recorded run again, with the recorded loss bit
# for bit, whichever checkpoint it begins from; the report names the command; what cannot be replayed is one line.
set -uo pipefail
glim=$(realpath "$1") make_images=$(realpath "$2")
source "$(dirname "$(realpath "$0")")/../common.sh"
sizes=(--layers 1 --d-model 16 --heads 2 --d-ff 24 --progress none --batch-tokens 0 --batch-sentences 8)
paste -d '\t' <(printf '%s\n' "a b c" "b c d" "c d e" "d e f" "e f a" "f a b" "a c e" "b d f" "c e a" "d f b") \
  <(printf '%s\n' "A B C" "B C D" "C D E" "D E F" "E F A" "F A B" "A C E" "B D F" "C E A" "D F B") >pairs.tsv
train() { "$glim" train "${sizes[@]}" --task files --pairs pairs.tsv --dropout 0.2 --record --record-every 3 "$@" >log 2>&1; }
look() { "$glim" inspect --attribution-steps 0 --no-tensors --overwrite "$@" >out 2>err || cat err >>out; }

train --epochs 20 --accumulate 2 --out run || report "trains" "$(tail -1 log)"
report "checkpoints to return to" "$([ "$(ls run | grep -c '^step-')" -ge 10 ] || ls run)"
for step in 1 3 12 18; do
  look --run run --step $step
  report "step $step" "$(grep -q "^step $step of run, .*bit for bit the recorded one" out || show out)"
done
report "the sentences of the batch" "$(grep -c '^  [0-9.e-]*  "' out | grep -vx 3)"
look --model inspect/step-18.safetensors --sentence "a b c" --translation "A B C"
report "the model before it can be looked at" "$(grep -q '"a b c"' out || show out)"
rm run/step-[1-9]*
tensors inspect/step-18.safetensors >near
look --run run --step 18
other=$(sed -n '4s/^[^"]*"\([^"]*\)" -> .*/\1/p' out)
look --run run --step 18 --sentence "$other"
report "from the beginning" "$(grep -q "made again from step 0: .*bit for bit" out && grep -q "^transformer.*\"$other\"" out || show out)"
report "of a sentence of the batch, with its translation" "$(grep -q "the model's own" out && cat out)"
report "is the same model" "$(tensors inspect/step-18.safetensors | cmp - near)"

# A step that cannot be made, and the report's command for it.
train --epochs 20 --rate 1e30 --schedule constant --out lost && report "is lost" "it is not"
look --run lost --step 2
report "a step that is not finite" "$(grep -q "^step 2 of lost, .*loss nan" out || show out)"
"$glim" report run lost --out report.html >out 2>err
report "the report's command" "$(grep -q 'glim inspect --run lost --step 2"' report.html || echo none)"
cp -r lost "it's lost"
"$glim" report "it's lost" --out quoted.html >out 2>err
report "a folder's name in quotes" "$(grep -qF "glim inspect --run 'it'\\\\''s lost' --step 2" quoted.html || grep -o 'glim inspect --run[^}]*' quoted.html | head -1)"

refuse "a step never reached" "--step: the run in run has the steps 1 to 20" "$glim" inspect --run run --step 21 --out no
refuse "no step" "--run: needs --step N" "$glim" inspect --run run --out no
refuse "no run" "--step: .*Give --run FOLDER" "$glim" inspect --step 2 --out no
refuse "no such folder" "nowhere: there is no such folder" "$glim" inspect --run nowhere --step 2 --out no
refuse "a model beside" "--model: " "$glim" inspect --run run --step 2 --model run --out no
echo "a b c	A" >>pairs.tsv
refuse "other data" "--run: the training data are no longer those of the run in run" "$glim" inspect --run run --step 2 --out no
rm pairs.tsv
refuse "data that are gone" "pairs.tsv" "$glim" inspect --run run --step 2 --out no
"$glim" train "${sizes[@]}" --task copy --examples 20 --epochs 1 --out plain >log 2>&1
refuse "no recording" "plain: holds no " "$glim" inspect --run plain --step 1 --out no

# Every other kind: bit for bit, with what the step drew of the data, and the inspection reads the sample as it was.
"$make_images" . >log
for i in $(seq 40); do echo "a line of text number $i"; done >text
for i in 1 2 3 4 5 6 7 8; do printf 'a good day number %s\tyes\nno bad day\tno\n' "$i"; done >labelled
printf 'a b c\tA B C\nb c d\tB C D\nc d e\tC D E\nd e f\tD E F\n' >pairs.tsv
every=(--layers 1 --d-model 16 --progress none --dropout 0.2 --accumulate 2 --record --record-every 3 --max-steps 18
  --schedule constant)
kind() {  # NAME WANTED WORDS...: a run of this kind; WANTED is what the sample looks like
  local name=$1 wanted=$2 problem=
  shift 2
  "$glim" train --kind "$name" "${every[@]}" --out "run-$name" "$@" >log 2>&1 || problem=$(tail -1 log)
  look --run "run-$name" --step 12
  grep -q "^step 12 of run-$name, .*bit for bit the recorded one" out || problem="$(head -1 out)"
  [ "$(sed -n '/^the largest/,/^inspect/p' out | grep -Ec "^  [0-9.e-]+  $wanted")" = 3 ] || problem="samples: $(cat out)"
  ! grep -q "its loss in the step" out || problem="another sample: $(cat out)"
  grep -q "inspect.html: open it" out || problem="no page: $(cat out)"
  tensors inspect/step-12.safetensors >near
  rm "run-$name"/step-[1-9]*
  look --run "run-$name" --step 12
  grep -q "made again from step 0: .*bit for bit" out || problem="from the beginning: $(head -1 out)"
  tensors inspect/step-12.safetensors | cmp -s - near || problem="another model"
  report "$name" "$problem"
}
kind gpt '".*"$' --heads 2 --text text --task files --block 8 --batch-sentences 8 --batch-tokens 0
report "a text of several lines" "$(grep -q '↵' out || show out)"
kind bert '".*", hidden: [0-9]+(=[a-z0-9]+)?( |$)' --heads 2 --text text --task files --batch-sentences 8 --batch-tokens 0
kind classifier '".*day.*" -> "(yes|no)"$' --heads 2 --labelled labelled --word-dropout 0.2 --batch-sentences 4 --batch-tokens 0
look --run run-classifier --step 12 --sentence "no bad day"
report "a named sentence" "$(grep -q '^classifier.*"no bad day" -> "no"$' out || show out)"
kind vit 'images.idx:[0-9]+ -> "[0-9]"$' --heads 2 --images images.idx --labels labels.idx --patch 4 --batch-sentences 8 --shift 0.5
look --run run-vit --step 12 --label 3
report "of another class" "$(grep -q '^vit.*images.idx:[0-9]*" -> "3"$' out || show out)"
pairs=(--task files --pairs pairs.tsv --batch-sentences 2 --batch-tokens 0 --epochs 20)
kind rnn '".*" -> ".*"$' "${pairs[@]}" --d-embed 12
kind conv '".*" -> ".*"$' "${pairs[@]}"
kind non-autoregressive '".*" -> ".*"$' "${pairs[@]}" --heads 2
mv text lines
refuse "a text that is gone" "text" "$glim" inspect --run run-gpt --step 1 --out no
mv images.idx pixels.idx
refuse "images that are gone" "images.idx" "$glim" inspect --run run-vit --step 1 --out no
refuse "a step that a gpt never reached" "--step: the run in run-gpt has the steps 1 to 18" \
  "$glim" inspect --run run-gpt --step 19 --out no
report "nothing was written" "$([ ! -e no ] || ls no)"
summary
