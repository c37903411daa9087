#!/usr/bin/env bash
# embeddings.sh GLIM: word vectors of word2vec's and GloVe's files begin a model's embeddings, train or stay, and
# whatever is wrong with such a file is one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
for i in {1..40}; do printf 'a good day %d\tyes\na bad night %d\tno\n' $((i % 3)) $((i % 5)); done >labelled
# Of the tokens a good day bad night 0 1 2 3 4, the file has four; "New York" has a space, and "good" comes twice.
{ echo 'bad -1 -2.5 -3 -4e-1'; echo 'good York 8 8 8 8'; echo 'New good 8 8 8 8'; echo 'good 1 2 3 4'; echo 'New York 1 1 1 1'; echo 'day 0 0 0 7 '; echo 'good 9 9 9 9'
  echo 'night 0.5 0.5 0.5 0.5'; } >glove
{ echo '8 4'; cat glove; } >word2vec
small=(train --kind classifier --labelled labelled --valid-share 0 --layers 1 --d-model 4 --heads 2 --d-ff 8
       --max-steps 4 --schedule constant --progress none --overwrite)
rows() {  # MODEL TENSOR: its rows by token, "good 1 2 3 4"
  python3 - "$1" "$2" <<'PYTHON'
import json, struct, sys
with open(sys.argv[1] + "/last.safetensors", "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    body = file.read()
begin, end = header[sys.argv[2]]["data_offsets"]
rows, width = header[sys.argv[2]]["shape"]
values = struct.unpack(f"<{rows * width}f", body[begin:end])
words = json.loads(header["__metadata__"].get("tokenizer") or header["__metadata__"]["source_tokenizer"])["tokens"]
for i, word in enumerate(words):
    at = (rows - len(words) - 1 + i) * width if sys.argv[2].startswith("bert") else (rows - len(words) + i) * width
    print(word, *(f"{v:g}" for v in values[at:at + width]))
PYTHON
}
has() { rows "$1" "$2" >table; grep -qx -- "$3" table; }
for file in glove word2vec; do
  "$glim" "${small[@]}" --embeddings $file --freeze-embeddings --out $file-model >log 2>&1
  report "$file: the share found" "$(grep -q "embeddings: 4 of 10 tokens of the vocabulary are in $file (40.0 %); the table is not trained" log || show log)"
  rows $file-model bert.embed.weight >table 2>&1
  report "$file: the rows of its words" "$(for row in 'good 1 2 3 4' 'bad -1 -2.5 -3 -0.4' 'day 0 0 0 7' 'night 0.5 0.5 0.5 0.5'; do
    grep -qx -- "$row" table || { echo "no $row in"; cat table; }; done)"
done
{ sed -n 5p glove; cat glove; } >spaced
"$glim" "${small[@]}" --embeddings spaced --rate 1e-30 --out spaced-model >log 2>&1
report "the first word may have a space" "$(has spaced-model bert.embed.weight 'good 1 2 3 4' || show log)"
"$glim" "${small[@]}" --rate 1e-30 --out plain >log 2>&1
"$glim" "${small[@]}" --embeddings glove --rate 1e-30 --out still >log 2>&1
report "another word's row is that of a model without" "$(diff <(rows plain bert.embed.weight | grep '^[0-9a] ') <(rows still bert.embed.weight | grep '^[0-9a] '))"
"$glim" "${small[@]}" --embeddings glove --out trained >log 2>&1
report "without --freeze-embeddings they are trained" "$(has trained bert.embed.weight 'good 1 2 3 4' && echo 'they are as before')"
{ printf '\xef\xbb\xbf'; cat glove; } >marked
"$glim" "${small[@]}" --embeddings marked --rate 1e-30 --out marked-model >log 2>&1
report "a byte order mark is no part of a word" "$(has marked-model bert.embed.weight 'good 1 2 3 4' || show log)"
# The file is not needed again, and a frozen table stays frozen.
mv glove gone
"$glim" train --resume --max-steps 8 --progress none --out glove-model >log 2>&1
report "resumes without the file" "$(has glove-model bert.embed.weight 'good 1 2 3 4' || show log)"
mv gone glove

