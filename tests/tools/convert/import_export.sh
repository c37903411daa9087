#!/usr/bin/env bash
# import_export.sh GLIM: models from and to PyTorch as a user meets them, from the files that
# tests/reference/convert.py made.
set -uo pipefail
glim=$(realpath "$1")
files=$(realpath "$(dirname "$0")/../../reference/convert")
source "$(dirname "$0")/../common.sh"

quietly() { "$@" >log 2>&1 || { echo "FAIL: $*"; cat log; failed=$((failed + 1)); }; }

# --- a checkpoint of nanoGPT: imported, read, fine-tuned, taken back ---
quietly "$glim" import --from nanogpt "$files/nanogpt.safetensors" --out gpt
report "what was taken is said" "$(grep -q '^gpt: 2 layers, 2 heads, width 8, context 7, 13 tokens$' log || show log)"
report "and where it is" "$(grep -q '^Model saved to gpt/best.safetensors$' log || show log)"
obeyed=$'e\033[31m\nx\r'
quietly "$glim" import --from nanogpt "$files/nanogpt.safetensors" --out "$obeyed"
report "where a terminal would obey the path" "$(grep -q '^Model saved to e\\x1b\[31m\\x0ax\\x0d/best.safetensors$' log || show log)"
quietly "$glim" train --task copy --d-model 8 --d-ff 8 --layers 1 --heads 1 --max-steps 2 --out "$obeyed/run" --progress none
report "and where a run is" "$(grep -q '^Model saved to e\\x1b\[31m\\x0ax\\x0d/run/' log && ! grep -qP '[\x1b\r]' log || show log)"
"$glim" generate --model gpt --prompt 'a b' --max-tokens 200 --seed 3 >out 2>err
report "an imported gpt generates" "$(grep -q '^a b' out || show out err)"
refuse "what its vocabulary lacks" "'z' is not in the vocabulary of the model" "$glim" generate --model gpt --prompt 'a z'
refuse "a folder that holds a model" 'gpt: holds a model already: --overwrite' \
  "$glim" import --from nanogpt "$files/nanogpt.safetensors" --out gpt
quietly "$glim" import --from nanogpt "$files/nanogpt.safetensors" --out gpt --overwrite
quietly "$glim" export --to nanogpt gpt --out back.safetensors
refuse "a file that exists" 'back\.safetensors: exists already: --overwrite' "$glim" export --to nanogpt gpt --out back.safetensors
refuse "the model itself" 'gpt/best\.safetensors: exists already: --overwrite' "$glim" export --to nanogpt gpt --out gpt/best.safetensors
refuse "a mean over a file" 'back\.safetensors: exists already: --overwrite' "$glim" average gpt/best.safetensors --out back.safetensors
quietly "$glim" export --to nanogpt gpt --out back.safetensors --overwrite
quietly "$glim" import --from nanogpt back.safetensors --out again
report "there and back: the same bits" \
  "$([ "$(tensors gpt/best.safetensors)" = "$(tensors again/best.safetensors)" ] || echo "they differ")"
for i in {1..80}; do echo 'abc abd abe abf'; done >text
tune=("$glim" train --init-from gpt --text text --max-steps 50 --warmup 5 --batch-sentences 4 --log-every 1 --progress none)
quietly "${tune[@]}" --out tuned
report "fine-tuned: whose weights" "$(grep -q 'weights, vocabulary and sizes are those of gpt/best.safetensors' log || show log)"
report "fine-tuned: the loss falls" "$(grep '"kind": *"train"\|"loss"\|"nll"' tuned/metrics.jsonl >/dev/null || show tuned/metrics.jsonl)"
quietly "$glim" train --resume --out tuned --max-steps 60 --progress none
refuse "a size that is another" '--layers: gpt has 2, and a run that begins with it has the same' "${tune[@]}" --layers 3 --out no
refuse "a longer context" '--block: gpt has 7, .* can have less, not more' "${tune[@]}" --block 8 --out no
quietly "${tune[@]}" --block 4 --dropout 0.3 --out short
refuse "another kind" "gpt/best.safetensors: holds a model of kind 'gpt'; --init-from needs one of kind 'bert'" \
  "${tune[@]}" --kind bert --out no

# --- a torch.nn.Transformer whose tokens are numbers ---
quietly "$glim" import --from torch "$files/torch_post.safetensors" --out numbers
report "what was assumed is said" "$(grep -q '  assumed: tokens are their numbers' log || show log)"
echo '5 9 4 12 7' | "$glim" translate --model numbers --beam 3 --nbest 3 >out 2>err  # the best is empty
report "numbers in, numbers out" "$(grep -Eq '^0 [|]{3} [0-9 ]+ [|]{3} -[0-9.]+$' out || show out err)"
quietly "$glim" export --to torch numbers --out numbers.safetensors
quietly "$glim" import --from torch numbers.safetensors --out numbers2
report "torch and back: the same file" "$(cmp numbers/best.safetensors numbers2/best.safetensors 2>&1)"
for i in {1..30}; do echo '5 9 4'; done >source
for i in {1..30}; do echo '10 4'; done >target
quietly "$glim" train --init-from numbers --source source --target target --epochs 60 --rate 0.03 --warmup 5 --progress none --out tuned2
report "fine-tuned: it learns" "$([ "$(echo '5 9 4' | "$glim" translate --model tuned2)" = '10 4' ] || show log)"

# --- folders of transformers with their tokenizers: text in, text out ---
quietly "$glim" import --from gpt2 "$files/gpt2" --out gpt2
report "where the factor of the scores is, is said" \
  "$(grep -q 'queries hold the factor of the scores that .*gpt2/config.json says' log || show log)"
