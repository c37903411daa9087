# Libraries of Debian from Debian's sources, for what must run without them (packaging/bundled). To be sourced; `fail` and
# the folders `work` and `folder`, which gets what is made, are those of the script that does. D3 is in the pages.

# 0.1.0 of a commit that is tagged v0.1.0; of another 0.1.0+g1a2b3c4d, with .changed where files have changed since.
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
commit=$(git describe --always --dirty=.changed --abbrev=8 --tags --match "v$version" 2>/dev/null) || commit=v$version
[ "$commit" = "v$version" ] || version=$version+g${commit##*-g}
proven() {  # FILE HOW: a line of PROOF.txt beside the file
  touch "$folder/PROOF.txt"
  sed -i "/^$1: /d" "$folder/PROOF.txt"
  echo "$1: $2" >>"$folder/PROOF.txt"
}
# made PATTERN: an earlier run has made this file of this commit.
made() { [[ "$version" != *.changed ]] && compgen -G "$folder/$1" >/dev/null; }

# debian_lists NAME KIND OPTION...: apt-get with lists of our own, in the array `apt`; the machine's are left as they are.
debian_lists() {
  source /etc/os-release
  mkdir -p "$work/$1/partial"
  echo "$2 http://deb.debian.org/debian ${suite:-$VERSION_CODENAME} main" >"$work/$1.list"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/$1.list" -o Dir::Etc::sourceparts=/dev/null
       -o "Dir::State::lists=$work/$1" -o APT::Sandbox::User=root "${@:3}")
  "${apt[@]}" update >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail "Debian's lists cannot be had"; }
}
fetch_sources() {
  local pair apt
  debian_lists sources deb-src
  rm -rf "$work/bundled" && mkdir "$work/bundled"
  for pair in zlib:zlib libpng:libpng1.6 utf8proc:utf8proc fmtlib:fmtlib sentencepiece:sentencepiece; do
    (cd "$work" && "${apt[@]}" source --download-only "${pair#*:}" && dpkg-source -x "${pair#*:}"_*.dsc "bundled/${pair%:*}") \
      >"$work/log" 2>&1 || { tail -n 5 "$work/log" >&2; fail "the source of ${pair#*:} cannot be had"; }
  done
  cp tools/packaging/bundled/meson.build "$work/bundled"
}

licences() {  # WHAT PACKAGE...: the text for WHAT, with those packages of the environment $work/environment
  local file
  echo "Glim's $1 has these libraries in it, each under its own licence."
  for file in zlib/LICENSE libpng/LICENSE utf8proc/LICENSE.md fmtlib/LICENSE.rst sentencepiece/LICENSE \
    sentencepiece/third_party/{absl,darts_clone,esaxx,protobuf-lite}/LICENSE; do
    printf '\n---- %s ----\n\n' "$file"
    cat "$work/bundled/$file" || return
  done
  for file in "${@:2}"; do
    printf '\n---- %s ----\n\n' "$file"
    cat "$work"/environment/lib/python3*/site-packages/"$file"-*.dist-info/licenses/LICENSE* || return
  done
  printf '\n---- D3 ----\n\n'
  cat /usr/share/doc/node-d3/copyright
}

# copy_tree FOLDER: a copy of the tree, with the libraries as a subproject. A file that differs from an earlier copy is
# newer than what was compiled from that.
copy_tree() {
  mkdir -p "$1/subprojects"
  rm -rf "$1.new"
  mkdir "$1.new"
  tar -c --exclude='./build*' --exclude=./.git --exclude=./subprojects . | tar -x -m -C "$1.new"
  (cd "$1" && find . -path ./subprojects -prune -o -type f -exec sha256sum {} +) | (cd "$1.new" && { sha256sum -c 2>/dev/null || true; }) |
    sed -n 's/: OK$//p' | tar -c -C "$1" -T - | tar -x -C "$1.new"  # the same files, as old as they were
  mv "$1/subprojects" "$1.new"
  rm -rf "$1"
  mv "$1.new" "$1"
  [ ! -d "$work/bundled" ] || { rm -rf "$1/subprojects/bundled" && mv "$work/bundled" "$1/subprojects/bundled"; }
}
golden=$(sed -n 's/^trained transformer \([0-9a-f]*\) .*/\1/p' tests/tools/benchmarks/one_hash.sh)
golden_run() {  # PROGRAM...: the hash that it trains to
  "$@" train --task copy --examples 400 --max-steps 10 --dropout 0.1 --layers 2 --d-model 32 --heads 2 --d-ff 64 \
    --progress none --overwrite --out run | tr -d '\r' | sed -n 's/^weights after .*: //p'
}
