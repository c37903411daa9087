#!/usr/bin/env bash
# bad_input.sh GLIM: whatever a user hands in, the answer is one line that names file, line or option,
# a status other than 0, no crash, and no model lost or half written.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
small=(--layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 --progress none)

limited() { timeout 600 "$glim" "$@"; }
train_on() { limited train --source "$1" --target "$2" "${small[@]}" --out fresh; }

printf 'a b c\nd e f\ng h i\n' >good.src
printf 'x y z\nu v w\nr s t\n' >good.tgt
printf 'a b\n\xff\xfe c\nd e\n' >latin.src
printf 'a\nb\n' >short.tgt
printf '' >empty.src
printf '\n \n\n' >blank.src
printf 'a\0b\nc\nd\n' >zero.src

# --- text ---
refuse "missing file" 'nowhere\.txt' train_on nowhere.txt good.tgt
refuse "empty file" 'empty\.src is empty' train_on empty.src good.tgt
refuse "blank lines only" 'blank' train_on blank.src good.tgt
refuse "unequal numbers of lines" 'good\.src has 3 lines, short\.tgt has 2' train_on good.src short.tgt
refuse "invalid UTF-8" 'latin\.src:2: invalid UTF-8' train_on latin.src good.tgt
gzip -c good.src >packed.src.gz
refuse "a packed text" 'packed\.src\.gz: is packed: gunzip' train_on packed.src.gz good.tgt
refuse "zero byte" 'zero\.src:1' train_on zero.src good.tgt
refuse "a folder as text" 'directory' train_on . good.tgt
report "no folder is left by refused text" "$([ -e fresh ] && ls fresh)"

# --- options ---
refuse "unknown option" 'layerz' limited train --layerz 3
refuse "unknown verb" "'trian'.*did you mean train" limited trian
refuse "no number" 'layers' limited train --layers many
refuse "a flag with a value that is none" '=true or =false' limited train --bias=maybe
refuse "the empty name of a folder" '--out: the name is empty' limited evaluate --out ''
refuse "the empty name of a model" '--model: the name is empty' limited translate --model ''
for verb in step inspect; do
  refuse "$verb without a model" "^glim: error: --model: the folder 'model' does not exist: .glim train. makes .*, --fresh" limited $verb
done
refuse "translate without a model" "^glim: error: --model: the folder 'model' does not exist: .glim train. makes .* names another$" limited translate
refuse "a model's folder that is not there" '^glim: error: nowhere: no such file or folder$' limited step --model nowhere
refuse "an empty number" "layers: '' is not a whole number" limited train --layers ''
refuse "a number too large" 'layers: .* beyond' limited train --layers 99999999999999999999
refuse "enough of what is never tried" 'enough.*try-every' limited train --task copy --enough 0.5 --out fresh
refuse "more than all" 'enough' limited train --try-every 1 --enough 2 --out fresh
refuse "trials of a kind that does not translate" 'try-every.*gpt' limited train --kind gpt --text good.src --try-every 1 --out fresh
refuse "heads do not divide d-model" 'heads' limited train --d-model 30 --heads 4 --out fresh
refuse "resume and overwrite" 'resume|overwrite' limited train --resume --overwrite --out fresh
refuse "unknown task" 'task' limited train --task juggling --out fresh
refuse "phrasebook and files" 'task|source' limited train --task phrasebook --source good.src --target good.tgt --out fresh
refuse "source without target" 'target' limited train --source good.src --out fresh
refuse "dropout beyond 1" 'dropout' limited train --dropout 1.5 --out fresh
refuse "embeddings of a negative deviation" 'embedding-init' limited train --embedding-init -1 --out fresh
refuse "initial embeddings of another kind" 'embedding-init.*rnn' limited train --kind rnn --embedding-init 0.1 --task copy --out fresh
refuse "no such layers to run again" 'recompute.*none, encoder, all' limited train --recompute some --out fresh
refuse "layers run again by another kind" 'recompute.*gpt' limited train --kind gpt --text good.src --recompute all --out fresh
refuse "a program that is not there" 'no-such.*asked for the inputs: .*not found' limited gradcheck --program no-such
refuse "a program that does not reply" 'no reply within 0\.2 s \(--timeout\)' limited gradcheck --program 'sleep 60' --timeout 0.2
limited gradcheck --program 'echo $$ >child; exec sleep 600' 2>err &
wait_until test -s child
kill -TERM $!
gone() { ! grep -q '^State:.[^Z]' "/proc/$(cat child)/status" 2>/dev/null; }  # a zombie is
wait_until gone
report "a program that hangs ends with glim" "$(gone || echo 'it runs on')"
refuse "ops by name in a program" 'only is not for --program' limited gradcheck --program cat --only relu
refuse "a time limit without a program" 'timeout is for --program alone' limited gradcheck --timeout 3
refuse "missing configuration" 'no\.toml' limited train --config no.toml --out fresh
printf 'layerz = 3\n' >unknown.toml
refuse "unknown key" "unknown\.toml:1: 'layerz'.*did you mean layers" limited train --config unknown.toml --out fresh
printf 'layers = "many"\n' >value.toml
refuse "value that is none" 'value\.toml:1: layers' limited train --config value.toml --out fresh
refuse "a share without end" 'attention-dropout: must be finite, not -inf' limited train --task copy --attention-dropout -inf --out fresh
refuse "a rate that is no number" 'rate: must be finite, not nan' limited train --task copy --rate nan --out fresh
for line in 'layers = 01' 'dropout = .5' 'layers = 2_' 'dropout = 1.' "layers = 2 # $(printf '\001')"; do
  echo "$line" >wrong.toml
  refuse "no TOML: $line" 'wrong\.toml:1: .*(is not a TOML number|has a control character)' limited train --config wrong.toml --out fresh
