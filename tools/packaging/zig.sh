# zig, a C++ compiler for other systems that comes from PyPI, in the folder $work. To be sourced after sources.sh.
zig=$work/environment/bin/python3

# What it compiles, in $work/glim: a copy of the tree, with the libraries of sources.sh. Their licences: $work/licences.
zig_environment() {
  local tool packages file
  for tool in dpkg-source:dpkg-dev meson:meson ninja:ninja-build zip:zip; do
    command -v "${tool%:*}" >/dev/null || fail "${tool%:*} is missing: apt-get install ${tool#*:}"
  done
  [ -e /usr/share/nodejs/d3/dist/d3.min.js ] || fail "D3 is missing: apt-get install node-d3"
  if [ ! -e "$work/licences" ]; then
    fetch_sources
    /usr/bin/python3 -m venv "$work/environment"
    "$zig" -m pip install --disable-pip-version-check -q ziglang==0.17.1 nlohmann_json >"$work/log" 2>&1 ||
      { tail -n 5 "$work/log" >&2; fail "PyPI cannot be reached"; }
    packages=$(echo "$work"/environment/lib/python3*/site-packages)
    mkdir "$work/bundled/nlohmann_json"
    cp -r "$packages/nlohmann_json/include" "$work/bundled/nlohmann_json"
    licences program nlohmann_json >"$work/new"
    for file in libcxx/LICENSE.TXT libcxxabi/LICENSE.TXT libunwind/LICENSE.TXT libc/mingw/COPYING; do
      printf '\n---- %s ----\n\n' "$file"
      cat "$packages"/ziglang-*.dist-info/licenses/ziglang/lib/"$file"
    done >>"$work/new"
    mv "$work/new" "$work/licences"
  fi
  copy_tree "$work/glim"
}

# nanobind and Python's headers, for a module of Python: Debian 13's sources have those of Python 3.13.
zig_python() {
  local suite=trixie bundled=$work/glim/subprojects/bundled apt
  [ ! -e "$bundled/python" ] || return 0
  "$zig" -m pip install --disable-pip-version-check -q wheel abi3audit nanobind >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; fail "PyPI cannot be reached"; }
  debian_lists python-sources deb-src
  (cd "$work" && "${apt[@]}" source --download-only python3.13) >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; fail "the source of python3.13 cannot be had"; }
  cp -r "$work"/environment/lib/python3*/site-packages/nanobind "$bundled"
  mkdir "$work/python.new"
  tar -x -C "$work/python.new" --strip-components=2 -f "$work"/python3.13_*.orig.tar.xz --wildcards '*/Include/*' '*/PC/pyconfig.h.in' \
    '*/PC/python3dll.c'
  mv "$work/python.new/pyconfig.h.in" "$work/python.new/pyconfig-windows.h"
  printf '#%s\n' 'ifdef _WIN32' 'include "pyconfig-windows.h"' else 'define SIZEOF_INT 4' 'define SIZEOF_WCHAR_T 4' \
    'define SIZEOF_LONG 8' 'define SIZEOF_LONG_LONG 8' 'define SIZEOF_SIZE_T 8' 'define SIZEOF_VOID_P 8' 'define HAVE_WCHAR_H 1' endif >"$work/python.new/pyconfig.h"
  mv "$work/python.new" "$bundled/python"
}

# On macOS the loader merges what modules export in common, such as templates of a library that another has, too.
# zig_build FOLDER TARGET SYSTEM GOAL...: Glim for zig's TARGET, which is Meson's SYSTEM, in $work/FOLDER
zig_build() {
  local folder=$1 target=$2 system=$3 linker='LLD (compatible with GNU linkers)' strip= hide= status=0 tool tools=$work/$1.tools
  # Meson knows linkers and resource compilers by what they say of themselves, and zig's say other things.
  # Meson gives -Wl,-force_load its library as a word of its own, and zig has no -bundle, as which a -dynamiclib serves.
  script() {  # NAME COMMAND ANSWER PATTERN: a program that gives the answer where its arguments match
    printf '#!/bin/sh\ncase "$*" in %s) echo "%s" | tee /dev/stderr; exit ;; esac\n' "$4" "$3" >"$tools/$1"
    [ "$system" != darwin ] || echo 'load=
for word; do
  shift
  case "$word" in
    -Wl,-force_load) load=$word, ;;
    -bundle) set -- "$@" -dynamiclib ;;
    *) set -- "$@" "$load$word" && load= ;;
  esac
done' >>"$tools/$1"
    # zig passes glibc's version to clang for a text without a language, and clang does not know it.
    [ "$system" != linux ] || echo 'case "$*" in "-E -dM -") set -- -x c "$@" ;; esac' >>"$tools/$1"
    echo "exec $2 \"\$@\"" >>"$tools/$1"
    chmod +x "$tools/$1"
  }
  [ "$system" != darwin ] || linker='LLD ld64.lld' strip="'-Wl,-dead_strip', '-Wl,-x', " hide=", '-fvisibility=hidden'"
  mkdir -p "$tools"
  # zig writes debugging information unless it is told not to: objects ten times as large, for a program that is stripped.
  for tool in cc c++; do script $tool "$zig -m ziglang $tool -target $target -g0" "$linker" '*-Wl,--version*|*-Wl,-v*'; done
  script rc "$zig -m ziglang rc" 'zig, as the Microsoft (R) Resource Compiler' '*/[?]*'
  script ar "$zig -m ziglang ar" ar '--no-such'
  cat >"$tools/cross.new" <<END
[binaries]
c = '$tools/cc'
cpp = '$tools/c++'
ar = '$tools/ar'
windres = '$tools/rc'
[built-in options]
c_args = ['-fno-sanitize=all'$hide]
cpp_args = ['-fno-sanitize=all'$hide]
cpp_link_args = [$strip'-s']
[host_machine]
system = '$system'
cpu_family = '${target%%-*}'
cpu = '${target%%-*}'
endian = 'little'
END
  # Meson reads the file once, for a folder that is new.
  cmp -s "$tools/cross.new" "$tools/cross.ini" || rm -rf "${work:?}/$folder"
  mv "$tools/cross.new" "$tools/cross.ini"
  # zig writes a file into the folder where it is asked for its version.
  [ -e "$work/$folder/build.ninja" ] || (cd "$tools" && meson setup "$work/$folder" "$work/glim" --cross-file="$tools/cross.ini" \
      -Dbuildtype=release -Db_pch=false -Dwerror=false -Dpages=enabled -Dtests="${tests:-disabled}" -Dbenchmarks=enabled >"$work/log" 2>&1) ||
    { tail -n 20 "$work/log" >&2; fail "Meson refuses the tree"; }
  ninja -C "$work/$folder" "${@:4}" 2>&1 | brief "$work/log" || status=$?
  [ "$status" = 0 ] || { grep -A 5 error: "$work/log" | head -n 20 >&2; fail "${4} was not built for $target"; }
}
