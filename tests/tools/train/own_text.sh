#!/usr/bin/env bash
# own_text.sh GLIM: what a newcomer types on small texts of their own ends in a model that has learned, or in a line
# that says it has not. A share is held out unless other data are named; what is too small to hold out from, to learn
# subwords from, or to tell classes apart is one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
train=("$glim" train --progress none)
says() {  # NAME PATTERN: in the log of that run
  report "$1: $2" "$(grep -Eq -- "$2" "$1.log" || show "$1.log")"
}
silent() { report "$1 does not say $2" "$(grep -E -- "$2" "$1.log")"; }
run() {  # NAME ARGS...
  local name=$1
  shift
  "${train[@]}" "$@" --out "$name" >"$name.log" 2>&1 || cat "$name.log"
}

# 250 pairs of a small language: who does what to whom, in another order and with an ending.
awk 'BEGIN {
  srand(1)
  split("the|a|my|your", d, "|"); split("die|eine|meine|deine", D, "|")
  split("cat|dog|bird|man|woman|child|horse|fish", n, "|"); split("Katze|Hündin|Amsel|Mannfrau|Frau|Kleine|Stute|Forelle", N, "|")
  split("sees|hears|likes|finds|seeks", v, "|"); split("sieht|hört|mag|findet|sucht", V, "|")
  split("|today|often|never", t, "|"); split("|heute|oft|nie", T, "|")
  for (i = 0; i < 250; ++i) {
    a = 1 + int(4 * rand()); b = 1 + int(8 * rand()); c = 1 + int(5 * rand())
    e = 1 + int(4 * rand()); f = 1 + int(8 * rand()); g = 1 + int(4 * rand())
    print d[a], n[b], v[c], d[e], n[f] (t[g] ? " " t[g] : "") >"mine.en"
    print (T[g] ? T[g] " " : "") D[a], N[b], D[e], N[f], V[c] >"mine.de"
  }
}'

# --- the command of the README and of own_data.md ---
run translator --source mine.en --target mine.de
says translator 'held out to validate on: 25 of 250 pairs, drawn with --seed \(lines [0-9]+, [0-9]+, [0-9]+, …\)'
says translator '^on held-out data: KL'
says translator '^BLEU [0-9.]+ on 25 held-out sentences, of which [0-9]+ equal theirs$'
silent translator 'not learned|stopped:'
"$glim" translate --model translator <mine.en >said 2>log
report "as many lines as sentences, none empty" "$([ "$(grep -c . said)" = 250 ] || show said log)"
report "sentences differ" "$([ "$(sort -u said | wc -l)" -gt 100 ] || sort -u said | head)"
right=$(paste -d '\t' said mine.de | awk -F '\t' '$1 == $2' | wc -l)
report "most are right" "$([ "$right" -gt 125 ] || echo "$right of 250")"

# --- what has not learned says so ---
run still --source mine.en --target mine.de --max-steps 2 --rate 1e-6
says still '^not learned: .*; try more updates than 2 \(--max-steps 2000\), or a higher --rate than [0-9.e-]+ \(1e-03\)$'
report "in one line" "$([ "$(grep -c 'not learned' still.log)" = 1 ] || show still.log)"
small=(--layers 1 --d-model 16 --heads 2 --d-ff 32)
run burnt --source mine.en --target mine.de "${small[@]}" --rate 10 --schedule constant --epochs 4
says burnt '^not learned: .* a lower --rate than 10 \(1e-03\)$'
sed 's/.*/&\t&/; s/\t.* \(sees\|hears\|likes\) .*/\tA/; s/\t.* .*/\tB/' mine.en >labels.tsv
run judge --kind classifier --labelled labels.tsv --epochs 40
silent judge 'not learned'
if "$glim" inspect --help >/dev/null 2>&1; then
  "$glim" inspect --model judge --sentence "the cat sees" --out look >out 2>err
  report "a class has no source and target" "$(grep -q 'contributes most to this label: ' out || show out err)"
fi
echo "good xyzzy" | "$glim" classify --model judge >out 2>err
report "classify says which word is unknown" "$(grep -q 'standard input:1: unknown to the model: .*xyzzy' err || show err)"
run unjust --kind classifier --labelled labels.tsv --max-steps 1 --rate 1e-6
says unjust '^not learned: the training loss of [0-9.]+ is not clearly below 0\.6'
run prose --kind gpt --text mine.en --max-steps 150
silent prose 'not learned'
run quiet --kind gpt --text mine.en "${small[@]}" --max-steps 1 --rate 1e-6 --quiet
report "a verdict is said in spite of --quiet" "$(grep -q '^not learned: ' quiet.log && [ "$(wc -l <quiet.log)" = 1 ] || show quiet.log)"
run textless --kind gpt "${small[@]}" --max-steps 1
says textless '^note: without --text FILE the text is that of --task phrasebook$'
run mute --kind gpt --text mine.en "${small[@]}" --max-steps 1 --rate 1e-6
says mute '^not learned: '
silent mute 'without --text'
awk 'BEGIN { srand(2); for (i = 0; i < 400; ++i) { for (k = 0; k < 6; ++k) printf "w%d ", 300 * rand(); print "" } }' >noise
run guess --kind gpt --tokenizer word --text noise
says guess '^stopped: none of the last 20 validations was better than that after [0-9]+ updates \(--patience 20\)$'
says guess '^not learned: .*; try more data, or --tokenizer char \(the loss on held-out data was least after [0-9]+ of [0-9]+ updates\)'
head -100 noise >ask
tail -100 noise >answer
run heart --source ask --target answer
says heart '^learned by heart: the loss of [0-9.]+ on held-out data is not below [0-9.]+, .*; try more data$'
silent translator 'learned by heart'

