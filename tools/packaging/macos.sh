# Checks what a program or module for macOS needs of its system, by LLVM's tools, since none of them runs here. To be
# sourced after zig.sh.

# The names that macOS 11's libSystem exports, in $work/macos11: an earlier zig has Apple's list.
macos11() {
  [ ! -e "$work/macos11" ] || return 0
  "$zig" -m pip download --disable-pip-version-check -q --no-deps --only-binary=:all: -d "$work" ziglang==0.11.0 >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; fail "PyPI cannot be reached"; }
  unzip -p "$work"/ziglang-0.11.0-*.whl '*/libSystem.11.tbd' | grep -oE "[_A-Za-z\$][^][,' ]*" | sort -u >"$work/macos11.new"
  mv "$work/macos11.new" "$work/macos11"
}

# check_macho FILE PROCESSOR SYMBOLS: it is for macOS 11 and the processor, is signed where it must be (arm64, signature.py), and needs nothing but
# libSystem, and of it nothing that is later than macOS 11. Python's symbols are those that match SYMBOLS.
check_macho() {
  local file=$1 processor=$2 tool commands libraries missing
  for tool in objdump nm; do
    command -v llvm-$tool >/dev/null || fail "llvm-$tool is missing: apt-get install llvm"
  done
  macos11
  commands=$(llvm-objdump --macho --private-headers "$file")
  grep -qi "^ *MH_MAGIC_64 *$processor " <<<"$commands" || fail "$file is not for $processor"
  libraries=$(awk '$1 == "cmd" { load = $2 ~ /DYLIB$/ && $2 != "LC_ID_DYLIB" } load && $1 == "name" { print $2 }' <<<"$commands")
  [ "$libraries" = /usr/lib/libSystem.B.dylib ] || fail "$file needs" $libraries
  grep -qx ' *minos 11.0' <<<"$commands" || fail "$file does not say that macOS 11 is enough"
  [ "$processor" != arm64 ] || python3 tools/packaging/signature.py "$file" || fail "a Mac does not run $file"
  missing=$(llvm-nm -u "$file" | awk '{ print $NF }' | sort -u | comm -23 - "$work/macos11" | grep -vE "^(${3:-dyld_stub_binder})$") || true
  [ -z "$missing" ] || fail "$file needs what macOS 11 has not:" $missing
}
