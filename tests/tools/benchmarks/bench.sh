#!/usr/bin/env bash
# bench.sh GLIM_BENCH: what tools/bench measures still runs: a step, decoding, single ops, and the hash of
# the weights that says whether the bits depend on the number of threads. No time is judged here.
set -uo pipefail
bench=$(realpath "$1") source=$(realpath "$(dirname "$0")/../../..")
source "$(dirname "$0")/../common.sh"
# serves NAME ARGUMENTS...: answers `ready BYTES`, two positive times, and a number of bytes.
serves() {
  local name=$1 problem=
  shift
  answer=$(printf '2\nmemory\n' | timeout 600 "$bench" "$@" 2>&1) || problem="status $?: $answer"
  if [ -z "$problem" ] &&
     ! tr '\n' ' ' <<<"$answer" | grep -Eqx 'ready [1-9][0-9]* [0-9]+\.[0-9]+ [0-9]+\.[0-9]+ [1-9][0-9]* '; then
    problem="answers: $answer"
  fi
  report "$name" "$problem"
}

serves "a step of micro" step micro
serves "a step of micro, explicit" step micro --explicit
serves "a step of micro, layers run again" step micro --recompute all
serves "a step of a decoder alone" step gpt-char
serves "decoding" decode micro
serves "decoding by beam search" decode micro --batch 3 --beam 5
serves "an op" op softmax
serves "a product" sgemm --m 300 --n 200 --k 100
serves "a product with a transpose" sgemm --order nt --m 20 --n 30 --k 40
GLIM_GEMM=openblas serves "a product by OpenBLAS" sgemm --order tn --m 300 --n 200 --k 100

problem=
settings=$("$bench" settings) || problem="status $?"
for name in micro tiny small base seed gpt-char gpt2; do
  grep -q "\"name\":\"$name\"" <<<"$settings" || problem="$problem no $name"
done
report "settings" "$problem"

hashes=$(for threads in 1 2 3; do OMP_NUM_THREADS=$threads "$bench" hash micro --steps 20; done)
problem=
[ "$(sort -u <<<"$hashes" | wc -l)" = 1 ] || problem="$hashes"
grep -Eqx '[0-9a-f]{16}' <<<"$hashes" || problem="no hash: $hashes"
report "the same weights for 1, 2 and 3 threads" "$problem"
for chosen in "" GLIM_GEMM=openblas; do
  by=$(for threads in 1 2 3; do env OMP_NUM_THREADS=$threads $chosen "$bench" hash gpt-char --steps 1; done)
  report "the same weights, large products: ${chosen:-as chosen}" \
    "$(grep -Eqx '[0-9a-f]{16}' <<<"$by" && [ "$(sort -u <<<"$by" | wc -l)" = 1 ] || echo "$by")"
done
[ "$(OMP_NUM_THREADS=1 "$bench" hash micro --steps 21)" != "$(head -1 <<<"$hashes")" ] || problem="one step more is the same hash"
report "training changes the weights" "$problem"

problem=
for name in micro gpt-char; do
  profile=$("$bench" profile "$name" --steps 2) || problem="$problem status $?"
  python3 -c '
import json, sys
flops = next(s["flops"] for s in json.loads(sys.argv[2]) if s["name"] == sys.argv[1])
cells = [[c.strip() for c in line.split("|")[1:-1]] for line in sys.stdin if line.startswith("| ")]
rows = {row[0]: [float(c.split()[0]) for c in row[1:]] for row in cells[1:]}
step = rows.pop("step")
assert abs(step[4] * 1e9 - flops) < 1000, "its products make up the step"
assert all(abs(sum(r[i] for r in rows.values()) - step[i]) < 0.02 for i in range(4)), "its rows make up the step"
assert min(step[0], step[1], step[2], rows["linear"][1], rows["Adam"][1]) > 0
' "$name" "$settings" <<<"$profile" || problem="$problem $name: $profile"
done
report "a profile counts every product of a step" "$problem"

# asks NAME PATTERN LINE SETTING: the answer is one line of complaint that matches.
asks() {
  local problem= status=0
  timeout 600 "$bench" step "$4" <<<"$3" >out 2>err || status=$?
  [ "$status" = 1 ] || problem="status $status"
  [ "$(grep -Ec "^glim_bench: error: .*$2" err)" = 1 ] && [ "$(wc -l <err)" = 1 ] || problem="$problem $(cat err)"
  report "$1" "$problem"
}
sized() { echo "{\"name\":\"own\",\"vocab\":10,\"d\":$1,\"heads\":2,\"d_ff\":8,\"layers\":$2,\"batch\":$3,\"source\":4,\"target\":4}"; }
serves "a step of sizes in JSON" step "$(sized 8 1 2)"
asks "heads that do not divide" '2 heads do not divide d_model 7' 1 "$(sized 7 1 2)"
asks "no layers" 'layers .*must be positive' 1 "$(sized 8 0 2)"
asks "a negative batch" 'negative' 1 "$(sized 8 1 -1)"
asks "a text for a size" 'must be number' 1 "$(sized '"x"' 1 2)"
asks "JSON that is cut" 'parse error' 1 '{"name":'
asks "an unknown setting" "'no-such-setting' is not one of micro" 1 no-such-setting
asks "no number of repetitions" "'x' is no number of repetitions" x micro

problem=
python3 "$source/tools/benchmarks/run.py" --glim "$bench" --only steps --settings micro --pairs 1 >out 2>err || problem="status $?: $(tail -1 err)"
grep -Eq '^\| micro \| [0-9.]+ \|' out && grep -q '^Beside: no peer' out || problem="$problem $(cat out)"
report "its table without peers" "$problem"

summary