printf '%s\n' 'the cat '{sleeps,eats} 'I see the '{cat,dog} 'good '{morning,night} 'thank you' 'the house is '{big,small} 'you are hungry' yes >short
run falls --kind gpt --text short --max-steps 5
says falls '^not learned: the loss of [0-9.]+ on held-out data is not below [0-9.]+, .*, but it falls; try more updates than 5 '
# --- words without blanks between them ---
for who in 猫 犬 先生 学生 母 父 友達 医者; do
  for what in 魚 肉 本 手紙 水 花; do
    for does in が好きです を買います を見ました をもらいます を忘れました; do printf '%sは毎日%s%s。\n' $who $what $does; done
  done
done >mine.ja
head -240 mine.en >english
run unsplit --source mine.ja --target english "${small[@]}" --max-steps 2 --rate 1e-6
says unsplit '^note: most tokens of the text occur once, .*: --tokenizer char learns characters$'
says unsplit '^not learned: .*; try --tokenizer char$'
run split --source mine.ja --target english --tokenizer char "${small[@]}" --max-steps 2
silent split 'occur once'
silent translator 'occur once'
report "the short help has --tokenizer" "$("$glim" train --help | grep -q -e '--tokenizer ' || echo no)"

printf '%s\n' the a sees >words
run others --source mine.en --target mine.de "${small[@]}" --max-steps 1 --vocabulary-file words
says others '^  [1-9][0-9]* source and [1-9][0-9]* target tokens are not in the vocabularies$'

# --- what is held out ---
says judge 'held out to validate on: 25 of 250 sentences, drawn with --seed'
says prose 'held out to validate on: the last [0-9]+ of [0-9]+ characters, from line 22[0-9] on'
run masked --kind bert --text mine.en "${small[@]}" --max-steps 1
says masked 'held out to validate on: the last 25 of 250 sentences, from line 226 on'
run none --source mine.en --target mine.de "${small[@]}" --max-steps 1 --valid-share 0
says none '^data: 250 training pairs, 0 validation'
silent none 'held'
head -12 mine.en >few.en
head -12 mine.de >few.de
run few --source few.en --target few.de "${small[@]}" --max-steps 1
says few 'nothing is held out to validate on: 12 pairs are too few'
sed 's/.*/one and the same/' mine.en >same
run alike --source same --target same "${small[@]}" --max-steps 1
says alike 'nothing is held out to validate on: 250 pairs have too few different sentences'
head -c 60 mine.en >tiny
refuse "less text than its context" '--block: 64 tokens .*: a smaller --block, or more text' \
  "${train[@]}" --kind gpt --text tiny --out no
sed 's/.$/A/' labels.tsv >one.tsv
refuse "one class" "one\.tsv: .*not only 'A': add examples of another" "${train[@]}" --kind classifier --labelled one.tsv --out no

# --- subwords ---
for model in bpe unigram; do
  run $model --source few.en --target few.de "${small[@]}" --max-steps 1 --tokenizer sentencepiece-$model
  says $model '^note: --vocabulary is [0-9]+, not 8000: the text has no more subwords$'
  says $model '^note: --vocabulary is [0-9]+, not 8000: the target text has no more subwords$'
  run text-$model --kind gpt --text mine.en "${small[@]}" --max-steps 1 --tokenizer sentencepiece-$model
  says text-$model '^note: --vocabulary is [0-9]+, not 8000'
  printf 'a\na\n' >letter
  "${train[@]}" --source letter --target letter "${small[@]}" --max-steps 1 --tokenizer sentencepiece-$model --out letter-$model >out 2>err
  report "subwords of one letter, $model" "$([ $? = 0 ] || [ "$(grep -c '^glim: error: .*more text' err)/$(wc -l <err)" = 1/1 ] || show err)"
done
refuse "a vocabulary smaller than the alphabet" 'raise --vocabulary' "${train[@]}" --source mine.en --target mine.de \
  --tokenizer sentencepiece-bpe --vocabulary 10 --out no
summary
