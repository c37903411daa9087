#!/usr/bin/env bash
# The Python package as a user gets it: a wheel of the tree, installed in a fresh environment, and its tests; then the
# course's files, graded by nbgrader and otter-grader.
#   python.sh [FOLDER [PYTHON...]]     FOLDER: build/python; PYTHON: python3
# The wheel is made by the first Python and installed for each. It needs Debian's python3-venv and python3-dev, and PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-build/python}" && cd "${1:-build/python}" && pwd)
shift || true
pythons=("${@:-python3}")
fail() { echo "python.sh: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

started=$SECONDS
# Kept from one run to the next, so that Ninja sees what has changed.
tests/python/environment.sh "$folder/builder" "${pythons[0]}" wheel ninja || fail "there is no builder"
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
  environment=$folder/env-$version
  rm -rf "$environment"
  "$python" -m venv "$environment"
  "$environment/bin/python" -m pip install --disable-pip-version-check -q "$wheel" pytest >"$folder/log" 2>&1 ||
    { tail -3 "$folder/log" >&2; fail "pip could not install the wheel for $version"; }
  status=0
  (cd tests/python && PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" -m pytest -q -p no:cacheprovider .) >"$folder/tests-$version" 2>&1 || status=$?
  summary=$(tail -1 "$folder/tests-$version" | grep -E '^[0-9]+ passed, [0-9]+ failed$') || summary="0 passed, 1 failed"
  [ "$status" = 0 ] || cat "$folder/tests-$version"
  echo "Python $version: $summary"
  read -r good _ bad _ <<<"$summary"
  passed=$((passed + good)) failed=$((failed + bad))
done
# The course's files, read by the graders of others.
if "$environment/bin/python" -m pip install --disable-pip-version-check -q nbgrader otter-grader >"$folder/log" 2>&1; then
  if "$environment/bin/python" tests/tools/course/graders.py "$environment/bin/python" "" >"$folder/log" 2>&1; then
    passed=$((passed + 1))
  else
    cat "$folder/log" >&2
    failed=$((failed + 1))
  fi
else
  echo "NOT TESTED: nbgrader and otter-grader: $(tail -n 1 "$folder/log")"
fi
[ "$failed" = 0 ] && [ "$passed" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
