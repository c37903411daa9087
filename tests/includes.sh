#!/usr/bin/env bash
# Includes flow one way: no file includes one of a folder behind its own in CONTRIBUTING.md's two chains of folders, and
# what is compiled once includes none. No two types have one name. The live pages' library has each std::ranges that is
# used. Numbers do not come from the C library, and headers of systems are in tensor/system alone.
set -euo pipefail
cd "$1"
chains=$(tr '\n' ' ' <CONTRIBUTING.md | grep -oE '`[a-z_]+( → [a-z_]+)+`' | sed 's/[`→]//g')
rooms="$(sed -n '1s/ tools$//p' <<<"$chains") $(sed -n '2s/ *\([a-z_]*\)/ tools\/\1/gp' <<<"$chains") tests"
grep -rHoE '^#include "[^"]+"' --include='*.cpp' --include='*.hpp' tensor autograd nn optim models tools tests |
  awk -F'[:"]' -v list="$rooms" '
    function place(path,  i) {  # of its room in the list; 0: in none
      for (i = 1; i <= count; i++) if (index(path, room[i] "/") == 1) return i
      return 0
    }
    BEGIN { count = split(list, room, /[ \n]+/) }
    $1 ~ /precompiled.hpp$/ { print $1 ": includes " $3 "; only standard headers are compiled once"; bad = 1; next }
    $1 ~ /^tools\/course\/(adam|copy_task).cpp$/ { next }  # files of a student, beside others of theirs
    !place($1) || !place($3) { print $1 ": includes " $3 ", and one of them is in no room"; bad = 1; next }
    place($3) > place($1) { print $1 ": includes " $3 " of a room behind its own"; bad = 1 }
    END { if (!bad) print NR " includes go one way"; exit bad }'

# Folders have no circles either: a folder and one of its own include each other one way.
grep -rHoE '^#include "[^"]+"' --include='*.cpp' --include='*.hpp' tensor autograd nn optim models tools |
  sed -nE '/^tools.course.(adam|copy_task)/!s|^(.*)/[^/]*:#include "(.*)/[^/]*"$|\1 \2|p' | awk '$1 != $2' | sort -u | tsort >/dev/null ||
  { echo "these folders include one another"; exit 1; }

# Files of autograd include earlier ones alone, in the order of autograd/reading.md.
order=$(awk '/^## /{on = /`autograd`, in order/} on && /^\| [^r-]/{split($0, cell, "|"); print cell[3]}' autograd/reading.md)
grep -rHoE '^#include "autograd/[^"]+"' --include='*.cpp' --include='*.hpp' autograd |
  awk -F'[:"]' -v list="$(tr -d '`' <<<"$order")" '
    function unit(path) { sub(/^autograd\//, "", path); if (!sub(/\/.*/, "/", path)) sub(/\..*/, "", path); return path }
    BEGIN { count = split(list, name, /[ \n]+/); for (i = 1; i <= count; i++) place[name[i]] = i }
    { from = unit($1); to = unit($3) }
    !place[from] || !place[to] { print $1 ": autograd/reading.md does not order it or " $3; bad = 1; next }
    place[to] > place[from] { print $1 ": includes " $3 ", which comes later in autograd/reading.md"; bad = 1 }
    END { if (!bad) print NR " includes of autograd follow autograd/reading.md"; exit bad }'
[ "$(cat autograd/graph.hpp autograd/graph.cpp autograd/backward.hpp | wc -l)" -le 250 ] ||
  { echo "the engine (autograd/graph, autograd/backward) has more than 250 lines"; exit 1; }

# A name is one type in all headers: of two, the linker would keep either one's functions, in silence.
find tensor autograd nn optim models tools -name '*.hpp' | sort | xargs awk '
  FNR == 1 { space = "" }
  /^namespace / { space = $2 }
  match($0, /^(class|struct|enum class|using)( alignas\([0-9]+\))? [A-Za-z0-9_]+( final)?( :[^:].*)?( =.*;| *\{)/) {
    sub(/^(class|struct|enum class|using)( alignas\([0-9]+\))? /, ""); sub(/[^A-Za-z0-9_].*/, "")
    name = space "::" $0
    if (file[name] && file[name] != FILENAME) { print FILENAME ": " name " is another type in " file[name]; bad = 1 }
    file[name] = FILENAME
  }
  END { exit bad }'

# Numbers of weights, files and pages come from tensor/portable.hpp: the C library's last digit differs between systems.
# Its functions are for pictures, texts of digits, studies, peers, and the code that a student or a reader has.
! grep -rnE 'std::(exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|tanh|sinh|cosh|atan2|pow|erf|cbrt|hypot)\(' --include='*.cpp' \
  --include='*.hpp' tensor autograd nn optim models tools |
  grep -vE '^(autograd/gradcheck|tools/(benchmarks|course|examples|render|study)|tools/foreign/behaviour|tools/inspect/(pack|report/pictures)|models/transformer/one_file)' ||
  { echo "the lines above call the C library: tensor/portable.hpp has the same bits everywhere"; exit 1; }

# Letters, digits and numbers do not follow the program's locale, which Python sets on Windows and a toolkit on Linux. A
# student's C++ is a program of its own.
! grep -rnE '\b((is(alpha|alnum|digit|space|upper|lower|punct|print|xdigit)|to(lower|upper)|(ato|str?to)[fd]|sto[df]|sscanf)\(|strtod)' --include='*.cpp' \
  --include='*.hpp' tensor autograd nn optim models tools |
  grep -vE '^(tools/(course/(runner|copy_task)\.cpp|live/include)|models/transformer/one_file)' ||
  { echo "the lines above follow the locale: tools/common/ascii.hpp and number.hpp do not"; exit 1; }

# What is an operating system's is in tensor/system. Two have their own: the sandbox of a student's C++, and a server.
! grep -rnE '^ *#include <[a-z_0-9/]+\.h>|_WIN32|__APPLE__|__linux__' --include='*.cpp' --include='*.hpp' tensor autograd nn optim models tools |
  grep -vE '^(tensor/(system/|fast/parallel.cpp)|tools/(course/runner\.cpp|examples/serve|live)|[^<]*<([a-z]*mmintrin|nanobind/[a-z_/]+|cxxabi|utf8proc|sentencepiece_[a-z]+|zlib|png|mpi|editline/readline|fmt/[a-z]+)\.h>)' ||
  { echo "the lines above use a system's headers: tensor/system is for them"; exit 1; }

ranges=$(grep -rhoE 'std::ranges::[a-z_]+' --include='*.cpp' --include='*.hpp' tensor autograd nn optim models tools |
  sort -u | sed 's/.*:://')
for name in $ranges; do
  grep -qE "GLIM_RANGE\($name\)|void $name\(" tools/live/include/missing.hpp ||
    { echo "tools/live/include/missing.hpp has no std::ranges::$name"; exit 1; }
done
! grep -rnE 'std::ranges::[a-z_]+\([^;]*&[A-Z][A-Za-z]*::' --include='*.cpp' --include='*.hpp' tensor autograd nn optim models \
  tools/{common,data,derive,inspect,kinds,live,measure,pass,train} | grep -v 'ranges::stable_sort' ||
  { echo "the lines above give a member's address to a function, which tools/live/include/missing.hpp does not call"; exit 1; }
