#!/usr/bin/env bash
# wine.sh [smoke] [FOLDER]: glim.exe, compiled by tools/package programs in FOLDER (build-windows unless given), under
# Wine: it trains to the golden hashes, exchanges files with this system's program (systems.sh), goes on after Control-C and
# a closed window to the same bits, and checks programs of others. `smoke` compiles nothing for Windows and trains one kind.
# Skipped (77) by the name of what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/system.sh
smoke=
[ "${1:-}" != smoke ] || { smoke=yes; shift; }
for tool in wine:wine64 zip:zip meson:meson dpkg-source:dpkg-dev em++:emscripten; do
  command -v "${tool%:*}" >/dev/null || { echo "wine: skipped: ${tool%:*} is missing: apt-get install ${tool#*:}"; exit 77; }
done
folder=$(realpath -m "${1:-build-windows}")
export WINEDEBUG=-all WINEPREFIX=$folder/objects/wine
if [ -z "$smoke" ]; then
  tools/package programs "$folder" "$folder/objects" windows-x86_64
elif [ ! -e "$folder/objects/build/tools/glim.exe" ]; then
  echo "wine: skipped: glim.exe is not compiled in $folder: tests/wine.sh compiles it"
  exit 77
fi
"$folder/objects/environment/bin/python3" -m ziglang cc -target x86_64-windows-gnu -O1 -s -o "$folder/windows.exe" tests/windows.c
tools/build build tools/glim tests/tools/make_images
make_images=$(realpath build/tests/tools/make_images) linux=$(realpath build/tools/glim) tests=$(realpath tests/tools)
for name in glim benchmarks/glim_bench; do
  printf '#!/bin/sh\nexec wine %s "$@"\n' "$folder/objects/build/tools/$name.exe" >"$folder/${name##*/}"
  chmod +x "$folder/${name##*/}"
done
glim=$folder/glim result=0
"$tests/../systems.sh" "$linux" "$glim" || result=1
[ -n "$smoke" ] || "$tests/benchmarks/one_hash.sh" "$folder/glim_bench" "$glim" "$make_images" || result=1

set +e
source "$tests/common.sh"
small=(train --kind classifier --layers 1 --d-model 16 --heads 2 --d-ff 16 --batch-sentences 8 --max-steps 4
       --valid-share 0 --progress none --overwrite)
windows() { wine winepath -w "$1" | tr -d '\r'; }
hash_of() { sed -n 's/^weights after .*: //p' "$1"; }
same() {  # NAME OUT FILE: trained on both systems from a file of that name, to the same bits
  "$linux" "${small[@]}" --labelled "$3" --out linux >log 2>err
  "$glim" "${small[@]}" --labelled "$3" --out "$2" >found 2>err
  report "$1" "$([ -n "$(hash_of log)" ] && [ "$(hash_of found)" = "$(hash_of log)" ] && [ -s "$2/last.safetensors" ] || show found err)"
}
for i in {1..30}; do printf 'the day is fair %d\tgood\nnay, it rained all of %d days\tbad\n' "$i" "$i"; done >lines
sed 's/$/\r/' lines >crlf
same "lines that end in CR LF" crlf-model crlf
same "a folder of $(printf 'x%.0s' {1..120} | wc -c) letters, twice" "$(printf 'x%.0s' {1..120})/$(printf 'y%.0s' {1..140})" lines
for kind in transformer rnn conv non-autoregressive gpt bert vit cnn classifier tagger; do
  "$glim" inspect --fresh --kind $kind --overwrite --out page >log 2>&1
  "$linux" inspect --fresh --kind $kind --overwrite --out linux-page >log 2>&1
  report "the page of a fresh $kind" "$(cmp -s page/inspect.html linux-page/inspect.html || show log)"
done
refuse "the folder NUL" 'NUL' "$glim" "${small[@]}" --labelled lines --out NUL
refuse "the file CON" 'CON' "$glim" "${small[@]}" --labelled CON --out con-model
refuse "a missing file" 'missing.*No such file' "$glim" "${small[@]}" --labelled missing --out model
mkdir 'a b'
refuse "a folder for a file" 'a b.*is a directory' "$glim" "${small[@]}" --config 'a b' --out model
refuse "a folder that nobody may write to" 'proc.model: cannot be created' "$glim" "${small[@]}" --labelled lines --out /proc/model

# hold FILE: another program opens the file and shares it with no other, until release.
hold() { wine "$folder/windows.exe" hold "$1" >held & holder=$!; wait_until grep -q held held; }
release() { kill "$holder"; wait "$holder" 2>/dev/null; }
cp lines taken
hold taken
refuse "a file that another program holds" 'taken.*(busy|another program)' "$glim" "${small[@]}" --labelled taken --out model
release
cp crlf-model/last.safetensors before
hold crlf-model/last.safetensors
refuse "a checkpoint that another program holds" 'last.safetensors.*(busy|denied)' "$glim" train --resume --out crlf-model --max-steps 8 --progress none
release
report "is whole afterwards" "$(cmp before crlf-model/last.safetensors)"
printf 'der Tag ist sch\xc3\xb6n\n' >line
"$linux" classify --model crlf-model <line >log 2>err
printf '@chcp 850 >nul\r\n@"%s" classify --model crlf-model\r\n' "$(windows "$folder/objects/build/tools/glim.exe")" >page.bat
wine cmd /d /c page.bat <line >found 2>err
report "a console in code page 850" "$(cmp log found || show log found err)"

checks() { "$glim" gradcheck --program "$(windows "$folder/windows.exe") $1" "${@:2}"; }
checks square >found 2>err
report "a gradient of a program" "$(grep -q 'passed' found || show found err)"
checks wrong >found 2>err
report "a wrong one" "$([ $? = 1 ] && grep -q 'FAILED: a constant factor' found || show found err)"
refuse "a program that says nothing" 'no reply within 2 s' checks stays --timeout 2
report "ends with what it started" "$(! pgrep -f 'windows.exe. sleeps' || echo it is there)"
refuse "a program that is not there" 'nothing-here' "$glim" gradcheck --program nothing-here

run=(train --task copy --examples 96 --epochs 40 --layers 1 --d-model 32 --heads 2 --d-ff 64 --dropout 0.1 --progress none)
"$linux" "${run[@]}" --out alone >log 2>err
half_written() { :; }  # a training is writing
stop() {  # NAME COMMAND...: the command ends a training, which goes on to the same bits
  "$glim" "${run[@]}" --out "$1" >found 2>err &
  process=$!
  wait_until grep -q '"step"' "$1/metrics.jsonl" 2>/dev/null
  refuse "a folder in use" 'another run is using it' "$glim" "${run[@]}" --out "$1" --overwrite
  "${@:2}"
  local stopped=$?
  wait "$process"
  status=$?
  "$glim" train --resume --out "$1" --progress none >resumed 2>err
  report "$1, and on to the same bits" \
    "$([ "$stopped $status" = "0 130" ] && [ "$(hash_of resumed)" = "$(hash_of log)" ] || { echo "$stopped $status"; show found resumed err; })"
}
stop Control-C eval 'kill -INT "$process"'
stop "a closed window" wine "$folder/windows.exe" close glim.exe
summary && [ "$result" = 0 ]
