#!/usr/bin/env bash
# wine.sh [FOLDER]: glim.exe, compiled by tools/package programs in FOLDER (build-windows unless given), under Wine: it
# trains to the golden hashes, goes on after a kill and Control-C to the same bits, and reads names and lines of Windows.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/system.sh
for tool in wine:wine64 zip:zip meson:meson dpkg-source:dpkg-dev; do
  command -v "${tool%:*}" >/dev/null || { echo "wine: ${tool%:*} is missing: apt-get install ${tool#*:}"; exit 77; }
done
folder=$(realpath -m "${1:-build-windows}")
export WINEDEBUG=-all WINEPREFIX=$folder/objects/wine
tools/package programs "$folder" "$folder/objects" windows-x86_64
tools/build build tools/glim tests/tools/make_images
make_images=$(realpath build/tests/tools/make_images) linux=$(realpath build/tools/glim) tests=$(realpath tests/tools)
for name in glim benchmarks/glim_bench; do
  printf '#!/bin/sh\nexec wine %s "$@"\n' "$folder/objects/build/tools/$name.exe" >"$folder/${name##*/}"
  chmod +x "$folder/${name##*/}"
done
glim=$folder/glim result=0
"$tests/benchmarks/one_hash.sh" "$folder/glim_bench" "$glim" "$make_images" || result=1
"$tests/train/kill_resume.sh" "$glim" 3 || result=1

set +e
source "$tests/common.sh"
small=(train --kind classifier --layers 1 --d-model 16 --heads 2 --d-ff 16 --batch-sentences 8 --max-steps 4
       --valid-share 0 --progress none --overwrite)
hash_of() { sed -n 's/^weights after .*: //p' "$1"; }
same() {  # NAME OUT FILE: trained on both systems from a file of that name, to the same bits
  "$linux" "${small[@]}" --labelled "$3" --out linux >log 2>err
  "$glim" "${small[@]}" --labelled "$3" --out "$2" >found 2>err
  report "$1" "$([ -n "$(hash_of log)" ] && [ "$(hash_of found)" = "$(hash_of log)" ] && [ -s "$2/last.safetensors" ] || show found err)"
}
for i in {1..30}; do printf 'the day is fair %d\tgood\nnay, it rained all of %d days\tbad\n' "$i" "$i"; done >lines
sed 's/$/\r/' lines >crlf
same "lines that end in CR LF" crlf-model crlf
for name in 'Äpfel und Öl' '训练 数据' 'a b/c d'; do
  mkdir -p "$(dirname "$name")" && cp lines "$name"
  same "a file named $name" "$name model" "$name"
done
same "a folder of $(printf 'x%.0s' {1..120} | wc -c) letters, twice" "$(printf 'x%.0s' {1..120})/$(printf 'y%.0s' {1..140})" lines
echo 'the day is fair' | "$linux" classify --model crlf-model >log 2>err
echo 'the day is fair' | "$glim" classify --model linux >found 2>err
report "a model of one system on the other" "$(cmp -s log found || show log found err)"
"$glim" inspect --fresh --out page >log 2>&1
"$linux" inspect --fresh --out linux-page >log 2>&1
report "a page" "$(cmp -s page/inspect.html linux-page/inspect.html || show log)"
refuse "the folder NUL" 'NUL' "$glim" "${small[@]}" --labelled lines --out NUL
refuse "the file CON" 'CON' "$glim" "${small[@]}" --labelled CON --out con-model
refuse "a missing file" 'missing.*No such file' "$glim" "${small[@]}" --labelled missing --out model
refuse "a folder for a file" 'a b.*is a directory' "$glim" "${small[@]}" --config 'a b' --out model
for verb in course gradcheck; do refuse "$verb" "$verb does not run on Windows yet" "$glim" "$verb"; done

run=(train --task copy --examples 96 --epochs 40 --layers 1 --d-model 32 --heads 2 --d-ff 64 --dropout 0.1 --progress none)
"$linux" "${run[@]}" --out alone >log 2>err
"$glim" "${run[@]}" --out stopped >found 2>err &
process=$!
wait_until grep -q '"step"' stopped/metrics.jsonl 2>/dev/null
refuse "a folder in use" 'another run is using it' "$glim" "${run[@]}" --out stopped --overwrite
kill -INT "$process"
wait "$process"
status=$?
"$glim" train --resume --out stopped --progress none >resumed 2>err
report "Control-C, and on to the same bits" "$([ "$status" = 130 ] && [ "$(hash_of resumed)" = "$(hash_of log)" ] || show found resumed err)"
summary && [ "$result" = 0 ]
