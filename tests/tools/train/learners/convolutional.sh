#!/usr/bin/env bash
# convolutional.sh GLIM: models of kind conv through the same verbs as the Transformer, and positions
# within attention. They train, resume to the bit, translate, and are measured; what they have no use
# for is refused in one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../../common.sh"
copy=(train --kind conv --task copy --examples 60 --max-length 12 --d-model 16 --layers 2
      --schedule constant --progress none)
attending=(train --task copy --examples 60 --max-length 12 --layers 1 --d-model 16 --heads 2
           --d-ff 32 --schedule constant --epochs 1 --progress none)

# --- the same commands ---
printf '3 4 5 3 6\n7\n\n8 9 3\n' >lines
uses() {  # NAME OPTIONS...: trains, translates, evaluates
  local name=$1 problem=
  shift
  "$glim" "$@" --out "$name" >log 2>&1 || problem="train: $(tail -1 log)"
  "$glim" translate --model "$name" --beam 3 <lines >found 2>err || problem="translate: $(cat err)"
  [ "$(wc -l <found)" = 4 ] && [ -z "$(sed -n 3p found)" ] || problem="translate: $(cat found)"
  "$glim" evaluate --model "$name" --source lines --reference lines >log 2>&1
  grep -q BLEU log || problem="evaluate: $(tail -1 log)"
  report "$name" "$problem"
}
for kernel in 1 2 5; do uses "kernel-$kernel" "${copy[@]}" --kernel $kernel --epochs 1; done
uses sampled "${copy[@]}" --epochs 1 --scheduled-sampling 0.5 --sampling-steps 2 --guided-attention 1
for positions in sinusoidal learned rotary alibi; do
  uses $positions "${attending[@]}" --positions $positions
done

# --- resumed = never stopped ---
mkdir one two
(cd one && "$glim" "${copy[@]}" --epochs 4 --dropout 0.3 --out model >log 2>&1)
(cd two && "$glim" "${copy[@]}" --epochs 4 --dropout 0.3 --max-steps 3 --out model >log 2>&1 &&
  "$glim" train --resume --max-steps 0 --progress none --out model >log 2>&1)
# The tensors: the header says with which --max-steps each was started.
tensors() { tail -c +$(($(od -An -t u8 -N 8 "$1") + 9)) "$1" | sha256sum; }
report "a resumed run ends in the same bits" \
  "$([ "$(tensors one/model/last.safetensors)" = "$(tensors two/model/last.safetensors)" ] || tail -1 two/log)"

# --- refused ---
refuse "no kernel" '--kernel' "$glim" "${copy[@]}" --kernel 0 --out fresh
refuse "heads of a convolution" "--heads.*'conv'" "$glim" "${copy[@]}" --heads 4 --out fresh
refuse "rotary positions of a convolution" "--positions.*'conv'" "$glim" "${copy[@]}" --positions rotary --out fresh
refuse "kernel of a Transformer" '--kernel.*conv' "$glim" "${attending[@]}" --kernel 5 --out fresh
refuse "another kernel on resume" 'kernel' "$glim" train --resume --kernel 5 --progress none --out kernel-1
refuse "unknown positions" 'positions.*sinusoidal, learned, rotary, alibi' "$glim" "${attending[@]}" --positions relative --out fresh
refuse "rotary heads of odd width" 'width of a head, 5' "$glim" train --task copy --d-model 10 --heads 2 \
  --positions rotary --progress none --out fresh
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"
printf '3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8\n' >long
refuse "a sentence beyond the positions" 'long|12' "$glim" evaluate --model kernel-2 --source long --reference long

# --- a description that its tensors do not bear out ---
forge() {  # NAME PATTERN FROM TO: the checkpoint's metadata, changed at the same length
  sed "s/$3/$4/" kernel-2/best.safetensors >bad.safetensors
  cmp -s kernel-2/best.safetensors bad.safetensors && report "$1" "nothing was changed"
  refuse "$1" "$2" "$glim" translate --model bad.safetensors
}
forge "another kernel" 'bad\.safetensors.*conv\.weight' '\\"kernel\\":2' '\\"kernel\\":3'
forge "another width" 'bad\.safetensors.*src_embed' '\\"d_model\\":16' '\\"d_model\\":99'
forge "more layers" 'bad\.safetensors.*conv\.weight|bad\.safetensors.*layers' '\\"decoder_layers\\":2' '\\"decoder_layers\\":9'
forge "more positions" 'bad\.safetensors.*positions' '\\"max_len\\":13' '\\"max_len\\":99'
summary
