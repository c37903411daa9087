#!/usr/bin/env bash
# scripts.sh ROOT: what tools/setup, tools/build and tools/test answer on machines that lack something. The
# machines are played by a folder of fake programs; nothing is installed. Then Debian's programs are used, whatever
# comes first in PATH.
set -uo pipefail
root=$(realpath "$1")
source "$(dirname "$0")/common.sh"
# The scripts, where fake programs come before the system's.
mkdir -p fake fakes/tools
cp "$root"/tools/{build,install,package,reference,setup,test,*.sh} fakes/tools
echo "PATH=$PWD/fake:\$PATH" >fakes/tools/system.sh
tools=$PWD/fakes/tools
fake() { printf '#!/bin/sh\n%s\n' "$2" >"fake/$1"; chmod +x "fake/$1"; }
# refused NAME PATTERN COMMAND...: ends at once with one line that matches, and a status that is not 0.
refused() {
  local name=$1 pattern=$2 status=0
  shift 2
  timeout 600 "$@" >out 2>err </dev/null || status=$?
  if [ "$status" = 0 ]; then report "$name" "status 0"
  elif [ "$(wc -l <err)" != 1 ] || ! grep -Eq "$pattern" err; then report "$name" "says: $(head -c 400 err)"
  else report "$name" ""; fi
}

fake old-g++ 'case "$1" in -dumpversion) echo 9;; *) echo "g++ (Debian) 9.4.0";; esac'
fake old-clang 'case "$1" in -dumpversion) echo 11.0.1;; *) echo "Debian clang version 11.0.1";; esac'
fake dpkg-query 'echo installed'
CXX=old-g++ refused "a g++ that is too old" 'setup: old-g\+\+ 9 is too old: g\+\+ 12 or clang 14' "$tools/setup"
CXX=no-such-g++ refused "a compiler that is not there" 'CXX names, no-such-g\+\+, is not installed' "$tools/setup"
CXX=old-clang refused "a clang that is too old" 'old-clang 11.0.1 is too old' "$tools/setup" program

fake dpkg-query 'exit 1'
fake id 'echo 1000'
rm -f fake/sudo
if ! command -v sudo >/dev/null; then
  refused "neither root nor sudo" 'neither root nor sudo.*apt-get install.*libopenblas-openmp-dev' "$tools/setup"
fi
fake sudo 'exec "$@"'
fake apt-get 'echo "E: Unable to fetch some archives" ; exit 100'
fake dpkg 'exit 0'
refused "no network" 'setup: could not install .*libfmt-dev.*: E: Unable to fetch' "$tools/setup" program
if grep -q catch2 out && ! grep -q node-d3 out; then report "program: no pages" "asks for catch2"; fi
report "Emscripten is not asked for" "$(grep -o emscripten out)"
refused "unless live pages are" 'setup: could not install .*catch2 emscripten node-acorn' "$tools/setup" live
refused "an option that is none" 'usage: tools/setup' "$tools/setup" --chekcs
# Control-C while packages are installed; the next run sets up what was left half done.
mkdir temporary
fake apt-get 'echo "$@" >>asked; [ -e again ] || { kill -INT 0; sleep 20; }'
fake dpkg 'echo dpkg "$@" >>asked'
set -m  # a process group of its own, which gets the signal once, as from a terminal
TMPDIR=$PWD/temporary "$tools/setup" program >out 2>err </dev/null &
wait $!
status=$?
set +m
report "Control-C ends it" "$([ $status = 130 ] || echo "status $status: $(cat err)")"
report "and leaves no file" "$(ls temporary)"
touch again
fake apt-get 'echo "$@" >>asked; [ "$(grep -c install asked)" -gt 2 ]'
"$tools/setup" program >out 2>err </dev/null || report "the next run" "$(cat err)"
report "the next run sets up what was half done" "$([ "$(sed -n '3,$p' asked | cut -d' ' -f1,2 | tr '\n' ';')" = \
  'dpkg --configure;update -q;install -y;' ] || show asked)"
rm -f fake/*

touch file
refused "a folder that cannot be made" 'build: the folder .*file/build cannot be written' "$tools/build" "$PWD/file/build"
for script in package reference; do
  refused "a folder of tools/$script that cannot be made" "$script: the folder .*file/made cannot be written" \
    "$tools/$script" "$PWD/file/made"
  refused "an option of tools/$script that is none" "usage: tools/$script" "$tools/$script" --quick
done
refused "an option of tools/build that is none" 'usage: tools/build' "$tools/build" --quick
refused "a prefix that cannot be written" 'install: .*file/below cannot be written: use sudo, or name' "$tools/install" "$PWD/file/below"
refused "an option of tools/install that is none" 'usage: tools/install' "$tools/install" --prefix=x
fake meson 'echo "ERROR: Dependency \"fmt\" not found"; exit 1'
"$tools/build" "$PWD/half" >out 2>err
report "what Meson says is shown" "$(grep -q 'Dependency "fmt" not found' err && tail -1 err | grep -q '^build: meson could not configure' || show err)"
rm fake/meson
fake meson 'mkdir -p "$5"; for d in "$@"; do case $d in */half) touch $d/build.ninja;; esac; done'
fake ninja 'echo "as: No space left on device"; exit 1'
refused "a full disk" 'build: the disk is full' "$tools/build" "$PWD/half"
fake meson 'mkdir -p build && touch build/build.ninja'
fake ninja 'echo "$@" >asked'
"$tools/build" >out 2>err || cat err
report "without a folder, build is built" "$(grep -q -- '-C build$' fakes/asked || show fakes/asked err)"
"$tools/build" build small -j2 >out 2>err || cat err
report "as many at a time as -jN says" "$(grep -q -- '^-j2 -C build small$' fakes/asked || show fakes/asked err)"
refused "an option among the targets" 'usage: tools/build' "$tools/build" build -j
refused "an option of tools/test that is none" 'usage: tools/test' "$tools/test" --qiuck

# A program of two lines, built where other programs and Python modules come before Debian's.
if [ -x /usr/bin/dpkg-query ]; then
  mkdir -p small/tools modules
  cp "$root"/tools/{build,install,*.sh} small/tools
  cp "$root/meson_options.txt" small
  printf "project('small', 'cpp')\nexecutable('small', 'small.cpp', install: true)\nexecutable('large', 'large.cpp')\n" \
    >small/meson.build
  echo 'int main() {}' | tee small/small.cpp >small/large.cpp
  for name in c++ g++ meson ninja pkg-config python3; do fake "$name" "touch $PWD/used-$name; exit 1"; done
  echo 'raise SystemExit("not the module of Debian")' >modules/mesonbuild.py
  fake my-c++ "touch $PWD/used-my-c++; exec /usr/bin/c++ \"\$@\""
  built() { PATH="$PWD/fake:$PATH" PYTHONPATH=$PWD/modules timeout 600 small/tools/build "$@" >out 2>err || cat err; }
  report "Debian's programs are used" "$(CXX= built build; ls used-* 2>/dev/null)"
  report "and a compiler that CXX names" "$(CXX='my-c++ -pipe' built again
    [ "$(ls used-*)" = used-my-c++ ] || ls used-*)"
  rm used-*
  report "and to install" "$(CXX= BUILD=third PATH="$PWD/fake:$PATH" PYTHONPATH=$PWD/modules timeout 600 small/tools/install below >out 2>err || cat err
    grep -qx "installed below $PWD/below" out && [ -x below/bin/small ] || show out err; ls used-* 2>/dev/null)"
  report "only what is installed is compiled" "$([ -x small/third/small ] && [ ! -e small/third/large ] || ls small/third)"
fi
summary
