#!/usr/bin/env bash
# recurrent.sh GLIM: models of kind rnn through the same verbs as the Transformer. Each cell and
# attention trains, resumes to the bit, translates, and is measured; what a recurrent model has no
# use for, and what no model can be made of, is refused in one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
small=(--kind rnn --d-embed 8 --schedule constant --progress none)
tiny=(train "${small[@]}" --task copy --examples 60 --max-length 12)
copy=("${tiny[@]}" --d-model 16)

# --- every cell and attention, by the same commands ---
for cell in gru lstm rnn; do
  for attention in additive dot general concat; do
    layers=1; [ "$attention" = general ] && layers=2
    translates "$cell-$attention" "$glim" "${copy[@]}" --cell $cell --attention $attention --layers $layers --epochs 2
  done
done

translates none "$glim" "${copy[@]}" --attention none --epochs 2
refuse "what a model without attention attended to" '--alignments: none has no attention: it was trained with --attention none' \
  "$glim" translate --model none --alignments <lines

# --- resumed = never stopped ---
resumes "$glim" "${copy[@]}"

# --- it learns ---
"$glim" train --kind rnn --task reverse --epochs 6 --progress none --out reverse >log 2>&1
exact=$(sed -n 's/^exact match: \([0-9]*\) of 200.*/\1/p' log)
report "reverses unseen sequences" "$([ "${exact:-0}" -ge 150 ] || echo "${exact:-none} of 200")"

printf '7 3 5 9 4 8\n' | "$glim" translate --model reverse --alignments >aligned 2>err
report "and attends from the end" "$(grep -q '5-0.*0-5' aligned || show aligned err)"

# --- refused ---
refuse "unknown cell" 'cell.*gru, lstm, rnn' "$glim" "${copy[@]}" --cell qrnn --out fresh
refuse "unknown attention" 'attention.*additive, dot, general, concat' "$glim" "${copy[@]}" --attention sharp --out fresh
refuse "odd width for dot attention" 'd-model.*even' "$glim" "${tiny[@]}" --d-model 15 --attention dot --out fresh
refuse "no width of embeddings" 'd-embed' "$glim" "${copy[@]}" --d-embed 0 --out fresh
refuse "heads of an RNN" "--heads.*--kind rnn" "$glim" "${copy[@]}" --heads 4 --out fresh
refuse "tied weights of an RNN" "--tie.*--kind rnn" "$glim" "${copy[@]}" --tie decoder --out fresh
refuse "decoder layers of an RNN" "--decoder-layers.*--kind rnn" "$glim" "${copy[@]}" --decoder-layers 2 --out fresh
refuse "cell of a Transformer" '--cell.*rnn' "$glim" train --task copy --cell lstm --progress none --out fresh
refuse "another kind on resume" 'kind' "$glim" train --resume --kind transformer --progress none --out reverse
refuse "another cell on resume" 'cell' "$glim" train --resume --cell lstm --progress none --out reverse
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"

# --- a description that its tensors do not bear out ---
genuine=gru-additive/best.safetensors reads=(translate --model bad.safetensors)
forge "another cell" 'bad\.safetensors.*weight_hh_l0|bad\.safetensors' '\\"cell\\":\\"gru\\"' '\\"cell\\":\\"rnn\\"'
forge "another width" 'bad\.safetensors.*has another shape' '\\"d_model\\":16' '\\"d_model\\":99'
forge "more layers" 'bad\.safetensors: .*missing: ' '\\"layers\\":1' '\\"layers\\":9'
forge "an unknown attention" 'bad\.safetensors.*attention' '\\"attention\\":\\"additive' '\\"attention\\":\\"addative'
summary
