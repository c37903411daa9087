#!/usr/bin/env bash
# one_hash.sh GLIM_BENCH GLIM MAKE_IMAGES: the weights after some steps of training are the same bits with every
# instruction set of this CPU and for 1, 2 and 16 threads, and the constants below, on any machine
# (tensor/numerics.md).
set -uo pipefail
bench=$(realpath "$1") glim=$(realpath "$2") make=$(realpath "$3")
source "$(dirname "$0")/../common.sh"
"$make" . || { echo "0 passed, 1 failed"; exit 1; }
for i in {1..60}; do printf 'good\tthe day is fair %d\nbad\tnay, it rained all of %d days\n' "$i" "$i"; done >labelled

golden() {  # NAME HASH WAYS COMMAND...: the last word that the command prints is the hash; a way is SET:THREADS
  local name=$1 wanted=$2 ways=$3 way got
  shift 3
  for way in $ways; do
    GLIM_ISA=${way%:*} "$bench" hash micro --steps 1 >/dev/null 2>&1 || continue
    got=$(GLIM_ISA=${way%:*} OMP_NUM_THREADS=${way#*:} timeout 600 "$@" 2>err | tail -n 1)
    report "$name, $way" "$([ "${got##* }" = "$wanted" ] || echo "$got, not $wanted $(cat err)")"
  done
}
ways="baseline:2 avx2:1 avx2:16 avx512:1 avx512:2"
golden "micro, 200 steps" 5966b1674d1cf174 "$ways" "$bench" hash micro --steps 200
golden "gpt-char, 20 steps" e0714774c5670703 "avx2:2 avx512:1" "$bench" hash gpt-char --steps 20
golden "tiny, 4 steps" d53789ff69add044 "avx2:2 avx512:1" "$bench" hash tiny --steps 4

trained() {  # NAME HASH OPTIONS...: ten updates by the program
  local name=$1 wanted=$2
  shift 2
  golden "$name, 10 steps" "$wanted" "$ways" "$glim" train --max-steps 10 --dropout 0.1 --d-model 32 \
    --progress none --overwrite --out "$name" "$@"
}
pairs=(--task copy --examples 400)
layers=(--layers 2 --heads 2 --d-ff 64)
trained transformer bb4ee30e858b4e4f "${pairs[@]}" "${layers[@]}"
trained rnn 8e10733d2d5790d6 --kind rnn "${pairs[@]}" --layers 2
trained conv 64d07bc2a50a1104 --kind conv "${pairs[@]}" --layers 2
trained non-autoregressive b23e75eaa40d5d99 --kind non-autoregressive "${pairs[@]}" "${layers[@]}"
trained classifier ea94e3eb08fb9e6f --kind classifier --labelled labelled --valid-share 0 --batch-sentences 16 "${layers[@]}"
trained vit f7f3b1d173889e76 --kind vit --images images.idx.gz --labels labels.idx --patch 4 --valid-share 0 --batch-sentences 16 "${layers[@]}"
for i in {1..60}; do printf 'day\tB-T\n%d\tI-T\nis\tO\nfair\tO\n\n' "$i"; done >tagged
trained tagger 787182fc296a09cf --kind tagger --labelled tagged --valid-share 0 --batch-sentences 16 "${layers[@]}"
trained cnn f556cf6e5e0402aa --kind cnn --images images.idx.gz --labels labels.idx --layers 2 --valid-share 0 --batch-sentences 16

# Products of operands rounded to bfloat16 (--matmul-precision medium): by AMX too, where the system grants it.
ways="baseline:2 avx2:1 avx2:16 avx512:1 avx512:2 amx:1 amx:2 amx:16"
medium=(--matmul-precision medium)
golden "tiny in bfloat16, 2 steps" 195724fa67842919 "avx2:2 avx512:1 amx:2" "$bench" hash tiny --steps 2 "${medium[@]}"
golden "gpt-char in bfloat16, 5 steps" 4127686d43836d2e "avx2:2 avx512:1 amx:2" "$bench" hash gpt-char --steps 5 "${medium[@]}"
layers=(--layers 2 --heads 1 --d-ff 64)
trained transformer-bfloat16 a2fad94ceba50441 "${medium[@]}" "${pairs[@]}" "${layers[@]}"
trained pre-norm-bfloat16 32f8314bd0ad849a "${medium[@]}" "${pairs[@]}" --layers 1 --heads 1 --d-ff 96 --norm pre --label-smoothing 0.1
for i in {1..60}; do echo "the day is fair $i, and nay, it rained all of $i days"; done >text
trained gpt-bfloat16 5ea4ac37ab83d225 "${medium[@]}" --kind gpt --text text --tokenizer char --block 32 "${layers[@]}"
trained rnn-bfloat16 a57a9ca9e25413b1 "${medium[@]}" --kind rnn "${pairs[@]}" --layers 2
trained conv-bfloat16 a889e21808cf9e2f "${medium[@]}" --kind conv "${pairs[@]}" --layers 2
trained non-autoregressive-bfloat16 d74569a2eab11856 "${medium[@]}" --kind non-autoregressive "${pairs[@]}" "${layers[@]}"
trained classifier-bfloat16 a8ef2ddee4c2f6da "${medium[@]}" --kind classifier --labelled labelled --valid-share 0 --batch-sentences 16 "${layers[@]}"
trained vit-bfloat16 abb43285025ecc89 "${medium[@]}" --kind vit --images images.idx.gz --labels labels.idx --patch 4 --valid-share 0 --batch-sentences 16 "${layers[@]}"
trained tagger-bfloat16 7247e12d1f6065fd "${medium[@]}" --kind tagger --labelled tagged --valid-share 0 --batch-sentences 16 "${layers[@]}"
trained cnn-bfloat16 52af49be872188ec "${medium[@]}" --kind cnn --images images.idx.gz --labels labels.idx --layers 2 --valid-share 0 --batch-sentences 16
summary && [ "$passed" -gt 0 ]
