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
  report "$1" "$([ "$("$2" 2>&1)" = "exclusive or: learned" ] || show log)"
}

prints() {  # NAME TEXT COMMAND...: the command prints the text, a pattern of the shell
  local name=$1 text=$2 said
  shift 2
  said=$("$@" 2>&1)
  # shellcheck disable=SC2053
  report "$name" "$([[ $said = $text ]] || echo "$said; $(tail -n 5 log)")"
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

report "the headers are made with the program" "$([ ! -e "$build/tools/glim" ] ||
  ninja -C "$build" -t query tools/glim | grep headers_made.hpp >/dev/null || echo "tools/build build tools/glim leaves older ones")"

pipeline=
[ ! -s "$prefix/include/glim/pipeline.hpp" ] || pipeline=pipeline
for header in glim nn optim autograd/gradcheck/gradcheck $pipeline; do
  echo "#include <glim/$header.hpp>" >header.cpp
  report "<glim/$header.hpp> alone" "$("$cxx" "${strict[@]}" -fsyntax-only -I"$prefix/include" header.cpp 2>&1 | head -n 5)"
done

"$cxx" -std=c++17 -I"$prefix/include" -I"$here/own" -fsyntax-only "$here/consumer.cpp" 2>log
report "C++17 is refused in a line" "$(grep -q 'error.*Glim needs C++20: compile with -std=c++20' log &&
  [ "$(grep -c 'error:' log)" = 2 ] || show log)"

read -ra flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs glim)
"$cxx" "${strict[@]}" -I"$here/own" "$here/consumer.cpp" "${flags[@]}" -o by_hand >log 2>&1
learns "pkg-config" ./by_hand

# The programs of the pages.
block() { sed -n "/^\`\`\`cpp $1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$root/$2" >"$1.cpp"; }
block first_layer nn/library.md
block own_optimizer nn/library.md
block watched_attention models/ten_minutes.md
for program in first_layer own_optimizer watched_attention; do
  report "$program, as its page has it" "$([ -s "$program.cpp" ] || echo "no such block"
    { "$cxx" "${strict[@]}" "$program.cpp" "${flags[@]}" -o "$program" && "./$program"; } >log 2>&1 || show log)"
done

printf '%s\n' '#include <glim/glim.hpp>' '#include <cstdio>' \
  'int main() { std::printf("printed before "); glim::matmul(glim::zeros({2, 3}), glim::zeros({2, 3})); }' >uncaught.cpp
"$cxx" -std=c++20 uncaught.cpp "${flags[@]}" -o uncaught >log 2>&1
prints "what was printed before an uncaught error" "*printed before *" sh -c './uncaught 2>/dev/null | cat'

examples=$root/tools/examples
# Trained models: the programs that use them, one of them in C, with pkg-config.
if [ -x "$prefix/bin/glim" ]; then
  read -ra flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs glim-pipeline)
  "$prefix/bin/glim" train --task copy --examples 200 --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 --quiet \
    --progress none --out model >log 2>&1 || tail -n 1 log
  "$cxx" "${strict[@]}" "$examples/serve.cpp" "${flags[@]}" -pthread -o serve >log 2>&1 &&
    "$cxx" "${strict[@]}" "$examples/classify.cpp" "${flags[@]}" -o classify >>log 2>&1
  prints "the examples of the pipeline" "*holds a model of kind 'transformer', which does not classify sentences*" ./classify model x
  "${CC:-cc}" -std=c99 -Wall -Wextra -Wpedantic -Werror "$examples/translate_c.c" "${flags[@]}" -o by_c >log 2>&1 || tail -n 5 log
  block translate_lines models/pipeline/pipeline.md
  "$cxx" "${strict[@]}" translate_lines.cpp "${flags[@]}" -o translate_lines >log 2>&1
  prints "translate_lines, as its page has it" "$("$prefix/bin/glim" translate --model model <<<'3 4 5')" \
    sh -c "echo 3 4 5 | ./translate_lines model"
  prints "a program in C" "3 4 5 -> $(echo 3 4 5 | "$prefix/bin/glim" translate --model model)" ./by_c model '3 4 5'
  prints "its missing model" "translate_c: nowhere: no such file or folder" ./by_c nowhere x
  prints "its wrong sentence" "translate_c: sentence 1: invalid UTF-8 at byte 1 (0xff)" ./by_c model $'\xff'