done
printf 'layers = "2"\n' >quoted.toml
refuse "a number in quotation marks" 'quoted\.toml:1: layers: leave out the quotation marks' limited train --config quoted.toml --out fresh
refuse "a file of /proc as configuration" '/proc/self/status: does not say how long it is' limited train --config /proc/self/status --out fresh
refuse "a file of /proc that cannot be read" '/proc/self/mem: cannot be read: ' limited train --config /proc/self/mem --out fresh
ln -s loop loop
refuse "a link to itself as checkpoint" '^glim: error: loop: Too many levels of symbolic links$' limited average loop --out fresh
refuse "a link to itself as course" '^glim: error: loop: Too many levels of symbolic links$' limited course check --folder loop
# A number counts as float32 has it.
refuse "an epsilon of 0" 'epsilon: 1e-50 is 0 in float32; --precision float64' limited train --task copy --epsilon 1e-50 --out fresh
refuse "a rate of 0" 'rate: 1e-60 is 0 in float32' limited train --task copy --rate 1e-60 --out fresh
refuse "an infinite rate" 'rate: 1e\+39 is inf in float32' limited train --task copy --rate 1e39 --out fresh
refuse "a dropout of 1" 'dropout: 0\.9999999999 is 1 in float32' limited train --task copy --dropout 0.9999999999 --out fresh
refuse "a beam beyond memory" 'beam: must be 1 to 1000, not 1000000' limited translate --beam 1000000
refuse "attributions without end" 'attribution-steps: must be 0 to 10000' limited inspect --attribution-steps 100000000
printf 'dropout = inf\n' >infinite.toml
refuse "an infinite number in a configuration" 'infinite\.toml:1: dropout: must be finite' limited train --config infinite.toml --out fresh
refuse "a seed that JSON cannot hold" 'seed: must be 9007199254740992 at most' limited train --task copy --seed 9223372036854775807 --out fresh
limited train --help-all >out
report "help says the ranges" "$(grep -Eq 'dropout probability \[0 to below 1\]' out || echo "it does not")"
# --- more than this machine has ---
refuse "more examples than memory" 'examples: 10000000000 examples need at least 2\.56 TB.*this machine has' limited train --task copy --examples 10000000000 --out fresh
refuse "more layers than memory" '100000000 layers.*this machine has' limited train --task copy --layers 100000000 --out fresh
refuse "a width beyond memory" 'width 100000000 .*this machine has' limited train --task copy --d-model 100000000 --out fresh
for verb in inspect step derive; do
  refuse "a fresh model beyond memory in $verb" '100000000 layers.*this machine has' limited $verb --fresh --task copy --layers 100000000
  refuse "a fresh width beyond memory in $verb" 'width 100000000 .*this machine has' limited $verb --fresh --task copy --d-model 100000000
