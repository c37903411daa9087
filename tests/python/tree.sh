#!/usr/bin/env bash
# The Python package that a build would install: tree.sh BUILD PYTHON [MODULE ARGUMENTS...] runs a module in this folder with
# it, or else the tests. (tests/python.sh makes a wheel, and tests that.)
set -euo pipefail
build=$(realpath "$1") python=$2
shift 2
[ $# -gt 0 ] || set -- pytest -q -p no:cacheprovider --durations 3 .
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DESTDIR=$folder meson install -C "$build" --no-rebuild --tags python-runtime >"$folder/log" || { cat "$folder/log"; exit 1; }
package=$(find "$folder" -path '*/glim/__init__.py')
cd "$(dirname "$0")"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$(dirname "$package")") "$python" -m "$@"
