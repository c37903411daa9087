#!/usr/bin/env bash
# language.sh GLIM: the language models as a user meets them. Each trains for a moment, is resumed to
# the same bits, and is used; then whatever is wrong with the input is answered by one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"

quietly() { "$@" >log 2>&1 || { echo "FAIL: $*"; cat log; failed=$((failed + 1)); }; }
# resumed KIND ARGS...: 12 steps at once and as 7 and 5 end in the same bits
resumed() {
  local kind=$1
  shift
  local train=("$glim" train --kind "$kind" "$@" --schedule constant --progress none)
  quietly "${train[@]}" --max-steps 12 --out "$kind-whole"
  quietly "${train[@]}" --max-steps 7 --out "$kind-parts"
  quietly "$glim" train --resume --max-steps 12 --progress none --out "$kind-parts"
  report "$kind: resumed to the same bits" \
    "$([ "$(tensors "$kind-whole/last.safetensors")" = "$(tensors "$kind-parts/last.safetensors")" ] || echo "they differ")"
  report "$kind: one thread or two, the same bits" "$(
    rm -rf one two
    OMP_NUM_THREADS=1 "${train[@]}" --max-steps 4 --out one >log 2>&1
    OMP_NUM_THREADS=2 "${train[@]}" --max-steps 4 --out two >log 2>&1
    [ "$(tensors one/last.safetensors)" = "$(tensors two/last.safetensors)" ] || echo "they differ")"
}

for i in {1..60}; do
  printf 'KING: the day is fair.\n\nQUEEN: nay, äöü %d times it rained;\n  and so it will.\n' "$i"
done >text
small=(--layers 1 --d-model 16 --heads 2 --d-ff 32)

