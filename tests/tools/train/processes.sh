#!/usr/bin/env bash
# processes.sh GLIM [KILLS]: with --shards 4, one, two and four processes with one and two threads train to the same
# bits; so does a run in which a random process is killed, resumed with another number of them. A run that cannot be
# shared is refused in one line.
set -uo pipefail
glim=$(realpath "$1") kills=${2:-1}
[ "$kills" = '~[slow]' ] && kills=1
source "$(dirname "$0")/../common.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
train=(train --task copy --examples 200 --epochs 2 --layers 1 --d-model 32 --heads 2 --d-ff 64 --dropout 0.1
       --batch-sentences 30 --accumulate 2 --save-every 2 --progress none)
bad=("${train[@]}" --shards 4 --overwrite --out bad)

# in_processes NUMBER ARGUMENT...: glim in so many processes.
in_processes() {
  local number=$1
  shift
  if [ "$number" = 1 ]; then timeout -k 5 600 "$glim" "$@"; else timeout -k 5 600 mpirun -n "$number" "$glim" "$@"; fi
}
# one_line NAME PATTERN COMMAND...: fails, and says one line of its own, which matches.
one_line() {
  local name=$1 pattern=$2 status=0 problem=
  shift 2
  "$@" >out 2>err || status=$?
  if [ "$status" = 0 ] || [ "$status" = 124 ] || [ "$status" = 137 ]; then problem="status $status"  # 124, 137: hung
  elif [ "$(grep -c '^glim: ' err)" != 1 ]; then problem="not one line: $(grep '^glim: ' err)"
  elif ! grep -Eq "^glim: error: .*$pattern" err; then problem="no /$pattern/ in $(grep '^glim: ' err)"
  fi
  report "$name" "$problem"
}

# The numbers of this folder's runs.
processes_here() {
  for p in $(pgrep -x glim); do [ "$(readlink "/proc/$p/cwd")" = "$PWD" ] && echo "$p"; done
}
begun() { [ -n "$(processes_here)" ] || ! kill -0 $! 2>/dev/null; }  # or ended, where nothing is left to do

run=("${train[@]}" --shards 4 --out model)
mkdir alone && (cd alone && "$glim" "${run[@]}" >log 2>&1)
for way in '1 2' '2 1' '2 2' '4 1'; do
  read -r number threads <<<"$way"
  mkdir "p$way" && (cd "p$way" && OMP_NUM_THREADS=$threads in_processes "$number" "${run[@]}" >log 2>&1)
  for file in last best; do
    report "$number processes of $threads threads, $file" \
      "$(cmp "alone/model/$file.safetensors" "p$way/model/$file.safetensors" 2>&1 || show "p$way/log")"
  done
  report "$number processes measure the same" "$(diff <(sed 's/,"tokens_per_second.*//' alone/model/metrics.jsonl) \
    <(sed 's/,"tokens_per_second.*//' "p$way/model/metrics.jsonl"))"
done
"$glim" "${train[@]}" --out one >log 2>&1
report "one shard is another run" \
  "$([ "$(tensors alone/model/last.safetensors)" = "$(tensors one/last.safetensors)" ] && echo "the same bits")"
# Models whose parts draw numbers for their data, and batches with fewer rows than parts.
seq 1 400 | tr '\n' ' ' >text
head -c 600 text | fold -w 40 >lines
for kind in gpt bert; do
  this=(train --kind $kind --text $([ $kind = gpt ] && echo text || echo lines) --layers 1 --d-model 16 --heads 2
        --batch-sentences 6 --epochs 1 --max-steps 5 --shards 8 --progress none --record)
  for number in 1 4; do in_processes $number "${this[@]}" --out $kind-$number >log 2>&1; done
  report "$kind" "$([ "$(tensors $kind-1/last.safetensors)" = "$(tensors $kind-4/last.safetensors)" ] || show log)"
  report "$kind, recorded" "$(diff $kind-1/recording.jsonl $kind-4/recording.jsonl 2>&1)"
done

# A teacher's translations.
taught=("${train[@]}" --shards 4 --teacher alone/model --teacher-beam 2)
for number in 1 2 4; do in_processes $number "${taught[@]}" --out taught$number >log 2>&1; done
for number in 2 4; do
  report "a teacher in $number processes" "$(cmp taught1/distilled.txt taught$number/distilled.txt 2>&1 &&
    [ "$(tensors taught1/last.safetensors)" = "$(tensors taught$number/last.safetensors)" ] || show log)"
done

# Work that falls into items: batches to translate, kinds to train, seeds to measure. Times are each run's own.
small=(--kinds transformer,rnn,conv --task copy --examples 100 --epochs 1 --layers 1 --d-model 16 --heads 2)
for number in 1 2 3; do
  in_processes $number evaluate --model alone/model --batch-sentences 7 --out said$number >evaluated$number 2>&1
  in_processes $number compare "${small[@]}" --table table$number --out compared$number >log 2>&1
  in_processes $number study scaling entropy --quick --out studied$number >log 2>&1