# --- the other kinds, of two sides the source ---
printf 'good day\nbad night\nday\n' >lines
text=(train --max-steps 2 --schedule constant --valid-share 0 --layers 1 --progress none --overwrite --embeddings word2vec --freeze-embeddings)
for kind in transformer rnn conv non-autoregressive; do
  width=(--d-model 4); [ $kind != rnn ] || width=(--d-embed 4 --d-model 4)
  heads=(--heads 2 --d-ff 8); [[ $kind =~ rnn|conv ]] && heads=()
  "$glim" "${text[@]}" --kind $kind "${width[@]}" "${heads[@]}" --source lines --target lines --out $kind >log 2>&1
  report "$kind" "$({ grep -q '4 of 4 tokens' log && has $kind src_embed.weight 'good 1 2 3 4'; } || show log)"
done
for i in {1..30}; do cat lines; done >text
for kind in gpt bert; do
  "$glim" "${text[@]}" --kind $kind --tokenizer word --d-model 4 --heads 2 --d-ff 8 --text text --out $kind $([ $kind = gpt ] && echo --block 4) >log 2>&1
  report "$kind" "$(grep -q '4 of 4 tokens' log || show log)"
done

# --- files ---
bad() { printf '%b' "$3" >broken; refuse "$1" "$2" "$glim" "${small[@]}" --embeddings broken --out fresh; }
bad "another width" 'broken:1: vectors of 3 numbers, .*have 4: give --d-model 3' 'good 1 2 3\n'
bad "another width behind a first word with a space" 'broken:1: vectors of 3 numbers' 'New York 1 2 3\n'
bad "another width in the first line" 'broken:1: vectors of 300 numbers' '2 300\ngood 1 2 3 4\n'
bad "a line cut short" 'broken:2: 2 numbers behind the word, not 4' 'good 1 2 3 4\nbad 1 2\n'
bad "a number too many" 'broken:2: 5 numbers behind the word, not 4' 'good 1 2 3 4\nbad 1 2 3 4 5\n'
bad "no number" "broken:2: 'x' is no number" 'good 1 2 3 4\nbad 1 2 x 4\n'
bad "a number beyond float32" 'broken:2: a number is too large for float32' 'good 1 2 3 4\nbad 1 1e300 3 4\n'
bad "a line that is no vector" 'broken:1: is not a word and its vector of 4 numbers' 'hello world\n'
bad "a word alone" 'broken:1: is not a word and its vector of 4 numbers' 'good\n'
bad "no width in the first line" 'broken:1: is not a word and its vector of 4 numbers' '2 0\ngood 1 2 3 4\n'
bad "a zero byte" 'broken:2: zero byte at byte 3' 'good 1 2 3 4\nba\0d 1 2 3 4\n'
bad "a word that is not UTF-8" 'broken:2: invalid UTF-8 at byte 3' 'good 1 2 3 4\nba\xffd 1 2 3 4\n'
bad "word2vec's binary format" "broken: is word2vec's binary format; .*load_word2vec_format\(FILE, binary=True\).save_word2vec_format" \
  '2 4\ngood \0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\nbad \0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\n'
head -c 3000000 /dev/zero | tr '\0' 1 >endless
refuse "a line without an end" 'endless:1: more than' "$glim" "${small[@]}" --embeddings endless --out fresh
bad "no finite number" "broken:1: 'nan' is no number" 'good 1 2 nan 4\n'
bad "fewer words than announced" 'broken: line 1 says 5 words, 1 follow' '5 4\ngood 1 2 3 4\n'
bad "no word in common" 'broken: has none of the 10 tokens of the vocabulary' 'gut 1 2 3 4\nschlecht 1 2 3 4\n'
bad "an empty file" 'broken: has none of the 10 tokens' ''
refuse "a missing file" 'nowhere' "$glim" "${small[@]}" --embeddings nowhere --out fresh
refuse "to freeze nothing" '--freeze-embeddings: needs --embeddings' "$glim" "${small[@]}" --freeze-embeddings --out fresh
refuse "vectors for a model that has them" '--embeddings: begin a new model; plain has its own' "$glim" train --init-from plain \
  --labelled labelled --embeddings glove --out fresh
refuse "vectors of pixels" '--embeddings: is no option of --kind vit' "$glim" train --kind vit --images i --labels l --embeddings glove --out fresh
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"
summary
