#!/usr/bin/env bash
# short_run.sh GLIM: a run of a few steps leaves enough lines to see it, and one that is complete says so and what
# would go on.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
train=("$glim" train --task copy --batch-sentences 8 --layers 1 --d-model 16 --heads 2 --d-ff 32
  --progress none)
steps() { grep '"train"' "$1/metrics.jsonl" | grep -o '"step":[0-9]*' | tr -dc '0-9\n' | tr '\n' ' '; }
complete() {  # NAME PATTERN ARGS...: resuming changes nothing and says so
  local name=$1 pattern=$2 before
  shift 2
  before=$(cat "$name"/* | sha256sum)
  "$glim" train --resume --progress none --out "$name" "$@" >log 2>&1 || report "$name is complete" "status $?"
  report "$name is complete" "$(grep -Eq -- "$pattern" log || show log)"
  report "$name is left alone" "$([ "$(cat "$name"/* | sha256sum)" = "$before" ] || echo "it changed")"
}

"${train[@]}" --examples 64 --epochs 3 --warmup 4 --out three >log 2>&1 || cat log
report "24 steps: each is a line" "$([ "$(steps three | wc -w)" = 24 ] || steps three)"
"${train[@]}" --examples 64 --epochs 1 --max-steps 5 --warmup 2 --out five >log 2>&1 || cat log
report "5 steps: each is a line" "$([ "$(steps five)" = "1 2 3 4 5 " ] || steps five)"
"${train[@]}" --examples 56 --epochs 11 --warmup 4 --out eleven >log 2>&1 || cat log
report "77 steps: 20 lines at least, and each epoch's last" "$(
  [ "$(steps eleven | wc -w)" -ge 20 ] || steps eleven
  for ((s = 7; s <= 77; s += 7)); do [[ " $(steps eleven)" = *" $s "* ]] || echo "no $s"; done)"
"${train[@]}" --examples 64 --epochs 3 --warmup 4 --log-every 10 --out ten >log 2>&1 || cat log
report "what is asked for is what there is" "$([ "$(steps ten)" = "10 20 " ] || steps ten)"

"${train[@]}" --examples 56 --epochs 11 --warmup 4 --record --out recorded >log 2>&1 || cat log
report "a short run has 20 records" "$([ "$(grep -c '"rms"' recorded/recording.jsonl)" -ge 20 ] || show recorded/recording.jsonl)"

complete three 'three is complete: epoch 3 of 3, step 24\. To go on: glim train --resume --out three --epochs 6$'
complete five 'step 5 of 5\. To go on: .* --max-steps 10$'
"$glim" train --resume --out three --epochs 4 --progress none >log 2>&1
report "with more epochs it goes on" "$([ "$(steps three | wc -w)" -ge 32 ] || show log)"
complete three 'epoch 4 of 2, .* --epochs 8$' --epochs 2
complete three 'step 32 of 3\. To go on: .* --epochs 8 --max-steps 64$' --max-steps 3
"$glim" train --resume --out three --epochs 8 --max-steps 64 --progress none >log 2>&1
report "as advised it goes on" "$([[ $(steps three) = *" 64 " ]] || show log)"
"${train[@]}" --examples 64 --epochs 9 --warmup 4 --rate 1e-12 --patience 1 --out early >log 2>&1 || cat log
complete early 'validations? without improvement\. To go on: .* --patience 2$'
# A trial of a run is made again after it was resumed.
"$glim" train --task copy --batch-sentences 8 --layers 1 --d-model 16 --heads 2 --d-ff 32 --examples 64 --epochs 4 \
  --max-steps 16 --warmup 4 --try-every 1 --enough 0.9 --progress lines --out tried >log 2>&1
report "trials" "$([ "$(grep -c ' validation sentences' log)" = 2 ] || show log)"
"$glim" train --resume --out tried --max-steps 32 --progress lines >log 2>&1
report "trials after resuming" "$([ "$(grep -c ' validation sentences' log)" = 2 ] || show log)"
# --- what else is in the folder ---
mkdir mixed
for name in gpt2 step-by-step best; do cp three/best.safetensors mixed/$name.safetensors; done
"${train[@]}" --examples 64 --epochs 1 --out mixed >log 2>&1 || cat log
report "models of other names stay" "$(ls mixed/gpt2.safetensors mixed/step-by-step.safetensors 2>&1 >/dev/null)"
# --- an average over more epochs than were kept ---
"${train[@]}" --examples 64 --epochs 2 --average 0 --out mean >log 2>&1
"$glim" train --resume --out mean --epochs 4 --average 3 --progress none >log 2>&1 || report "more to average" "$(show log)"
report "averages what is there, and says so" "$(grep -q '^average: of 2 epochs, not 3: ' log || show log)"
# --- the peak rate ---
schedule() { grep '^schedule' "$1"; }
noam=("${train[@]}" --examples 64 --schedule noam)
"${noam[@]}" --epochs 1 --rate 1e-3 --out peak >log 2>&1
report "--rate is noam's peak" "$(schedule log | grep -q 'peak rate 0.001 at step 1$' || show log)"
"${noam[@]}" --epochs 1 --warmup 400 --noam-factor 1 --out long >log 2>&1
report "noam's factor" "$(schedule log | grep -q 'factor 1, d_model 16, warmup 400; peak rate 0.0125 at' || show log)"
"${noam[@]}" --epochs 5 --noam-factor 1 --out factor >log 2>&1
report "a shorter warm-up keeps the peak" "$(schedule log | grep -q 'warmup 4; peak rate 0.02041 at step 4$' || show log)"
refuse "a factor and a rate" '--noam-factor: and --rate both say' "${noam[@]}" --noam-factor 1 --rate 1e-3 --out no
refuse "a factor without noam" '--noam-factor: needs --schedule noam' "${train[@]}" --noam-factor 1 --schedule cosine --out no
refuse "a factor for a rate" '--rate: .*--noam-factor 2' "${noam[@]}" --rate 2 --out no
summary