done
refuse "a kernel beyond memory" 'kernel 1000000,.*this machine has' limited train --kind conv --task copy --kernel 1000000 --out fresh
refuse "positions beyond memory" 'max-length 9000000000.*this machine has' limited train --task copy --max-length 9000000000 --out fresh
refuse "a device as configuration" '/dev/zero: is not a regular file' limited train --config /dev/zero --out fresh
mkfifo pipe
refuse "a pipe as configuration" 'pipe: is not a regular file' limited train --config pipe --out fresh
head -c 2000000 /dev/zero >large.toml
refuse "a configuration of 2 MB" 'large\.toml: has 2000000 bytes' limited train --config large.toml --out fresh
refuse "a device as text" '/dev/zero: is a device' train_on /dev/zero good.tgt
# --- what a message echoes ---
clean() { if grep -q "[^ -~]" err || [ "$(wc -c <err)" -gt 1200 ]; then echo "it holds $(head -c 200 err | od -c | head -5)"; fi; }
refuse "an escape sequence as task" "task: '.x1b\[31mred' is not one of" limited train --task $'\e[31mred' --out fresh
report "is shown as text" "$(clean)"
refuse "bytes that are no text as task" 'task: .*xff' limited train --task $'\xff\xfe' --out fresh
report "are shown as text" "$(LC_ALL=C clean)"
refuse "10,000 bytes as task" 'task: .*is not one of|bytes' limited train --task "$(head -c 10000 /dev/zero | tr '\0' x)" --out fresh
report "are shown in part" "$(LC_ALL=C; sed 's/…/.../g' err >short; mv short err; clean)"
refuse "an instruction set that is none" "GLIM_ISA: 'sse' is not one of [a-z0-9, ]*$" env GLIM_ISA=sse "$glim" doctor
refuse "an engine that is none" "--gemm: 'mkl' is not one of builtin, openblas$" "$glim" translate --model nowhere --gemm mkl
refuse "a product that is none" "GLIM_GEMM: 'mkl' is not one of builtin, openblas$" env GLIM_GEMM=mkl "$glim" translate --model nowhere
refuse "bfloat16 in float64" '--matmul-precision: medium rounds products of float32; --precision is float64$' limited train --task copy --precision float64 --matmul-precision medium --out fresh
refuse "bfloat16 by OpenBLAS" 'medium needs the builtin GEMM, not openblas$' limited train --task copy --gemm openblas --matmul-precision medium --out fresh
refuse "a check in bfloat16" 'there is no option --matmul-precision: it is an option of glim train$' limited gradcheck --matmul-precision medium
refuse "nothing to resume" 'nothing/last\.safetensors' limited train --resume --out nothing
# A run ends with the first trial that is good enough, and not before.
limited train --task copy --examples 2000 --layers 1 --d-model 32 --heads 2 --d-ff 64 --rate 1e-2 --epochs 30 --try-every 2 \
  --enough 0.2 --out enough >out 2>err
shares=$(grep -oE '[0-9.]+ % of 200 validation' err | cut -d' ' -f1)
report "training stops when it is enough" "$(awk -v epochs="$(grep -c '^epoch' err)" '
  { if (last >= 20) early = 1; last = $1; ++n }
  END { if (early || last < 20 || epochs != 2 * n || epochs >= 30) print epochs " epochs, trials end at " last " %" }' <<<"$shares")"
report "no folder is left by refused options" "$([ -e fresh ] && ls fresh)"

# --- a model to mistreat ---
"$glim" train --task copy --examples 40 --max-length 12 "${small[@]}" --out model >/dev/null 2>err ||
  { cat err; exit 1; }
