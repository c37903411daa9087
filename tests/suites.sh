#!/usr/bin/env bash
# suites.sh FOLDER [SYSTEM...]: the core's tests for other systems, compiled in FOLDER by zig, whose clang and libc++ are
# those of the programs that tools/package makes. They run here, in qemu and in Wine; the last line says "N passed, N failed".
# SYSTEM is linux-x86_64, linux-aarch64 or windows-x86_64 (all of them unless given). Each compiles for ten minutes; in qemu
# tensor, autograd and op_specs run for hours. Catch2 is Debian 12's, a header that needs no library.
set -euo pipefail
[ $# -gt 0 ] && [[ "$1" != -* ]] || { echo "usage: tests/suites.sh FOLDER [SYSTEM...]" >&2; exit 2; }
mkdir -p "$1"
work=$(realpath "$1")
cd "$(dirname "$0")/.."
source tools/system.sh
source tools/progress.sh
fail() { echo "suites: $*" >&2; exit 1; }
systems=("${@:2}")
[ $# -gt 1 ] || systems=(linux-x86_64 linux-aarch64 windows-x86_64)
for name in sources zig; do source "tools/packaging/$name.sh"; done
[ -e /usr/include/catch2/catch.hpp ] || fail "Catch2 2.x is missing: Debian 12's catch2"

zig_environment
mkdir -p "$work/glim/subprojects/bundled/catch2"
cp -a /usr/include/catch2 "$work/glim/subprojects/bundled/catch2"
goals=(tests/{tensor/test_tensor,autograd/test_autograd,autograd/test_op_specs,nn/test_nn,optim/test_optim,models/test_models})
passed=0 failed=0
for system in "${systems[@]}"; do
  suffix='' emulator=() chosen='~[slow]'
  case $system in
    linux-*) target=${system#*-}-linux-gnu.2.34 platform=linux
      [ "$system" = "linux-$(uname -m)" ] || emulator=("qemu-${system#*-}-static" -L "/usr/${system#*-}-linux-gnu") ;;
    windows-x86_64) target=x86_64-windows-gnu platform=windows suffix=.exe emulator=(wine)
      chosen='~[slow]~[openblas]' ;;  # there is no OpenBLAS for Windows here
    *) fail "unknown system: $system" ;;
  esac
  [ ${#emulator[@]} = 0 ] || command -v "${emulator[0]}" >/dev/null || fail "${emulator[0]} is missing"
  # test_models runs one_file.
  tests=enabled zig_build "$system" "$target" "$platform" "${goals[@]/%/$suffix}" "tests/models/one_file$suffix"
  for goal in "${goals[@]}"; do
    (cd "$work/$system" && WINEDEBUG=-all WINEPREFIX=$work/wine "${emulator[@]}" "./$goal$suffix" "$chosen") >"$work/log" 2>&1 || true
    read -r good bad < <(tr -d '\r' <"$work/log" | awk '
      /^All tests passed/ { sub(/.* in /, ""); good = $1; ended = 1 }
      /^test cases: / { for (i = 2; i <= NF; ++i) { if ($i == "passed") good = $(i - 1); if ($i == "failed") bad = $(i - 1) }; ended = 1 }
      END { print good + 0, ended ? bad + 0 : 1 }')
    echo "$system: ${goal##*/}: $good passed, $bad failed"
    [ "$bad" = 0 ] || { cp "$work/log" "$work/$system-${goal##*/}.log"; echo "  its output: $work/$system-${goal##*/}.log"; }
    passed=$((passed + good)) failed=$((failed + bad))
  done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
