#!/usr/bin/env bash
# plain.sh GLIM [FOLDER]: Glim without tensor/fast is slower, and the same but for bits. Copies the tree, deletes that
# folder, builds the program in FOLDER (default: a new one), and compares its training and gradient check with those of
# GLIM.
set -euo pipefail
glim=$(realpath "$1")
cd "$(dirname "$0")/.."
source tools/system.sh
work=$(realpath -m "${2:-$(mktemp -d)}")
mkdir -p "$work/tree"
git ls-files -z | xargs -0 cp -p --parents -t "$work/tree"
rm -r "$work/tree/tensor/fast"
[ -d "$work/build" ] || meson setup "$work/build" "$work/tree" -Dtests=disabled -Dpages=disabled -Dbenchmarks=disabled -Dlive=disabled
ninja -C "$work/build" tools/glim
plain=$work/build/tools/glim
train() {  # PROGRAM NAME
  local begin=$EPOCHREALTIME
  "$1" train --task copy --examples 400 --layers 2 --d-model 64 --heads 4 --d-ff 128 --epochs 2 --seed 3 \
    --progress none --out "$work/$2" >/dev/null
  echo "$EPOCHREALTIME $begin" | awk '{printf "%.2f s\n", $1 - $2}'
}
rm -rf "$work/fast" "$work/plain"
echo "with tensor/fast:    $(train "$glim" fast)"
echo "without tensor/fast: $(train "$plain" plain)"
losses() { sed -nE 's/^.*"type":"valid".*"nll":([0-9.]+).*$/\1/p' "$work/$1/metrics.jsonl"; }
paste <(losses fast) <(losses plain) | awk '
  { print "validation loss: " $1 ", without " $2; d = $1 - $2; if (d < 0) d = -d; if (d > 1e-3 * $1) bad = 1 }
  END { if (!NR || bad) { print "the losses differ"; exit 1 } }'
"$plain" gradcheck | tail -1