sum() { cat model/*.safetensors | sha256sum; }
before=$(sum)
refuse "a model is there" 'holds a model' limited train --task copy "${small[@]}" --out model
refuse "other data on resume" 'examples' limited train --task copy --examples 41 --resume --out model

# --- copying, distillation, guidance, sampling, outputs at once ---
parallel() { limited train --task copy --kind non-autoregressive "${small[@]}" --out fresh "$@"; }
refuse "copying pieces" 'copy.*word, char or mixed' limited train --copy --tokenizer sentencepiece-bpe "${small[@]}" --out fresh
refuse "copying at once" 'copy.*non-autoregressive' parallel --copy
refuse "sampling at once" 'scheduled-sampling.*non-autoregressive' parallel --scheduled-sampling 0.5
refuse "an unknown kind of length" "length.*'short'.*predict, long" parallel --length short
refuse "sampling beyond 1" 'scheduled-sampling: must be 0 to 1, not 1.5' limited train --task copy --scheduled-sampling 1.5 --out fresh
refuse "an unknown sampling schedule" 'sampling-schedule.*inverse-sigmoid' limited train --task copy --sampling-schedule cubic --out fresh
refuse "no steps to sample in" 'sampling-steps' limited train --task copy --sampling-steps 0 --out fresh
refuse "a negative guidance" 'guided-attention' limited train --task copy --guided-attention -1 --out fresh
refuse "a width of nothing" 'guided-width' limited train --task copy --guided-width 0 --out fresh
refuse "no teacher there" 'nowhere' limited train --task copy --teacher nowhere "${small[@]}" --out fresh
refuse "a teacher that is no model" 'good\.src' limited train --task copy --teacher good.src "${small[@]}" --out fresh
refuse "a teacher without a beam" 'teacher-beam' limited train --task copy --teacher model --teacher-beam 0 --out fresh
refuse "an output length of a Transformer" 'length.*non-autoregressive' limited train --task copy --length long "${small[@]}" --out fresh
refuse "comparing an unknown kind" 'kinds.*abacus.*transformer' limited compare --kinds abacus --out fresh
refuse "comparing without references" 'test-target' limited compare --task copy --test-source good.src --out fresh
refuse "comparing files without a test" 'test-source' limited compare --source good.src --target good.tgt --out fresh
refuse "comparing what is no model" 'good\.src' limited compare --models good.src --test-source good.src --test-target good.tgt
refuse "comparing trained models by kind" 'models' limited compare --models model --kinds rnn
refuse "comparing trained models by training data" 'leave out --pairs, or name --test-pairs' limited compare --models model --pairs new.csv
refuse "comparing a kind with itself" 'kinds.*rnn.*twice' limited compare --kinds rnn,rnn --out fresh
refuse "comparing with no beam" 'beam' limited compare --beam 0 --out fresh
report "no folder is left by refused variants" "$([ -e fresh ] && ls fresh)"

# --- hostile checkpoints ---
hostile() {  # NAME PATTERN: the file is bad.safetensors
  refuse "$1" "$2" limited translate --model bad.safetensors <good.src
}
header() {  # JSON: a safetensors file with this header and 64 bytes of data
  local n=${#1}
  printf "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) 0)\\0\\0\\0\\0%s" "$1" >bad.safetensors
  head -c 64 /dev/zero >>bad.safetensors
}
head -c 5 model/last.safetensors >bad.safetensors;    hostile "5 bytes" 'bad\.safetensors'
head -c 3000 model/last.safetensors >bad.safetensors; hostile "truncated" 'bad\.safetensors'
cp model/last.safetensors bad.safetensors; head -c 100 /dev/zero >>bad.safetensors
hostile "oversized" 'bad\.safetensors'
printf '\xff\xff\xff\xff\xff\xff\xff\x7f{}' >bad.safetensors
hostile "header length beyond the file" 'bad\.safetensors'
header '{"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]},"b":{"dtype":"F32","shape":[8],"data_offsets":[16,48]}}'
hostile "overlapping offsets" 'bad\.safetensors'
header '{"a":{"dtype":"F32","shape":[8],"data_offsets":[64,96]}}'
hostile "offsets out of range" 'bad\.safetensors'
header '{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,64]}}'
hostile "shape that overflows" 'bad\.safetensors'
header '{"a":{"dtype":"Q7","shape":[16],"data_offsets":[0,64]}}'
hostile "unknown dtype" 'bad\.safetensors'
header '{"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}}'
hostile "no checkpoint of Glim" 'bad\.safetensors'
head -c 5000 /dev/urandom >bad.safetensors; hostile "noise" 'bad\.safetensors'
# damaged FILE: its last elements are 0; unsound FILE WEIGHT: the last of its elements is NaN, and there is no checksum.
damaged() {
  cp "$1" bad.safetensors
  head -c 400 /dev/zero | dd of=bad.safetensors bs=1 seek=$(($(stat -c %s "$1") - 400)) conv=notrunc status=none
}
unsound() {
  unchecked "$1" >bad.safetensors
  printf '\0\0\300\177' | dd of=bad.safetensors bs=1 seek=$(($(stat -c %s "$1") - 4)) conv=notrunc status=none
}
checksum='bad\.safetensors: does not match its glim_checksum: it is damaged'
infinite='bad\.safetensors: its tensor .* is not finite'
damaged model/best.safetensors; hostile "zeros in a model" "$checksum"
unsound model/best.safetensors; hostile "a weight that is NaN" "$infinite"
refuse "as one of a mean" "$infinite" limited average model/best.safetensors bad.safetensors --out mean.safetensors
refuse "as a beginning" "$infinite" limited train --init-from bad.safetensors --task copy "${small[@]}" --out fresh
refuse "as a teacher" "$infinite" limited train --task copy --teacher bad.safetensors "${small[@]}" --out fresh
damaged model/last.safetensors; cp -r model broken; mv bad.safetensors broken/last.safetensors
resumed() { limited train --resume --epochs 2 --progress none --out broken; }
refuse "zeros to resume from" 'broken/last\.safetensors: does not match its glim_checksum' resumed
unsound model/last.safetensors; mv bad.safetensors broken/last.safetensors
refuse "a number that is not finite to resume from" 'broken/last\.safetensors: its tensor .* is not finite' resumed
refuse "no model there" 'nowhere' limited translate --model nowhere <good.src

# --- translation ---
printf '1 2 3 4 5 6 7 8 9 10 1 2 3 4 5 6\n' >long.src
refuse "line beyond the maximum" ':1' limited translate --model model <long.src
printf '1 2\n\xff\n' >bad.src
refuse "invalid UTF-8 to translate" ':2' limited translate --model model <bad.src
{ echo '1 2'; head -c 20000000 /dev/zero | tr '\0' 1; echo; } >wide.src
refuse "a line of 20 MB to translate" 'standard input:2: more than 1048576 bytes' limited translate --model model <wide.src
refuse "a line of 20 MB to train on" 'wide\.src:2: more than 1048576 bytes' train_on wide.src wide.src
printf '1 2\r\n\n3 4\n' | "$glim" translate --model model >out 2>err
report "CRLF and an empty line: a line each" "$([ "$(wc -l <out)" = 3 ] && [ -z "$(sed -n 2p out)" ] && ! grep -q $'\r' out || show out err)"
refuse "n-best beyond the beam" 'n-?best' limited translate --model model --beam 2 --nbest 3 <good.src

# --- the longest lines, of 1 MB (of 300 KB under sanitizers), which must not take longer than they are long ---
long=1000000
[ "${2:-}" != '~[slow]' ] || long=300000
head -c $long /dev/zero | tr '\0' q >unknown.src
head -c $long /dev/zero | tr '\0' a >known.src
seq 200000 | tr '\n' ' ' | head -c $long >words.src
for tokenizer in word char mixed sentencepiece-unigram sentencepiece-bpe; do
  copy=(); [ $tokenizer != mixed ] || copy=(--copy)
  "$glim" train --source good.src --target good.tgt --tokenizer $tokenizer --vocabulary 14 --max-length 20 \
    "${copy[@]}" "${small[@]}" --out $tokenizer >/dev/null 2>err || { cat err; exit 1; }
  case $tokenizer in
    word | mixed) line=words ;;
    *) line=known ;;
  esac
  refuse "a long line: $tokenizer" ':1: at least [0-9]+ tokens, the model takes at most 20' \
    limited translate --model $tokenizer <$line.src
  for line in unknown known words; do echo | cat $line.src -; done >all.src
  limited translate --truncate --beam 1 --model $tokenizer <all.src >out 2>err
  report "long lines, cut: $tokenizer" "$([ "$(wc -l <out)" = 3 ] || show out err)"
done

# --- output that cannot be written ---
printf '1 2\n' >two.src
full() { timeout 600 "$glim" translate --model model <two.src >/dev/full; }
closed() { timeout 600 "$glim" translate --model model <two.src >&-; }
refuse "full disk on standard output" 'standard output' full
refuse "help on a full disk" 'standard output' sh -c "exec '$glim' --help >/dev/full"
refuse "a verb's help on a full disk" 'standard output' sh -c "exec '$glim' train --help >/dev/full"
refuse "the version on a full disk" 'standard output' sh -c "exec '$glim' --version >/dev/full"
refuse "closed standard output" 'standard output' closed

# --- studies ---
refuse "unknown study" "study: 'scalling' is not one of .*did you mean scaling" limited study scalling
refuse "no study" 'study --list' limited study
refuse "no seeds" 'seeds' limited study scaling --seeds 0
refuse "a seed below zero" 'seed' limited study scaling --seed -1
refuse "a file as the studies' folder" 'good\.src' limited study scaling --quick --out good.src
refuse "a studies' folder that takes no files" '/proc: no file' limited study scaling --out /proc
refuse "a name beside --list" '\-\-list' limited study --list scaling
report "a study runs at small sizes" "$(limited study identical-tokens --quick --seeds 1 2>&1 >/dev/null)"

# A file-size limit is a full disk that needs no root; SIGXFSZ is ignored so that the write fails.
no_room() {
  (trap '' XFSZ; ulimit -f 8; timeout 600 "$glim" train --task copy --epochs 9 --resume --progress none --out model)
}
refuse "full disk for a checkpoint" 'last\.safetensors|best\.safetensors|model' no_room
report "the model survives all of this" "$([ "$before" = "$(sum)" ] || echo "it changed")"
report "and still translates" "$(printf '1 2\n' | "$glim" translate --model model 2>&1 >/dev/null)"

overwrite_without_room() {
  (trap '' XFSZ; ulimit -f 8
   limited train --task copy --examples 40 "${small[@]}" --overwrite --out model)
}
refuse "full disk while overwriting" 'model/.*cannot write' overwrite_without_room
report "the old model survives a failed --overwrite" "$([ "$before" = "$(sum)" ] || echo "it changed")"

# --- two runs in one folder ---
working='both/rnn: another run is using it.*--out'
turned_down() {  # NAME STATUS MESSAGES
  report "$1" "$([ "$2" = 1 ] && [ "$(wc -l <"$3")" = 1 ] && grep -Eq "$working" "$3" || echo "status $2: $(cat "$3")")"
}
busy() {  # NAME ARGUMENTS...: as refuse, but beside a run that writes
  local name=$1 status=0
  shift
  limited "$@" >out 2>err || status=$?
  turned_down "$name" $status err
}
# together NAME ARGUMENTS...: of two runs started together one is refused; the other goes on as $winner.
together() {
  local name=$1 status=0 loser
  shift
  "$glim" "$@" >/dev/null 2>err1 & local first=$!
  "$glim" "$@" >/dev/null 2>err2 & local second=$!
  one_ended() { ! kill -0 $first 2>/dev/null || ! kill -0 $second 2>/dev/null; }
  if ! wait_until one_ended; then
    kill -9 $first $second
    report "$name" "both go on"
    summary
    exit
  fi
  winner=$first loser=$second log=err2
  kill -0 $first 2>/dev/null || { winner=$second loser=$first log=err1; }
  wait $loser || status=$?
  turned_down "$name" $status $log
  report "$name: the other goes on" "$(kill -0 $winner 2>&1)"
}
dies() { kill -9 $winner; wait $winner 2>/dev/null; }
two=(train --task copy --examples 40 --layers 1 --d-model 8 --heads 1 --d-ff 8 --epochs 1000000 --save-every 1
     --progress none --out both/rnn)
together "two runs in a new folder" "${two[@]}"
wait_until [ -e both/rnn/last.safetensors ]
busy "resuming a run that goes on" train --resume --out both/rnn
busy "overwriting a run that goes on" "${two[@]}" --overwrite
busy "comparing where a run goes on" compare --task copy --kinds rnn --overwrite --out both
dies
together "two that resume" "${two[@]}" --resume
dies
report "a killed run's folder is free" "$(
  limited train --resume --epochs 1 --progress none --out both/rnn 2>&1 >/dev/null || echo "status $?")"
report "nothing half written is left by a killed run, after the next" "$(half_written)"
report "no folder is left by a run that came to nothing" "$(
  limited train --resume --out new/folder >/dev/null 2>&1; ls -d new 2>/dev/null)"

# --- a loss that is not finite ---
explode() {
  limited train --task copy --examples 80 --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 3 --progress none \
    --schedule constant --optimizer sgd --rate 3e38 --weight-decay 1e3 --clip 0 --save-every 1 --out "${@:-burst}"
}
refuse "weights that are not finite" 'parameter .* is not finite' explode
report "are never saved" "$(ls burst | grep safetensors)"
cp -r model replaced
refuse "before another run was replaced" 'there was no checkpoint yet' explode replaced --overwrite
diverge() {
  limited train --task copy --examples 80 --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 6 --progress none \
    --schedule constant --optimizer sgd --rate 1e30 --clip 0 --save-every 1 --out wild
}
refuse "a loss that is not finite" 'not finite.*(first in|parameter)' diverge
summary