# --- gpt ---
gpt=(--text text "${small[@]}" --block 16 --batch-sentences 4)
resumed gpt "${gpt[@]}" --dropout 0.1
generate=("$glim" generate --model gpt-whole)
"${generate[@]}" --prompt 'KING: the' --max-tokens 50 --seed 5 >first 2>err
"${generate[@]}" --prompt 'KING: the' --max-tokens 50 --seed 5 >second
"${generate[@]}" --prompt 'KING: the' --max-tokens 50 --seed 6 >third
report "a sample begins with its prompt" "$(head -c 9 first | grep -q '^KING: the$' || show first err)"
report "a seed names one sample" "$(cmp first second 2>&1)"
report "another seed another" "$(cmp -s first third && echo "the same")"
OMP_NUM_THREADS=1 "${generate[@]}" --prompt 'KING: the' --max-tokens 50 --seed 5 >second
report "a sample does not depend on threads" "$(cmp first second 2>&1)"
"${generate[@]}" --samples 3 --max-tokens 40 --slide 1 >out
report "samples are divided" "$([ "$(grep -c '^---------------$' out)" = 2 ] || show out)"
# Each print adds whole characters: every prefix that a reader may see is valid.
"${generate[@]}" --max-tokens 300 --temperature 3 >out
report "UTF-8 comes out whole" "$(iconv -f UTF-8 -t UTF-8 out >/dev/null 2>err || show err)"
report "greedy needs no seed" "$(diff <("${generate[@]}" --greedy --seed 1) <("${generate[@]}" --greedy --seed 2))"
"${generate[@]}" --max-tokens 100000 | head -c 20 >out
report "a reader may go away" "$([ "${PIPESTATUS[0]}" = 0 ] || echo "status ${PIPESTATUS[0]}")"
report "temperature 0 is greedy" "$(diff <("${generate[@]}" --greedy) <("${generate[@]}" --temperature 0 2>&1))"
refuse "temperature below 0" '--temperature: must be 0 or more, not -1' "${generate[@]}" --temperature -1
refuse "top-k 0" '--top-k' "${generate[@]}" --top-k 0
refuse "top-k above the vocabulary" '--top-k: 999 is outside .*vocabulary' "${generate[@]}" --top-k 999
refuse "top-p 0" '--top-p: must be above 0, at most 1, not 0' "${generate[@]}" --top-p 0
refuse "top-p above 1" '--top-p: must be above 0, at most 1, not 1\.5' "${generate[@]}" --top-p 1.5
refuse "greedy and top-k" '--top-k: contradicts --greedy' "${generate[@]}" --greedy --top-k 2
refuse "no tokens" '--max-tokens' "${generate[@]}" --max-tokens 0
refuse "no samples" '--samples' "${generate[@]}" --samples 0
refuse "slide beyond the context" '--slide' "${generate[@]}" --slide 17
printf '\xEF\xBB\xBFKING:\r\nthe\r\n' >prompt.txt
"${generate[@]}" --prompt FILE:prompt.txt --max-tokens 5 --seed 5 >first 2>err
"${generate[@]}" --prompt $'KING:\nthe' --max-tokens 5 --seed 5 >second
report "a prompt's file may have a byte order mark and \r\n" "$([ -s first ] && cmp first second 2>&1 || show err)"
refuse "empty prompt" '--prompt' "${generate[@]}" --prompt ''
refuse "prompt outside the vocabulary" "--prompt: '☃' is not in the vocabulary of the model" "${generate[@]}" --prompt 'the ☃'
refuse "prompt beyond the context" '--prompt: has 18 tokens, the model has a context of 16' "${generate[@]}" --prompt 'KING: the day is f'
refuse "prompt that is no UTF-8" '--prompt: invalid UTF-8' "${generate[@]}" --prompt $'\xff'
refuse "gpt does not translate" "gpt-whole/.*kind 'gpt'" "$glim" translate --model gpt-whole </dev/null
refuse "gpt does not classify" "gpt-whole/.*kind 'gpt'" "$glim" classify --model gpt-whole </dev/null
train_gpt=("$glim" train --kind gpt "${small[@]}" --progress none --out fresh)
printf 'short' >short
printf 'a\n\xff\n' >latin
: >empty
refuse "missing text" 'nowhere' "${train_gpt[@]}" --text nowhere
refuse "empty text" 'empty is empty' "${train_gpt[@]}" --text empty
refuse "text that is no UTF-8" 'latin:2: invalid UTF-8' "${train_gpt[@]}" --text latin
refuse "text below the context" '--block: 64 tokens .* short' "${train_gpt[@]}" --text short
refuse "block 0" '--block' "${train_gpt[@]}" --text text --block 0
refuse "files of another kind" '--source: is no option of --kind gpt' "${train_gpt[@]}" --source text --target text
refuse "norm of another model" "--norm: is no option of --kind gpt; .*a gpt has --block" "${train_gpt[@]}" --text text --norm post
printf 'kind = "gpt"\ncell = "gru"\n' >other.toml
refuse "a file's option of another kind" 'other.toml:2: cell is no option of --kind gpt' "$glim" train --config other.toml --out fresh
quietly "$glim" inspect --fresh --kind gpt "${small[@]}" --block 8 --sentence "the cat" --dropout --attribution-steps 0 --out fresh-gpt
report "weights of attention are no hidden units" "$("$glim" inspect --fresh --kind gpt --attention-form relu --sentence abc \
  --attribution-steps 0 --out fresh-relu | grep self_attn.relu)"
refuse "a fresh text beyond its block" '--sentence: the sentence has .* more than the 9' \
  "$glim" inspect --fresh --kind gpt "${small[@]}" --block 8 --sentence "a sentence of many letters" --out fresh
refuse "text for a translator" '--text: is no option of --kind transformer' "$glim" train --text text --out fresh
report "no folder is left by refused text" "$([ -e fresh ] && ls fresh)"
quietly "$glim" train --kind gpt --text text --tokenizer word "${small[@]}" --block 8 --max-steps 5 --schedule constant --progress none --out words
"$glim" generate --model words --prompt 'KING: the' --max-tokens 5 >out 2>err
report "words, too" "$(grep -q '^KING: the ' out || show out err)"
refuse "a word outside the vocabulary" "--prompt: 'castle'" "$glim" generate --model words --prompt 'the castle'

# --- bert ---
bert=(--text text "${small[@]}" --batch-sentences 16 --batch-tokens 0)
resumed bert "${bert[@]}"
train_bert=("$glim" train --kind bert "${small[@]}" --progress none --out fresh)
refuse "bert: missing text" 'nowhere' "${train_bert[@]}" --text nowhere
refuse "bert: no lengths" '--max-length' "${train_bert[@]}" --text text --max-length 2
refuse "bert does not generate" "bert-whole/.*kind 'bert'" "$glim" generate --model bert-whole

# --- classifier ---
for i in {1..40}; do
  printf 'a good and happy film %d\t1\nwhat a bad sad film %d\t0\nthe good day\t1\nthe bad day\t0\n' "$i" "$i"