fi
if command -v cmake >/dev/null; then
  { cmake -S "$here/cmake" -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" &&
    cmake --build by_cmake; } >log 2>&1
  learns "CMake" by_cmake/consumer
  [ -z "$pipeline" ] || prints "CMake's pipeline" "classify: nowhere: no such file or folder" by_cmake/classify nowhere x
  for languages in ${pipeline:+C "C CXX"}; do
    mkdir "in $languages"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' "project(translate_c $languages)" 'find_package(Glim REQUIRED)' \
      "add_executable(translate_c $examples/translate_c.c)" 'target_link_libraries(translate_c PRIVATE Glim::pipeline)' \
      >"in $languages/CMakeLists.txt"
    { cmake -S "in $languages" -B "by $languages" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" &&
      cmake --build "by $languages"; } >log 2>&1
    prints "CMake, project($languages)" "translate_c: nowhere: no such file or folder" "by $languages/translate_c" nowhere x
  done
else
  echo "CMake is not installed: its consumer is not tried"
fi

unset PKG_CONFIG_PATH LD_LIBRARY_PATH
if [ -x "$prefix/bin/glim" ] && [ -e "$prefix/lib/libglim.a" ]; then
  "$prefix/bin/glim" course start softmax --language cpp --folder exercise --solution >log 2>&1
  prints "an exercise in C++ beside the installed program" "* right*" "$prefix/bin/glim" course check softmax --folder exercise
fi

# The tree itself within another: of Glim only the library is to be built. It has the sources that $build compiled, so
# the consumer is linked with that one.
cp -r "$here" consumers
ln -s "$root" consumers/meson/subprojects/glim
theirs=subprojects/glim/libglim.a
{ meson setup by_meson consumers/meson --wrap-mode=forcefallback && ninja -C by_meson -t targets all >targets &&
  object=$(sed -n 's/^\(consumer\.p.*\.o\): .*/\1/p' targets) && ninja -C by_meson "$object" &&
  link=$(ninja -C by_meson -t commands consumer | tail -n 1) && [[ $link = *" $theirs "* ]] &&
  (cd by_meson && eval "${link/ $theirs / $build/libglim.a }"); } >log 2>&1
learns "Meson" by_meson/consumer
printf '%s\n' "project('of_models', 'cpp', default_options: ['cpp_std=c++20'])" "executable('classify', 'classify.cpp'," \
  "dependencies: dependency('glim-pipeline', fallback: 'glim', default_options: ['pipeline=enabled']))" >consumers/meson/of_models
mkdir of_models
cp -r consumers/meson/subprojects of_models
mv consumers/meson/of_models of_models/meson.build
cp "$root/tools/examples/classify.cpp" of_models
meson setup of_models/build of_models --wrap-mode=forcefallback >log 2>&1
report "Meson's pipeline" "$([ ! -x "$build/tools/glim" ] || ninja -C of_models/build -t query classify 2>&1 |
  grep subprojects/glim/libglim_pipeline.a >/dev/null || show log)"
report "a changed header is compiled at once" "$(ninja -C by_meson -t deps "$object" | grep headers_made.hpp >/dev/null ||
  echo "nothing that is made with the headers is read")"
report "Meson builds the library alone" "$(grep -E '^subprojects/glim/(tools/[^/]*|tests/.*): ' targets)"
report "Meson builds the whole library" "$(ninja -C by_meson -t query "$theirs" >objects 2>&1
  for part in kernels_baseline layers glim; do grep -q " subprojects/glim/lib$part.a.p/" objects || echo "no $part"; done)"
summary