"$glim" generate --model gpt2 --prompt 'The cat, 猫' --max-tokens 5 --seed 3 >out 2>err
report "text goes on after text" "$(grep -q '^The cat, 猫' out || show out err)"
for i in {1..40}; do echo "The cat sat. We've seen the dog."; done >cats
quietly "$glim" train --init-from gpt2 --text cats --block 16 --max-steps 80 --schedule constant --rate 3e-2 --progress none --out gpt2-tuned
report "fine-tuned: it learns the text" \
  "$("$glim" generate --model gpt2-tuned --prompt 'The cat' --max-tokens 8 --greedy | grep -q '^The cat sat. We' || show log)"
quietly "$glim" import --from marian "$files/marian" --out marian
for i in {1..40}; do echo "We've seen the cats."; done >source
for i in {1..40}; do echo 'Wir haben die Katzen gesehen.'; done >target
quietly "$glim" train --init-from marian --source source --target target --epochs 100 --schedule constant --rate 1e-2 --progress none --out marian-tuned
report "fine-tuned: it translates, with the pieces of each side" \
  "$(echo "We've seen the cats." | "$glim" translate --model marian-tuned | grep -qx 'Wir haben die Katzen gesehen.' || show log)"
report "its loss is that of the imported model" "$(grep -qx 'label-smoothing = 0.0' marian-tuned/config.toml || grep smoothing marian-tuned/config.toml)"

# --- every kind begins with one of its own ---
begin() {  # KIND ARGS...
  local kind=$1
  shift
  local train=("$glim" train "$@" --schedule constant --progress none --max-steps 2)
  quietly "${train[@]}" --kind "$kind" --layers 1 --d-model 8 "${sizes[@]}" --out "$kind"
  quietly "${train[@]}" --init-from "$kind" --rate 1e-30 --out "$kind-begun"
  report "$kind begins with a $kind" \
    "$(grep -q "weights, vocabulary and sizes are those of $kind/" log || show log)"
}
sizes=(--heads 2 --d-ff 16)
begin transformer --task copy --examples 50
begin non-autoregressive --task copy --examples 50
begin gpt --text text --block 8
begin bert --text text
printf 'a good day\t1\nthe bad day\t0\n' >labelled
begin classifier --labelled labelled
sizes=()
begin rnn --task copy --examples 50
begin conv --task copy --examples 50

# --- what is wrong is said in one line ---
import=("$glim" import --out fresh)
refuse "missing file" 'nowhere' "${import[@]}" --from torch nowhere
refuse "no format" '--from' "${import[@]}" "$files/nanogpt.safetensors"
refuse "a format that is none" "--from: 'keras' is not one of torch, nanogpt, gpt2, marian" "${import[@]}" --from keras "$files/gpt2.safetensors"
refuse "another format" 'nanogpt.safetensors: .*unexpected: _orig_mod.lm_head.weight, .* and 10 more$' "${import[@]}" --from torch "$files/nanogpt.safetensors"
printf 'PK\3\4' >model.pt
refuse "a pickle" 'model.pt: was written by torch.save; write it as safetensors: python3 -c' "${import[@]}" --from torch model.pt
head -c 3000 "$files/gpt2.safetensors" >cut.safetensors
refuse "a file that is cut off" 'cut.safetensors' "${import[@]}" --from gpt2 cut.safetensors
refuse "a checkpoint of Glim" 'gpt/best.safetensors: is a model of Glim already' "${import[@]}" --from gpt2 gpt/best.safetensors
report "no folder is left by refused files" "$([ -e fresh ] && ls fresh)"
refuse "a kind that torch does not have" "--to torch takes one of kind 'transformer'" "$glim" export --to torch bert --out no.safetensors
quietly "$glim" train --task copy --examples 50 --max-steps 1 --layers 1 --positions rotary --schedule constant --progress none --out rotary
refuse "positions that torch does not have" 'rotary/.*--positions rotary.*which torch.nn.Transformer cannot' "$glim" export --to torch rotary --out no.safetensors
for positions in '--positions none' '--position-base 50'; do
  quietly "$glim" train --task copy --examples 50 --max-steps 3 --layers 1 $positions --progress none --overwrite --out positions
  quietly "$glim" export --to torch positions --out positions.safetensors --overwrite
  quietly "$glim" import --from torch positions.safetensors --out positions-back --overwrite
  report "$positions there and back" "$(echo 3 4 5 6 | diff <(echo 3 4 5 6 | "$glim" translate --nbest 3 --model positions) \
    <(echo 3 4 5 6 | "$glim" translate --nbest 3 --model positions-back))"
done
for option in --share-qk '--norm-kind none' '--attention-scale 1'; do
  quietly "$glim" train --task copy --examples 50 --max-steps 1 --layers 1 $option --progress none --overwrite --out positions
  refuse "$option for torch" "\($option\), which torch.nn.Transformer cannot" "$glim" export --to torch positions --out no.safetensors
done
for option in --share-qk --qk-norm '--positions none' '--norm-kind rms' '--attention-scale 1.0' '--attention-form relu' '--kv-heads 1' '--feed-forward gated --activation gelu'; do
  quietly "$glim" train --kind gpt --text cats --block 16 --d-model 16 --heads 2 --max-steps 1 --layers 1 $option --progress none --overwrite --out order
  refuse "$option for nanoGPT" "has ${option%% --activation*}.*which nanoGPT cannot have" "$glim" export --to nanogpt order --out no.safetensors
done
report "no file is left by what is refused" "$([ -e no.safetensors ] && echo no.safetensors)"
summary
