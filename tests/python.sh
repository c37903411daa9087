#!/usr/bin/env bash
# The Python package as a user gets it: a wheel of the tree, installed in a fresh environment, and its tests.
#   python.sh [FOLDER [PYTHON...]]     FOLDER: build/python; PYTHON: python3
# The wheel is made by the first Python and installed for each. It needs Debian's python3-venv and python3-dev, and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-build/python}" && cd "${1:-build/python}" && pwd)
shift || true
pythons=("${@:-python3}")
fail() { echo "python.sh: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

started=$SECONDS
environment() {  # environment PYTHON FOLDER
  rm -rf "$2"
  "$1" -m venv "$2" >"$folder/log" 2>&1 || fail "$1 makes no environment: apt-get install python3-venv"
}
install() {  # install ENVIRONMENT PACKAGE...
  local python=$1/bin/python
  shift
  "$python" -m pip install --disable-pip-version-check -q "$@" >"$folder/log" 2>&1 || {
    grep -E "ERROR|error:" "$folder/log" | head -3 >&2
    fail "pip could not install $*; it needs PyPI (all it said: $folder/log)"
  }
}

"${pythons[0]}" -c 'import sysconfig, os, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  fail "${pythons[0]} has no Python.h: apt-get install python3-dev"
# Kept from one run to the next, so that Ninja sees what has changed.
[ -x "$folder/builder/bin/python" ] || environment "${pythons[0]}" "$folder/builder"
mapfile -t needed < <("$folder/builder/bin/python" -c 'import re
print("\n".join(re.findall(r"\"(.*?)\"", re.search(r"requires = \[(.*?)\]\n", open("pyproject.toml").read(), re.S)[1])))')
install "$folder/builder" wheel ninja "${needed[@]}"
rm -rf "$folder/wheels"
PATH="$folder/builder/bin:$PATH" "$folder/builder/bin/python" -m pip wheel --disable-pip-version-check -q --no-deps \
  --no-build-isolation --config-settings=builddir="$folder/build" -w "$folder/wheels" . >"$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; fail "the wheel does not build"; }
# The module has the stable ABI of 3.10, whichever Python built it.
"$folder/builder/bin/python" -m wheel tags --remove --python-tag cp310 "$folder"/wheels/*.whl >"$folder/log"
wheel=$(echo "$folder"/wheels/*.whl)
echo "$(basename "$wheel"): $(($(stat -c %s "$wheel") / 1000)) kB, $((SECONDS - started)) s"
[ "$(stat -c %s "$wheel")" -le 6000000 ] || fail "the wheel has more than 6 MB"

passed=0 failed=0
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  environment "$python" "$folder/env-$version"
  install "$folder/env-$version" "$wheel" pytest
  status=0
  (cd tests/python && PYTHONDONTWRITEBYTECODE=1 "$folder/env-$version/bin/python" -m pytest -q -p no:cacheprovider .) >"$folder/tests-$version" 2>&1 || status=$?
  summary=$(tail -1 "$folder/tests-$version")
  [ "$status" = 0 ] || cat "$folder/tests-$version"
  count() { grep -oE "[0-9]+ $1" <<<"$summary" | grep -oE '[0-9]+' || echo 0; }
  passed=$((passed + $(count passed))) failed=$((failed + $(count failed) + $(count error)))
  echo "Python $version: $summary"
done
[ "$failed" = 0 ] && [ "$passed" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
