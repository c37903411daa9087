#!/usr/bin/env bash
# arm64.sh [FOLDER]: Glim as an ARM64 program, compiled by Debian's cross-compiler and run by qemu-user, trains to the
# golden hashes (tests/tools/benchmarks/one_hash.sh), and exchanges files with the program of this system (systems.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/system.sh
folder=$(realpath -m "${1:-build-arm64}")
missing() { echo "arm64: $1"; exit 77; }
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v $tool >/dev/null || missing "$tool is missing: apt-get install g++-aarch64-linux-gnu qemu-user-static"
done
dpkg --print-foreign-architectures | grep -qx arm64 || missing "dpkg --add-architecture arm64 && apt-get update"

# The libraries of the other architecture, in a folder: some of them cannot be installed beside this one's.
root=$folder/root libs=$folder/root/usr/lib/aarch64-linux-gnu
if [ ! -e "$folder/unpacked" ]; then
  mkdir -p "$folder/packages" "$root"
  wanted=(libopenblas-openmp-dev libfmt-dev libsentencepiece-dev libutf8proc-dev zlib1g-dev libpng-dev)
  mapfile -t packages < <(apt-cache depends --recurse -i "${wanted[@]/%/:arm64}" | grep -E '^[a-z0-9].*:arm64$' |
    grep -v '^libc6-dev' | sort -u)  # the cross-compiler has its own
  (cd "$folder/packages" && apt-get download "${packages[@]}" nlohmann-json3-dev)
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$root"; done
  # Debian 12 has some in /lib, Debian 13 in /usr/lib alone.
  [ ! -d "$root/lib/aarch64-linux-gnu" ] || cp -a "$root"/lib/aarch64-linux-gnu/. "$libs"
  [ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
  touch "$folder/unpacked"
fi
program() {  # PATH LINE: a script of one command
  printf '#!/bin/sh\nexec %s "$@"\n' "$2" >"$1"
  chmod +x "$1"
}
program "$folder/pkg-config" "env PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$libs/pkgconfig:$root/usr/share/pkgconfig pkg-config"
qemu="qemu-aarch64-static -L $root -E LD_LIBRARY_PATH=$libs:$libs/openblas-openmp"
cat >"$folder/cross.ini" <<END
[binaries]
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkg-config = '$folder/pkg-config'
exe_wrapper = '$folder/run'
[properties]
sys_root = '$root'
[built-in options]
cpp_args = ['-idirafter', '$root/usr/include']
cpp_link_args = ['-L$libs', '-Wl,-rpath-link,$libs:$libs/openblas-openmp']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
program "$folder/run" "$qemu"
for name in glim benchmarks/glim_bench; do
  program "$folder/${name##*/}" "$qemu -E GLIM_ISA=\$GLIM_ISA -E OMP_NUM_THREADS=\$OMP_NUM_THREADS $folder/build/tools/$name"
done
tools/build build tools/glim tests/tools/make_images
tools/build "$folder/build" tools/glim tools/benchmarks/glim_bench -- --cross-file="$folder/cross.ini" \
  -Dpages=disabled -Dtests=disabled -Dmpi=disabled
tests/systems.sh build/tools/glim "$folder/glim"
exec tests/tools/benchmarks/one_hash.sh "$folder/glim_bench" "$folder/glim" build/tests/tools/make_images
