#!/usr/bin/env bash
# An environment with what builds and tests the Python package: environment.sh FOLDER [PYTHON [PACKAGE...]]
# All of it comes from PyPI. Where that cannot be had, one line says why, and the status is 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1 python=${2:-python3}
shift $(($# < 2 ? $# : 2))
fail() { echo "the Python package: $*" >&2; exit 1; }

mapfile -t needed < <("$python" -c 'import re
for part in re.findall(r"^(?:requires|dependencies) = \[(.*?)\]\n", open("pyproject.toml").read(), re.S | re.M):
    print("\n".join(re.findall(r"\"(.*?)\"", part)))')
wanted="$("$python" --version) ${needed[*]} $*"
[ "$(cat "$folder/ready" 2>/dev/null)" != "$wanted" ] || exit 0
"$python" -c 'import sysconfig, os, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  fail "$python has no Python.h: apt-get install python3-dev"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
log=$("$python" -m venv "$folder" 2>&1) || fail "$python makes no environment: apt-get install python3-venv"
log=$("$folder/bin/python3" -m pip install --disable-pip-version-check -q pytest "${needed[@]}" "$@" 2>&1) ||
  fail "pip could not install ${needed[*]}: $(grep -m 1 -E "ERROR|error:" <<<"$log" || tail -n 1 <<<"$log")"
printf '%s' "$wanted" >"$folder/ready"
