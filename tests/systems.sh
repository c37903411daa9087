#!/usr/bin/env bash
# systems.sh PROGRAM|ARCHIVE...: programs of several systems write the same files and read each other's. An ARCHIVE is one of
# tools/package programs for Linux or Windows; it runs in qemu or Wine where it must. Each trains to the golden hash, goes on
# after a kill to the same bits, and writes the same page. From lines that end in CR LF, in a file and a folder with umlauts,
# Chinese and blanks in their names, each trains to the same tensors, byte for byte (the header names the kernels). Each uses
# the model of the one before it, and resumes its run to the same bits.
set -uo pipefail
[ $# -ge 2 ] || { echo "usage: tests/systems.sh PROGRAM|ARCHIVE PROGRAM|ARCHIVE..." >&2; exit 2; }
tests=$(realpath "$(dirname "$0")")
mapfile -t files < <(realpath "$@")
source "$tests/tools/common.sh"
(cd "$tests/.." && source tools/packaging/sources.sh && declare -p golden && declare -f golden_run) >definitions
source definitions
export WINEDEBUG=-all WINEPREFIX=${WINEPREFIX:-$work/wine}

programs=()
for file in "${files[@]}"; do
  program=$file emulator=
  case $file in
    *.zip) unzip -q "$file"; program=$work/$(basename "$file" .zip)/glim.exe emulator=wine ;;
    *.tar.gz) tar -x -f "$file"; program=$work/$(basename "$file" .tar.gz)/glim
              [[ $file == *-"$(uname -m)".tar.gz ]] || emulator="qemu-aarch64-static -L /usr/aarch64-linux-gnu" ;;
  esac
  printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "'$program'" >"$work/program${#programs[@]}"
  programs+=("$work/program${#programs[@]}")
done
chmod +x "${programs[@]}"

folder='Äpfel und 数据' text='Sätze 训练.tsv'
mkdir "$folder"
for i in {1..30}; do printf 'der Tag ist schön %d\tgut\r\n下雨了，整整 %d 天\tschlecht\r\n' "$i" "$i"; done >"$folder/$text"
train=(train --kind classifier --labelled "$folder/$text" --layers 1 --d-model 16 --heads 2 --d-ff 16 --batch-sentences 8
       --dropout 0.1 --epochs 9 --valid-share 0 --progress none --out "$folder/Modell 一")
same() { [ "$(tensors "${1}0/last.safetensors")" = "$(tensors "$1$2/last.safetensors")" ]; }  # NAME NUMBER
for i in "${!programs[@]}"; do
  name=$(basename "${files[i]}")
  rm -rf run
  hash=$(golden_run "${programs[i]}" 2>err)
  report "$name: golden hash" "$([ "$hash" = "$golden" ] || show err)"
  "$tests/tools/train/kill_resume.sh" "${programs[i]}" 3 >log 2>&1
  report "$name: goes on after a kill" "$([ $? = 0 ] || show log)"
  "${programs[i]}" inspect --fresh --overwrite --out page >log 2>&1
  mv page/inspect.html "page$i"
  "${programs[i]}" "${train[@]}" --max-steps 4 --overwrite >log 2>err
  mv "$folder/Modell 一" "trained$i"
  report "$name: the same page" "$(cmp page0 "page$i")"
  report "$name: the same checkpoint" "$(same trained "$i" || show log err)"
done
for i in "${!programs[@]}"; do
  name=$(basename "${files[i]}") other=trained$(((i + ${#programs[@]} - 1) % ${#programs[@]}))
  printf 'der Tag ist schön\r\n下雨了\r\n' | "${programs[i]}" classify --model "$other" >"said$i" 2>err
  report "$name: uses $other" "$([ -s "said$i" ] && cmp said0 "said$i" || show err)"
  rm -rf "$folder/Modell 一"
  cp -r "$other" "$folder/Modell 一"
  "${programs[i]}" train --resume --max-steps 8 --progress none --out "$folder/Modell 一" >log 2>err
  mv "$folder/Modell 一" "resumed$i"
  report "$name: resumes $other" "$(same resumed "$i" || show log err)"
done
report "a resumed run goes on" "$([ "$(tensors trained0/last.safetensors)" != "$(tensors resumed0/last.safetensors)" ] || echo it has the same weights)"
summary