done
plain() { sed -E 's/[0-9.]+ (ms|s) //g; s/"(processor_)?seconds": *[0-9.e+-]+//g' "$@"; }
for number in 2 3; do
  report "evaluate, $number processes" "$(diff evaluated1 evaluated$number && diff said1 said$number)"
  report "the kinds in their order, $number processes" "$([ "$(sed -n 's/^| \(transformer\|rnn\|conv\) .*/\1/p' table$number | xargs)" = \
    "transformer rnn conv" ] || show table$number)"
  report "compare, $number processes" "$(diff <(plain table1) <(plain table$number) 2>&1)"
  for kind in transformer rnn conv; do
    report "compare, $number processes, $kind" "$([ "$(tensors compared1/$kind/best.safetensors)" = \
      "$(tensors compared$number/$kind/best.safetensors)" ] || echo "other bits")"
  done
  report "study, $number processes" "$(for name in scaling entropy; do
    diff <(plain studied1/$name.json) <(plain studied$number/$name.json) 2>&1; done)"
done
report "something was measured" "$(grep -q 'exact match' evaluated1 && grep -q '| conv |' table1 || show evaluated1)"

killed=0
for ((i = 1; i <= kills; ++i)); do
  mkdir "kill$i"
  cd "kill$i" || exit 1
  numbers=(2 4 1 4 2)
  for number in "${numbers[@]:i % 2}"; do
    again=()
    [ -e model/last.safetensors ] && again=(--resume)
    in_processes "$number" "${run[@]}" "${again[@]}" >log 2>&1 &
    wait_until begun
    # The first at once, so that one is killed however fast they are.
    [ "$number" = "${numbers[i % 2]}" ] || sleep "$(awk -v r="$RANDOM" 'BEGIN { printf "%.3f", r / 131072 }')"
    pid=$(processes_here | shuf -n 1)
    [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null
    wait $! || killed=$((killed + 1))  # the kill may have come too late
  done
  in_processes 2 "${run[@]}" $([ -e model/last.safetensors ] && echo --resume) >log 2>&1
  report "killed and resumed, run $i" "$(cmp ../alone/model/last.safetensors model/last.safetensors 2>&1 || show log)"
  cd ..
done
echo "$killed kills"
report "something was killed" "$([ "$killed" -gt 0 ] || echo "nothing")"

one_line "three processes" '--shards: 4 parts .* 3 processes' in_processes 3 "${bad[@]}"
one_line "more processes than parts" '--shards' in_processes 8 "${bad[@]}"
one_line "an unknown option" 'shard' in_processes 2 "${bad[@]}" --shard 4
one_line "a missing file" 'nothing.txt' in_processes 2 train --kind gpt --text nothing.txt --shards 2 --out bad
mkdir -p elsewhere/alone && cp -r one elsewhere/alone/model
one_line "another teacher" 'process 1 has other input files' timeout -k 5 600 mpirun -n 1 "$glim" "${bad[@]}" \
  --teacher alone/model : -n 1 --wdir "$PWD/elsewhere" "$glim" "${bad[@]}" --teacher alone/model
one_line "no teacher" 'nowhere' in_processes 2 "${bad[@]}" --teacher nowhere
one_line "another verb" 'one process' in_processes 2 translate --model alone/model
seq 400 | tr '\n' ' ' >long && echo 1 >short
one_line "no model" 'nowhere' in_processes 2 evaluate --model nowhere
one_line "kinds that are there" 'holds a model' in_processes 2 compare "${small[@]}" --out compared1
one_line "a study that is there" 'scaling' in_processes 2 study scaling --quick --out studied1
one_line "a sentence too long for one process" 'at most' in_processes 2 evaluate --model alone/model \
  --batch-sentences 1 --source long --target short
one_line "a model that is there" 'holds a model' in_processes 2 "${train[@]}" --shards 4 --out alone/model
one_line "no checkpoint" 'resume' in_processes 2 "${run[@]}" --resume
one_line "a loss that is not finite" 'not finite' in_processes 2 "${bad[@]}" --rate 1e30 --schedule constant --clip 0
one_line "other options" 'process 1 has other options' timeout -k 5 600 mpirun -n 1 "$glim" "${bad[@]}" \
  : -n 1 "$glim" "${bad[@]}" --label-smoothing 0.2
tr 1 2 <text >other
mkdir -p a b && cp text a/text && cp other b/text
gpt=(train --kind gpt --layers 1 --d-model 16 --heads 2 --shards 2 --text text --valid-text text --max-steps 2 --out "$PWD/bad" --overwrite)
one_line "other files" 'process 1 has other input files' timeout -k 5 600 mpirun -n 1 --wdir "$PWD/a" "$glim" "${gpt[@]}" \
  : -n 1 --wdir "$PWD/b" "$glim" "${gpt[@]}"
one_line "an error in one process" 'process 1: .*text' timeout -k 5 600 mpirun -n 1 --wdir "$PWD/a" "$glim" "${gpt[@]}" \
  : -n 1 --wdir "$PWD/alone" "$glim" "${gpt[@]}"
cp "$glim" copy && printf 'x' >>copy
one_line "another build" 'process 1 has another program' timeout -k 5 600 mpirun -n 1 "$glim" "${bad[@]}" \
  : -n 1 ./copy "${bad[@]}"
one_line "the mpirun of another library" '2 were started, but' env PMI_SIZE=2 PMI_RANK=0 "$glim" "${bad[@]}"
summary
