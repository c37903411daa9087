#!/usr/bin/env bash
# The tests of the Python package that a build would install: tree.sh BUILD PYTHON [PYTEST-OPTIONS...]
# (tests/python.sh makes a wheel, and tests that.)
set -euo pipefail
build=$(realpath "$1") python=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DESTDIR=$folder meson install -C "$build" --no-rebuild --tags python-runtime >"$folder/log" || { cat "$folder/log"; exit 1; }
package=$(find "$folder" -path '*/glim/__init__.py')
cd "$(dirname "$0")"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$(dirname "$package")") \
  "$python" -m pytest -q -p no:cacheprovider --durations 3 "$@" .
