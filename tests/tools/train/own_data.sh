#!/usr/bin/env bash
# own_data.sh GLIM: a model from tables of one's own, as CSV, TSV and JSON lines, from a file and from standard
# input, with a vocabulary of one's own; then what is wrong with them is answered by one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"

for i in {1..40}; do
  printf '"%d, a ""b""",c %d,x\n' "$i" "$((i % 7))"
done >rows
{ printf '\xEF\xBB\xBFsource,target,note\r\n'; sed 's/$/\r/' rows; } >own.csv
{ printf 'note\tTarget\tsource\n'; sed -E 's/^"([0-9]+), a ""b""",(.*),x$/x\t\2\t\1, a "b"/' rows; } >own.tsv
sed -E 's/^"([0-9]+), a ""b""",(.*),x$/{"en": "\1, a \\"b\\"", "de": "\2"}/' rows >own.jsonl
train=("$glim" train --layers 1 --d-model 16 --heads 2 --d-ff 32 --max-steps 3 --schedule constant
  --progress none)
trained() {  # NAME ARGS...
  local name=$1
  shift
  "${train[@]}" "$@" --out "$name" >"$name.log" 2>&1 || echo "$(tail -1 "$name.log")"
}
same() { [ "$(tensors "$1/last.safetensors")" = "$(tensors "$2/last.safetensors")" ] || echo "they differ"; }

report "csv" "$(trained csv --pairs own.csv --valid-share 0.2)"
report "a fifth is kept to validate on" "$(grep -q '32 training pairs, 8 validation' csv.log || show csv.log)"
report "tsv" "$(trained tsv --pairs own.tsv --valid-share 0.2)"
report "jsonl" "$(trained jsonl --pairs own.jsonl --columns en,de --valid-share 0.2)"
report "csv and tsv give the same bits" "$(same csv tsv)"
report "csv and jsonl give the same bits" "$(same csv jsonl)"
report "standard input" "$(trained input --pairs - --valid-share 0.2 <own.csv)"
report "a file and standard input give the same bits" "$(same csv input)"
report "by number" "$(trained numbers --pairs rows --columns 1,2 --valid-share 0.2)"
report "names and numbers give the same bits" "$(same csv numbers)"
cut -f 2,3 own.tsv | tail -n +2 | awk -F '\t' '{print $2 "\t" $1}' >plain.txt
report "two columns without names" "$(trained plain --pairs plain.txt --valid-pairs own.csv)"
report "resumed to the same split" "$("$glim" train --resume --max-steps 5 --progress none --out csv >log 2>&1 || show log)"

printf '%s\n' a '"b"' $(seq 1 40 | sed 's/$/,/') >words
report "an own vocabulary" "$(trained vocabulary --pairs own.csv --vocabulary-file words)"
report "has its tokens" "$(grep -q ' 46 source and 46 target tokens' vocabulary.log || show vocabulary.log)"

sed -E 's/source,target,note/sentence,label,note/' own.csv >labels.csv
report "labelled csv" "$(trained judge --kind classifier --labelled labels.csv --valid-share 0.25)"
report "a quarter is kept" "$(grep -q '30 training sentences, 10 validation' judge.log || show judge.log)"
report "measured on jsonl" "$(sed 's/"en"/"sentence"/; s/"de"/"label"/' own.jsonl |
  "$glim" classify --model judge --labelled - >out; grep -q ' of 40)$' out || echo "no accuracy")"

fresh=("${train[@]}" --out fresh)
refuse "no such column" "own\.jsonl:1: the object has no 'source'" "${fresh[@]}" --pairs own.jsonl
printf 'source,target\n"a,b\n' >open.csv
refuse "an open quotation mark" 'open\.csv:2: a quotation mark is never closed' "${fresh[@]}" --pairs open.csv
printf 'source,target\na,b,c\n' >wide.csv
refuse "too many fields" 'wide\.csv:2: 3 columns' "${fresh[@]}" --pairs wide.csv
refuse "pairs and sides" '--pairs: has both sides' "${fresh[@]}" --pairs own.csv --source rows --target rows
refuse "pairs for a built-in task" "--task: 'copy' makes its own data" "${fresh[@]}" --task copy --pairs own.csv
refuse "pairs for gpt" '--pairs: is no option of --kind gpt' "${fresh[@]}" --kind gpt --text rows --pairs own.csv
refuse "columns of nothing" '--columns: names those of --pairs' "${fresh[@]}" --source rows --target rows --columns a,b
refuse "a share of a built-in task" '--valid-share: .phrasebook. has its own' "${fresh[@]}" --valid-share 0.1
refuse "a share beside a file" '--valid-share: is taken' "${fresh[@]}" --pairs own.csv --valid-pairs own.csv --valid-share 0.1
refuse "a share of all" '--valid-share: must be -1 to below 1' "${fresh[@]}" --pairs own.csv --valid-share 1
refuse "standard input twice" "standard input: has been read already" "${fresh[@]}" --source - --target - <rows
refuse "a vocabulary and its size" '--vocabulary: limits' "${fresh[@]}" --pairs own.csv --vocabulary-file words --vocabulary 9
refuse "a vocabulary that is none" 'nowhere: No such file' "${fresh[@]}" --pairs own.csv --vocabulary-file nowhere
printf 'a\nb c\n' >spaces
refuse "a vocabulary with a blank" 'spaces:2: .*contains white space' "${fresh[@]}" --pairs own.csv --vocabulary-file spaces
report "no folder is left" "$([ -e fresh ] && ls fresh)"
summary
