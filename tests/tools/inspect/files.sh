#!/usr/bin/env bash
# files.sh GLIM: what `glim inspect`, `glim live` and `glim report` write, when they replace it, and what a picture
# without a font says.
set -uo pipefail
glim=$(realpath "$1")
page=$(dirname "$(realpath "$0")")/../../../tools/inspect/data.md
source "$(dirname "$(realpath "$0")")/../common.sh"
inspect=("$glim" inspect --fresh --layers 1 --d-model 16 --heads 2 --d-ff 32 --attribution-steps 0)
writes() {  # NAME FILES COMMAND...: the folder `look` holds these files afterwards
  local name=$1 files=$2
  shift 2
  "$@" >out 2>err || { report "$name" "$(cat err)"; return; }
  report "$name" "$([ "$(ls look | tr '\n' ' ')" = "$files" ] || ls look)"
}

writes "the page alone" "inspect.html " "${inspect[@]}" --out look
touch -d 2020-01-01 look/inspect.html
refuse "a missing model comes before a page that is there" '^glim: error: nothere: no such file' \
  "$glim" inspect --model nothere --out look
refuse "and so does a missing run" '^glim: error: nothere: ' "$glim" inspect --run nothere --step 1 --out look
refuse "a page that is there" 'look/inspect.html: exists already: --overwrite' "${inspect[@]}" --out look
report "it is as it was" "$([ "$(stat -c %y look/inspect.html | cut -c 1-4)" = 2020 ] || echo replaced)"
writes "--overwrite replaces it" "inspect.html " "${inspect[@]}" --out look --overwrite
report "it is new" "$([ "$(stat -c %y look/inspect.html | cut -c 1-4)" != 2020 ] || echo old)"
writes "data when asked for" "inspect.html inspect.json inspect.safetensors " \
  "${inspect[@]}" --out look --overwrite --data
sed -n '/^```python/,/^```$/p' "$page" | grep -v '^```' >reader.py
report "the page's reader of the data" "$(python3 reader.py look/inspect.json 2>&1 | grep -c "head [01]: entropy" | grep -vx 6)"
rm look/inspect.html
refuse "data that are there" 'look/inspect.json: exists already: --overwrite' "${inspect[@]}" --out look --data
rm look/*
map=encoder.layers.0.self_attn
writes "a picture" "$map-head1-dS.svg inspect.html " "${inspect[@]}" --out look --svg "$map/head1/dS"
rm look/*
writes "a head's four maps" "$map-head0.svg inspect.html " "${inspect[@]}" --out look --svg "$map/head0"
rm look/*
"${inspect[@]}" --out look --svg "$map/head1/dS" >/dev/null
rm look/inspect.html
refuse "a picture that is there" "$map-head1-dS.svg: exists already: --overwrite" \
  "${inspect[@]}" --out look --svg "$map/head1/dS"
refuse "a head counted from 1, as before" "nearest: .*$map/head1" "${inspect[@]}" --out look2 --svg "$map/1/dS"
report "which writes nothing" "$([ ! -e look2 ] || ls look2)"
refuse "a head that is not there" "no picture is named '$map/head2/dS'" \
  "${inspect[@]}" --out look2 --svg "$map/head2/dS"

cp_alone() { cp -f "$glim" alone; ./alone "$@"; }  # without files beside the program
# Changes of the pass: 1/√8 is the factor as it is.
rm -f look/*
losses() { "${inspect[@]}" --out look --overwrite --no-tensors "$@" | grep -o 'loss [0-9.]*'; }
report "the factor as it is" "$([ "$(losses)" = "$(losses --scale 0.35355339)" ] || echo "another loss")"
report "another factor" "$([ "$(losses)" != "$(losses --scale 9)" ] || echo "the same loss")"
refuse "a head that is not there" "--remove-head: '$map:2': .* has the heads 0 to 1" "${inspect[@]}" --remove-head "$map:2"
refuse "no such node" "--zero: .*no node is called $map.score .*nearest: $map.scores" \
  "${inspect[@]}" --out look --overwrite --zero "$map.score"
refuse "no factor" "--scale-gradient: 'loss=x' is not of the form NODE=NUMBER" "${inspect[@]}" --scale-gradient loss=x
refuse "no module, how to get it" "--live: this program comes without live.js: .*tools/setup live && tools/build" \
  cp_alone inspect --live --fresh --layers 1 --d-model 16 --heads 2 --d-ff 32 --out look9
refuse "no number" "--scale" "${inspect[@]}" --scale x

# The first line names ε where the loss has it.
first_line() { "$@" --fresh --layers 1 --d-model 16 --heads 2 --d-ff 32 --label-smoothing "$smoothing" </dev/null | sed -n 1p; }
for verb in "inspect --attribution-steps 0 --out look --overwrite" step; do
  first=$(smoothing=0.1 first_line "$glim" $verb)
  report "$verb: the label smoothing is named" "$([[ $first == *', label smoothing ε = 0.1'* ]] || echo "$first")"
  first=$(smoothing=0 first_line "$glim" $verb)
  report "$verb: and where it is 0 it is not" "$([[ $first == 'transformer, fresh'* && $first != *ε* ]] || echo "$first")"
done

# --- glim live: a stand-in for the module where none is built, and a browser that writes down what it opens ---
mkdir module browser
touch module/live.js module/live.wasm
printf '#!/bin/sh\necho "$1" >opened.new && mv opened.new opened\n' >browser/xdg-open
chmod +x browser/xdg-open
live() { PATH=$PWD/browser:$PATH GLIM_PACKAGE=$PWD/module "$glim" live --layers 1 --d-model 16 --heads 2 --d-ff 32 "$@" >out 2>err; }
for run in first second; do
  rm -f opened
  DISPLAY=:0 live || echo "status $?" >>err
  report "live: the $run page of a fresh model is opened" \
    "$(wait_until test -e opened; [ "$(cat opened)" = "$PWD/live/inspect.html" ] || show out err opened)"
done
report "live: the page's command has the model's sizes" "$(grep -q '"--fresh","--layers","1"' live/inspect.html || echo other)"
rm opened
DISPLAY= WAYLAND_DISPLAY= live
report "live: no screen" "$(grep -q 'not opened here' out && [ ! -e opened ] || show out err)"
DISPLAY= WAYLAND_DISPLAY= live --out named
refuse "live: a folder that was named" 'named/inspect.html: exists already: --overwrite' \
  env GLIM_PACKAGE=$PWD/module "$glim" live --out named --layers 1
refuse "live: what prints is no page" 'there is no option --why' "$glim" live --why encoder.layers.0.self_attn:0:1,0
refuse "live: a model that is not there" '^glim: error: nothere: no such file' "$glim" live --model nothere
summary
