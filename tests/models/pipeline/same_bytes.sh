#!/usr/bin/env bash
# same_bytes.sh GLIM USE_PIPELINE MAKE_IMAGES: for every kind, tokenizer and beam the library gives the bytes of the
# program, from eight threads at once too; a folder that is missing, hostile or of another kind is one error.
set -uo pipefail
glim=$(realpath "$1") use=$(realpath "$2") make=$(realpath "$3")
source "$(dirname "$0")/../../tools/common.sh"
export OMP_NUM_THREADS=2
same() { cmp -s "$1" "$2" || diff "$1" "$2" | head -n 4; }

for i in {1..60}; do
  echo "the ${i}th man sees 书 $((i * 7 % 13)) in town $((i % 5))"
done >source
sed 's/the \([0-9]*\)th man sees/第\1人 看见/; s/in town/在 城/' source >target
sed -n '3p;11p;29p;30p' source >lines
printf '\n  \nthe man Xy sees 书\n' >>lines
train=(train --source source --target target --layers 1 --d-model 16 --epochs 3 --batch-sentences 8 --warmup 4
  --rate 1e-2 --progress none --quiet)
declare -A sizes=([transformer]="--heads 2 --d-ff 32" [rnn]="--d-embed 8" [conv]="" [non-autoregressive]="--heads 2 --d-ff 32")
translated() {  # MODEL SECONDS: as the program, for each beam
  local model=$1 seconds=$2 beam nbest flags
  for beam in 1 4; do
    for nbest in 1 "$beam"; do
      [[ $model = non-autoregressive* && $beam != 1 ]] && continue
      flags=()
      [ "$nbest" = 1 ] || flags=(--nbest "$nbest" --alignments)
      "$glim" translate --model "$model" --beam "$beam" "${flags[@]}" <lines >said 2>/dev/null
      "$use" translate "$model" "$beam" "$nbest" "$seconds" <lines >found 2>err
      report "$model, beam $beam, $nbest best" "$([ -s said ] || echo "nothing said"; same said found; grep -v ' 0 times$' err)"
    done
  done
}
for kind in transformer rnn conv non-autoregressive; do
  for tokenizer in word char mixed sentencepiece-bpe sentencepiece-unigram; do
    read -ra more <<<"${sizes[$kind]}"
    [[ $tokenizer != sentencepiece* ]] || more+=(--vocabulary 60)
    "$glim" "${train[@]}" --kind "$kind" --tokenizer "$tokenizer" "${more[@]}" --out "$kind-$tokenizer" >log 2>&1 ||
      report "$kind with $tokenizer" "$(tail -n 1 log)"
    translated "$kind-$tokenizer" "$([ "$tokenizer" = word ] && echo 1 || echo 0)"
  done
done
"$glim" "${train[@]}" --heads 2 --d-ff 32 --copy --precision float64 --out transformer-copy >log 2>&1 || cat log
translated transformer-copy 1
"$glim" "${train[@]}" --kind rnn --d-embed 8 --copy --out rnn-copy >log 2>&1 || cat log
translated rnn-copy 0

# --- a probability for a given translation: glim evaluate's ---
for model in transformer-word rnn-copy conv-char non-autoregressive-mixed; do
  "$glim" evaluate --model "$model" --source source --target target --beam 1 >log 2>&1
  paste source target | "$use" score "$model" 0 >found 2>&1
  report "$model scores" "$(
    said=$(sed -nE 's/.* ([0-9]+) target tokens: (NLL [0-9.]+ per token).*/\2, \1 tokens/p' log)
    [ -n "$said" ] && [ "$said" = "$(cat found)" ] || echo "$said, not $(cat found)")"
done

# --- texts ---
for tokenizer in word char sentencepiece-bpe; do
  more=()
  [[ $tokenizer != sentencepiece* ]] || more=(--vocabulary 60)
  "$glim" train --kind gpt --text source --tokenizer "$tokenizer" "${more[@]}" --layers 1 --d-model 16 --heads 2 --block 16 \
    --epochs 2 --progress none --quiet --out "gpt-$tokenizer" >log 2>&1 || cat log
  for prompt in "the " "the 3th man"; do
    "$glim" generate --model "gpt-$tokenizer" --prompt "$prompt" --max-tokens 60 --seed 5 >said
    "$use" generate "gpt-$tokenizer" "$prompt" 5 "$([ "$tokenizer" = char ] && echo 1 || echo 0)" >found 2>err
    report "gpt-$tokenizer continues '$prompt'" "$(same said found; grep -v ' 0 times$' err)"
  done
