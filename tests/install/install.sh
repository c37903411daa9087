#!/usr/bin/env bash
# install.sh BUILD: the build is installed into a folder, and a program of somebody else is built with it and
# run: by hand with pkg-config, with CMake (where it is installed), and with Meson, as a subproject.
set -uo pipefail
build=$(realpath "$1") here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
source "$root/tests/tools/common.sh"
cxx=${CXX:-c++}
strict=(-std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror)

learns() {  # NAME PROGRAM: it was built, and says what it should
  report "$1" "$([ "$("$2" 2>&1)" = "exclusive or: learned" ] || tail -n 5 log)"
}

meson install -C "$build" --destdir "$work/tree" >log 2>&1 || { report "installs" "$(tail log)"; summary; exit; }
pc=$(find tree -name glim.pc)
export PKG_CONFIG_PATH=$work/${pc%/*} LD_LIBRARY_PATH=$work/${pc%/*/*}  # the latter for a shared library
prefix=$work/tree$(sed -n 's/^prefix=//p' "$pc")
missing=
for file in include/glim/{glim,nn,optim,nn/linear,autograd/gradcheck/gradcheck}.hpp share/doc/glim/{README.md,LICENSE} \
  share/doc/glim/models/gpt/gpt.md; do
  [ -s "$prefix/$file" ] || missing+="no $file "
done
find tree -name 'libglim.*' | grep . >/dev/null || missing+="no library "
report "what is installed" "$missing"
report "links of the installed pages" "$("$root/tests/readme/pages.py" "$prefix/share/doc/glim" --links | grep -v '^every link')"
report "headers include by <glim/...>" "$(grep -rn '#include "' "$prefix/include")"
report "no header of kernels" "$(find "$prefix/include" -path '*kernels/*')"
if [ -x "$build/tools/glim" ]; then
  report "the program" "$("$prefix/bin/glim" --version 2>&1 >log)"
fi

for header in glim nn optim autograd/gradcheck/gradcheck; do
  echo "#include <glim/$header.hpp>" >header.cpp
  report "<glim/$header.hpp> alone" "$("$cxx" "${strict[@]}" -fsyntax-only -I"$prefix/include" header.cpp 2>&1 | head -n 5)"
done

read -ra flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs glim)
"$cxx" "${strict[@]}" -I"$here/own" "$here/consumer.cpp" "${flags[@]}" -o by_hand >log 2>&1
learns "pkg-config" ./by_hand

# The programs of the pages.
block() { sed -n "/^\`\`\`cpp $1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$root/$2" >"$1.cpp"; }
block first_layer README.md
block watched_attention models/ten_minutes.md
for program in first_layer watched_attention; do
  report "$program, as its page has it" "$([ -s "$program.cpp" ] || echo "no such block"
    { "$cxx" "${strict[@]}" "$program.cpp" "${flags[@]}" -o "$program" && "./$program"; } >log 2>&1 || tail -n 5 log)"
done

if command -v cmake >/dev/null; then
  { cmake -S "$here/cmake" -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" &&
    cmake --build by_cmake; } >log 2>&1
  learns "CMake" by_cmake/consumer
else
  echo "CMake is not installed: its consumer is not tried"
fi

# The tree itself within another: of Glim only the library is to be built. It has the sources that $build compiled, so
# the consumer is linked with that one.
unset PKG_CONFIG_PATH LD_LIBRARY_PATH
cp -r "$here" consumers
ln -s "$root" consumers/meson/subprojects/glim
theirs=subprojects/glim/libglim.a
{ meson setup by_meson consumers/meson --wrap-mode=forcefallback && ninja -C by_meson -t targets all >targets &&
  object=$(sed -n 's/^\(consumer\.p.*\.o\): .*/\1/p' targets) && ninja -C by_meson "$object" &&
  link=$(ninja -C by_meson -t commands consumer | tail -n 1) && [[ $link = *" $theirs "* ]] &&
  (cd by_meson && eval "${link/ $theirs / $build/libglim.a }"); } >log 2>&1
learns "Meson" by_meson/consumer
report "a changed header is compiled at once" "$(ninja -C by_meson -t deps "$object" | grep headers_made.hpp >/dev/null ||
  echo "nothing that is made with the headers is read")"
report "Meson builds the library alone" "$(grep -E '^subprojects/glim/(tools/[^/]*|tests/.*): ' targets)"
report "Meson builds the whole library" "$(ninja -C by_meson -t query "$theirs" >objects 2>&1
  for part in kernels_baseline layers glim; do grep -q " subprojects/glim/lib$part.a.p/" objects || echo "no $part"; done)"
summary