done >labelled
train_labels=("$glim" train --kind classifier "${small[@]}" --progress none --out fresh)
resumed classifier --labelled labelled --valid-labelled labelled "${small[@]}" --batch-sentences 16 --batch-tokens 0
quietly "$glim" train --kind classifier --labelled labelled "${small[@]}" --dropout 0.1 --word-dropout 0.1 --epochs 20 --warmup 5 --progress none --out judge
classify=("$glim" classify --model judge)
printf 'a good film\r\n\nthe bad day\n' | "${classify[@]}" >out 2>err
report "a line each, an empty one empty" "$([ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] || show out err)"
report "label and probabilities" "$(sed -n 1p out | grep -Eq $'^1\t0=0\\.[0-9]{4} 1=0\\.[0-9]{4}$' || show out)"
"${classify[@]}" --labelled labelled >out 2>err
report "accuracy" "$(grep -q '^accuracy 1\.0000 (160 of 160)$' out || show out err)"
"${classify[@]}" --labelled - <labelled >second
report "labelled lines on standard input" "$(diff out second)"
quietly "$glim" train --kind classifier --labelled labelled --init-from bert-whole --epochs 1 --schedule constant --progress none --out tuned
report "starts from a pre-trained encoder" "$(grep -q 'encoder weights are those of bert-whole' log || show log)"
refuse "start from another kind" "gpt-whole/.*kind 'gpt'; --init-from needs" "${train_labels[@]}" --labelled labelled --init-from gpt-whole
refuse "no labelled file" '--labelled' "${train_labels[@]}" --task files
refuse "empty labelled file" 'empty is empty' "${train_labels[@]}" --labelled empty
printf 'good\t1\nbad 0\n' >no_tab
refuse "missing tab" 'no_tab:2: no tab: the line must be sentence<TAB>label' "${train_labels[@]}" --labelled no_tab
printf 'good\t1\n\t0\n' >no_sentence
refuse "missing sentence" 'no_sentence:2: no sentence' "${train_labels[@]}" --labelled no_sentence
printf 'good\t1\nbad\t \n' >no_label
refuse "missing label" 'no_label:2: no label' "${train_labels[@]}" --labelled no_label
printf 'good\t1\nfine\t1\n' >one_label
refuse "one label only" "one_label: .*only '1'" "${train_labels[@]}" --labelled one_label
printf 'good\t1\nbad\t2\n' >other_label
refuse "label outside the classes" "other_label:2: the label '2' is not one of 0, 1" "${train_labels[@]}" --labelled labelled --valid-labelled other_label
refuse "label outside the classes to measure" "other_label:2: the label '2'" "${classify[@]}" --labelled other_label
refuse "missing tab to measure" 'no_tab:2: no tab: the line must be sentence<TAB>label' "${classify[@]}" --labelled no_tab
refuse "missing file to measure" 'nowhere' "${classify[@]}" --labelled nowhere
printf 'good\n\xff\n' >latin
printf 'good\n\xff\n%s\nthe bad day\n' "$(printf 'good %.0s' {1..300})" >mixed
printf 'good\n\n\nthe bad day\n' | "${classify[@]}" >expected
status=0
"${classify[@]}" <mixed >out 2>err || status=$?
report "bad lines among good ones" "$(cmp out expected 2>&1; [ $status = 1 ] && [ "$(wc -l <err)" = 2 ] &&
  grep -q '^glim: error: standard input:2: invalid UTF-8' err &&
  grep -q '^glim: error: standard input:3: more than 254 tokens' err || show err)"
"${classify[@]}" --json <mixed >out 2>err
report "as JSON, the error is in its line" "$([ "$(grep -c '"label":null.*"error":"' out)" = 2 ] && [ "$(wc -l <out)" = 4 ] || show out)"
refuse "invalid UTF-8 to classify" 'standard input:2: invalid UTF-8' "${classify[@]}" <latin
printf 'good %.0s' {1..300} >long
refuse "sentence beyond the maximum" 'standard input:1: more than 254 tokens' "${classify[@]}" <long
report "unless it may be cut" "$("${classify[@]}" --truncate <long | grep -q '^1' || echo "no answer")"
refuse "a temperature for another verb" 'temperature' "$glim" classify --model judge --temperature 1 </dev/null
head -c 3000 judge/last.safetensors >cut.safetensors
refuse "truncated model" 'cut\.safetensors' "$glim" classify --model cut.safetensors </dev/null
report "no folder is left by refused labels" "$([ -e fresh ] && ls fresh)"
summary
