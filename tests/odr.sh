#!/usr/bin/env bash
# odr.sh [FOLDER]: no two types, functions or variables of the program have one name and two meanings (the one definition
# rule), which the linker takes for the same. Link-time optimisation sees all of a program at once; the link fails if one
# is found.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build "${1:-build-odr}" tools/glim -- -Dbuildtype=plain -Doptimization=0 -Db_lto=true -Dpages=enabled \
  -Dtests=disabled -Dbenchmarks=disabled -Dcpp_link_args='-Werror=odr -Werror=lto-type-mismatch'
echo "each name has one meaning"
