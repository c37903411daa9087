#!/usr/bin/env bash
# convolutional.sh GLIM: models of kind conv through the same verbs as the Transformer, and positions
# within attention. They train, resume to the bit, translate, and are measured; what they have no use
# for is refused in one line.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
copy=(train --kind conv --task copy --examples 60 --max-length 12 --d-model 16 --layers 2
      --schedule constant --progress none)
attending=(train --task copy --examples 60 --max-length 12 --layers 1 --d-model 16 --heads 2
           --d-ff 32 --schedule constant --epochs 1 --progress none)

# --- the same commands ---
for kernel in 1 2 5; do translates "kernel-$kernel" "$glim" "${copy[@]}" --kernel $kernel --epochs 1; done
translates sampled "$glim" "${copy[@]}" --epochs 1 --scheduled-sampling 0.5 --sampling-steps 2 --guided-attention 1
for positions in sinusoidal learned rotary alibi none; do
  translates $positions "$glim" "${attending[@]}" --positions $positions --share-qk
done
translates unordered "$glim" "${copy[@]}" --epochs 1 --positions none

# --- resumed = never stopped ---
resumes "$glim" "${copy[@]}"

# --- refused ---
refuse "no kernel" '--kernel' "$glim" "${copy[@]}" --kernel 0 --out fresh
refuse "heads of a convolution" "--heads.*--kind conv" "$glim" "${copy[@]}" --heads 4 --out fresh
refuse "rotary positions of a convolution" "--positions.*'rotary' is not one of sinusoidal, learned, none" "$glim" "${copy[@]}" --positions rotary --out fresh
refuse "kernel of a Transformer" '--kernel.*conv' "$glim" "${attending[@]}" --kernel 5 --out fresh
refuse "another kernel on resume" 'kernel' "$glim" train --resume --kernel 5 --progress none --out kernel-1
refuse "unknown positions" 'positions.*sinusoidal, learned, rotary, alibi, none' "$glim" "${attending[@]}" --positions relative --out fresh
refuse "rotary heads of odd width" 'width of a head, 5' "$glim" train --task copy --d-model 10 --heads 2 \
  --positions rotary --progress none --out fresh
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"
printf '3 4 5 6 7 8 9 3 4 5 6 7 8 9 3 4 5 6 7 8\n' >long
refuse "a sentence beyond the positions" 'long|12' "$glim" evaluate --model kernel-2 --source long --target long

# --- a description that its tensors do not bear out ---
genuine=kernel-2/best.safetensors reads=(translate --model bad.safetensors)
forge "another kernel" 'bad\.safetensors.*conv\.weight' '\\"kernel\\":2' '\\"kernel\\":3'
forge "another width" 'bad\.safetensors.*has another shape' '\\"d_model\\":16' '\\"d_model\\":99'
forge "more layers" 'bad\.safetensors.*conv\.weight|bad\.safetensors.*layers' '\\"decoder_layers\\":2' '\\"decoder_layers\\":9'
forge "more positions" 'bad\.safetensors.*positions' '\\"max_len\\":13' '\\"max_len\\":99'
summary
