#!/usr/bin/env bash
# scripts.sh ROOT: what tools/setup, tools/build and tools/test answer on machines that lack something. The
# machines are played by a folder in front of PATH; nothing is installed.
set -uo pipefail
root=$(realpath "$1")
source "$(dirname "$0")/common.sh"
mkdir fake
fake() { printf '#!/bin/sh\n%s\n' "$2" >"fake/$1"; chmod +x "fake/$1"; }
# refused NAME PATTERN COMMAND...: ends at once with one line that matches, and a status that is not 0.
refused() {
  local name=$1 pattern=$2 status=0
  shift 2
  PATH="$PWD/fake:$PATH" timeout 600 "$@" >out 2>err </dev/null || status=$?
  if [ "$status" = 0 ]; then report "$name" "status 0"
  elif [ "$(wc -l <err)" != 1 ] || ! grep -Eq "$pattern" err; then report "$name" "says: $(head -c 400 err)"
  else report "$name" ""; fi
}

fake old-g++ 'case "$1" in -dumpversion) echo 9;; *) echo "g++ (Debian) 9.4.0";; esac'
fake old-clang 'case "$1" in -dumpversion) echo 11.0.1;; *) echo "Debian clang version 11.0.1";; esac'
fake dpkg-query 'echo installed'
CXX=old-g++ refused "a g++ that is too old" 'setup: old-g\+\+ 9 is too old: g\+\+ 12 or clang 14' "$root/tools/setup"
CXX=no-such-g++ refused "a compiler that is not there" 'CXX names, no-such-g\+\+, is not installed' "$root/tools/setup"
CXX=old-clang refused "a clang that is too old" 'old-clang 11.0.1 is too old' "$root/tools/setup" program

fake dpkg-query 'exit 1'
fake id 'echo 1000'
rm -f fake/sudo
if ! command -v sudo >/dev/null; then
  refused "neither root nor sudo" 'neither root nor sudo.*apt-get install.*libopenblas-openmp-dev' "$root/tools/setup"
fi
fake sudo 'exec "$@"'
fake apt-get 'echo "E: Unable to fetch some archives" ; exit 100'
fake dpkg 'exit 0'
refused "no network" 'setup: could not install .*libfmt-dev.*: E: Unable to fetch' "$root/tools/setup" program
if grep -q catch2 out && ! grep -q node-d3 out; then report "program: no pages" "asks for catch2"; fi
refused "an option that is none" 'usage: tools/setup' "$root/tools/setup" --chekcs
# Control-C while packages are installed; the next run sets up what was left half done.
mkdir temporary
fake apt-get 'echo "$@" >>asked; [ -e again ] || exec sleep 20'
fake dpkg 'echo dpkg "$@" >>asked'
PATH="$PWD/fake:$PATH" TMPDIR=$PWD/temporary timeout -s INT -k 9 --preserve-status 1 "$root/tools/setup" program \
  >out 2>err </dev/null
status=$?
report "Control-C ends it" "$([ $status = 130 ] || echo "status $status: $(cat err)")"
report "and leaves no file" "$(ls temporary)"
touch again
fake apt-get 'echo "$@" >>asked; [ "$(grep -c install asked)" -gt 2 ]'
PATH="$PWD/fake:$PATH" "$root/tools/setup" program >out 2>err </dev/null || report "the next run" "$(cat err)"
report "the next run sets up what was half done" "$([ "$(sed -n '3,$p' asked | cut -d' ' -f1,2 | tr '\n' ';')" = \
  'dpkg --configure;update -q;install -y;' ] || cat asked)"
rm -f fake/*

touch file
refused "a folder that cannot be made" 'build: the folder .*file/build cannot be written' "$root/tools/build" "$PWD/file/build"
for script in package reference; do
  refused "a folder of tools/$script that cannot be made" "$script: the folder .*file/made cannot be written" \
    "$root/tools/$script" "$PWD/file/made"
  refused "an option of tools/$script that is none" "usage: tools/$script" "$root/tools/$script" --quick
done
refused "no folder" 'usage: tools/build' "$root/tools/build"
fake meson 'echo "ERROR: Dependency \"fmt\" not found"; exit 1'
PATH="$PWD/fake:$PATH" "$root/tools/build" "$PWD/half" >out 2>err
report "what Meson says is shown" "$(grep -q 'Dependency "fmt" not found' err && tail -1 err | grep -q '^build: meson could not configure' || cat err)"
rm fake/meson
fake meson 'mkdir -p "$5"; for d in "$@"; do case $d in */half) touch $d/build.ninja;; esac; done'
fake ninja 'echo "as: No space left on device"; exit 1'
refused "a full disk" 'build: the disk is full' "$root/tools/build" "$PWD/half"
refused "an option of tools/test that is none" 'usage: tools/test' "$root/tools/test" --qiuck
summary