done
head -n 3 source | "$use" score gpt-char 1 >found 2>err
report "a text has a probability" "$(grep -q '^NLL [0-9.]* per token, [0-9]* tokens$' found || show found; grep -v ' 0 times$' err)"

# --- classes ---
sed 's/.*\([0-9]\)$/&\t\1/' source >labelled
"$glim" train --kind classifier --labelled labelled --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 3 --progress none \
  --quiet --out classifier >log 2>&1 || cat log
head -n 9 source >sentences
"$glim" classify --model classifier <sentences >said
"$use" classify classifier 1 <sentences >found 2>err
report "sentences" "$(same said found; grep -v ' 0 times$' err)"
"$make" . >log 2>&1
"$glim" train --kind vit --images images.idx --labels labels.idx --patch 4 --layers 1 --d-model 16 --heads 2 --d-ff 32 \
  --batch-sentences 16 --epochs 2 --progress none --quiet --out vit >log 2>&1 || cat log
"$glim" classify --model vit --images images.idx >said
"$use" images vit images.idx 1 >found 2>err
report "images" "$([ "$(wc -l <said)" = 240 ] || show log; same said found; grep -v ' 0 times$' err)"

# --- what is no such model: an exception that names the file and says what to do ---
says() {  # NAME PATTERN ARGUMENTS...
  local name=$1 pattern=$2 status=0
  shift 2
  "$use" "$@" <lines >found 2>err || status=$?
  report "$name" "$([ "$status" = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -Eq -- "$pattern" err || echo "status $status: $(cat err)")"
}
says "a missing folder" '^nowhere: no such file or folder$' translate nowhere 1 1 0
mkdir empty
says "an empty folder" '^empty: the folder holds no model' translate empty 1 1 0
says "another kind" "^gpt-char/.*: holds a model of kind 'gpt', which does not translate; use a model of kind transformer, rnn, conv or non-autoregressive" \
  translate gpt-char 1 1 0
says "a text of a translator" "holds a model of kind 'rnn', which does not continue text; use a model of kind gpt" generate rnn-word the 1 0
says "sentences for a vit" "which does not classify sentences; use a model of kind classifier" classify vit 0
says "images for a classifier" "which does not classify images; use a model of kind vit" images classifier images.idx 0
says "a score by a classifier" "which does not give a text a probability; use a model of kind transformer" score classifier 0
says "a beam of none" 'beam' translate transformer-word 0 1 0
printf '\xff\n' >lines
says "no UTF-8" '^sentence 1: invalid UTF-8 at byte 1' translate transformer-word 1 1 0
yes the | head -n 400 | tr '\n' ' ' >lines
says "a sentence too long" '^sentence 1: .*the model takes at most' translate transformer-word 1 1 0
head -c 3000 transformer-word/best.safetensors >cut.safetensors
says "a file that ends early" '^cut.safetensors: ' translate cut.safetensors 1 1 0
head -c 5000 /dev/urandom >noise
says "noise" '^noise: ' translate noise 1 1 0
python3 - <<'END'
import json, struct
whole = open("transformer-word/best.safetensors", "rb").read()
size = struct.unpack("<Q", whole[:8])[0]
header, rest = json.loads(whole[8:8 + size]), whole[8 + size:]
def write(name, change):
    changed = json.loads(json.dumps(header))
    del changed["__metadata__"]["glim_checksum"]
    change(changed["__metadata__"])
    text = json.dumps(changed).encode()
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + rest)
def with_size(name, value):
    def change(m):
        sizes = json.loads(m["model"])
        sizes[name] = value
        m["model"] = json.dumps(sizes)
    return change
write("format", lambda m: m.update(glim="2"))
write("kind", lambda m: m.update(kind="oracle"))
write("no-tokenizer", lambda m: m.pop("source_tokenizer"))
write("nested", lambda m: m.update(model="[" * 100000))
write("huge", with_size("d_ff", 10**12))
write("other-vocabulary", with_size("src_vocab", 5))
write("negative", with_size("heads", -1))
write("choice", with_size("norm", "sideways"))
write("precision", lambda m: m.update(options='{"precision": 64}'))
END
says "another format" "^format: has checkpoint format '2'" translate format 1 1 0
says "an unknown kind" "^kind: holds a model of the unknown kind 'oracle'; known are transformer, rnn" translate kind 1 1 0
says "no tokenizer" "^no-tokenizer: .*source_tokenizer" translate no-tokenizer 1 1 0
for hostile in nested huge other-vocabulary negative choice precision; do
  says "a hostile file: $hostile" "^$hostile: " translate "$hostile" 1 1 0
done
summary
