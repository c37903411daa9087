#!/usr/bin/env bash
# guests.sh [--folder FOLDER] [--tests "NAME..."] [--python PYTHON] [GUEST...]: the house stands without its guests. For each
# guest, by default for all: copies the tree, deletes the guest with its tests and what is built on it, builds the rest
# in FOLDER (default: a new one) and runs its tests. The last lines say which stand.
#
# A guest is a folder of tools/ that nothing but its verbs needs, or a kind of model other than `transformer`: its file in
# tools/kinds and its lines in the two lists of kinds. Tests of the program as a whole, which know each verb and each kind
# by name, are left out; --tests names others.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/system.sh
# What a guest does not touch compiles once for all of them, where ccache is installed.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime OMP_WAIT_POLICY=passive
guests='course study live benchmarks convert foreign derive python rnn conv non-autoregressive gpt bert vit cnn classifier tagger'
tests='tensor autograd op_specs nn optim models random_graphs crash_states kill_resume short_run recorder shards interrupted
  command_line messages machine statistics text image drawing report'
work='' python=''
while [[ "${1:-}" == --* ]]; do
  case $1 in
    --folder) work=$2 ;;
    --tests) tests=$2 ;;
    --python) python=$(realpath -s "$2") ;;
    *) echo "guests.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
work=$(realpath -m "${work:-$(mktemp -d)}")
mkdir -p "$work"
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$work}
[ $# -gt 0 ] && guests=$*

without() {  # GUEST, in a copy of the tree: deletes it
  local file=${1//-/_}
  if [ -d "tools/$1" ]; then
    rm -rf "tools/$1" "tests/tools/$1"
  elif [ -f "tools/kinds/$file.cpp" ]; then
    rm -f "tools/kinds/$file".{cpp,hpp}
    sed -i "/'$file.cpp'/d" tools/kinds/meson.build
    sed -i "/F($file, /d" models/pipeline/kinds.hpp
    case $1 in bert) without classifier; without tagger ;; esac  # they begin with one
  else
    echo "guests.sh: there is no guest $1" >&2
    exit 2
  fi
}

stands() {  # GUEST
  mkdir -p "$work/$1"
  find "$work/$1" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +  # an earlier copy
  git ls-files -z | xargs -0 cp -p --parents -t "$work/$1"
  cd "$work/$1"
  without "$1"
  [ -d build ] || meson setup build -Dtests=enabled -Dlive=disabled ${python:+-Dpython="$python"}
  ninja -C build
  # shellcheck disable=SC2046
  meson test -C build --no-rebuild $(meson test -C build --list 2>/dev/null | sed 's/^.* \/ //' |
    grep -Fx -f <(tr -s ' \n' '\n' <<<"$tests"))
}

result=0
said=''
for guest in $guests; do
  set +e  # in a condition, -e would not hold within
  (set -e; stands "$guest") >"$work/$guest.log" 2>&1
  status=$?
  set -e
  if [ $status = 0 ]; then
    said+="stands without $guest"$'\n'
  else
    said+="falls without $guest: $work/$guest.log"$'\n'
    result=1
  fi
done
printf '%s' "$said"
exit $result
