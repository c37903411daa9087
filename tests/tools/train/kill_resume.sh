#!/usr/bin/env bash
# kill_resume.sh GLIM [RUNS]: a run killed by SIGKILL at up to three random moments, and resumed after each, ends in
# the same bits as one that was left alone. A checkpoint is written after every update, so that many kills fall into
# the writing of one; how many did is counted by the temporary files that they left.
set -uo pipefail
glim=$(realpath "$1") runs=${2:-20}
[ "$runs" = '~[slow]' ] && runs=3
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)  # a killed process leaves what it wrote, synced or not
trap 'rm -rf "$work"' EXIT
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
train=(train --task copy --examples 96 --epochs 2 --layers 1 --d-model 32 --heads 2 --d-ff 64
       --dropout 0.1 --save-every 1 --log-every 1 --accumulate 2 --batch-sentences 8
       --progress none)

# A checkpoint holds no clock, but its folder's name: every run is made in a folder of its own under
# the same relative name, and whole files are compared.
mkdir "$work/alone"
cd "$work/alone" || exit 1
start=$(date +%s%N)
"$glim" "${train[@]}" --out model >/dev/null 2>"$work/err" || { cat "$work/err"; exit 1; }
took=$(( ($(date +%s%N) - start) / 1000 ))  # microseconds

passed=0 failed=0 kills=0 resumes=0 torn=0
for ((i = 1; i <= runs; ++i)); do
  out=model ok=yes attempts=0
  mkdir "$work/run$i"
  cd "$work/run$i" || exit 1
  while :; do
    resume=()
    if [ -e "$out/last.safetensors" ]; then
      resume=(--resume) resumes=$((resumes + 1))
    else
      rm -rf "$out"
    fi
    "$glim" "${train[@]}" "${resume[@]}" --out "$out" >/dev/null 2>"$work/err" &
    pid=$!
    if ((attempts < 3)); then
      sleep "$(awk -v t="$took" -v r="$RANDOM" 'BEGIN { printf "%.4f", t * r / 32768 / 1e6 }')"
      kill -9 "$pid" 2>/dev/null
    fi
    wait "$pid" 2>/dev/null
    status=$?
    attempts=$((attempts + 1))
    compgen -G "$out/*.tmp.*" >/dev/null && torn=$((torn + 1))
    [ "$status" = 137 ] && kills=$((kills + 1)) && continue  # the kill may have come too late
    [ "$status" = 0 ] || { ok=no; cat "$work/err"; }
    break
  done
  for file in last.safetensors best.safetensors; do
    cmp -s "$work/alone/model/$file" "$out/$file" || { ok=no; echo "run $i: $file differs"; }
  done
  diff <(sed 's/,"tokens_per_second.*//' "$work/alone/model/metrics.jsonl") \
       <(sed 's/,"tokens_per_second.*//' "$out/metrics.jsonl") >/dev/null ||
    { ok=no; echo "run $i: metrics differ"; }
  if [ "$ok" = yes ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  rm -rf "$work/run$i"
done
echo "$kills kills, $torn of them in the writing of a file; $resumes starts from a checkpoint"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$kills" -gt 0 ]
