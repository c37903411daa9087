#!/usr/bin/env bash
# The name of a kind of model is compared nowhere outside the kind's own file, tools/kinds/NAME.cpp: what differs between
# kinds is a field of Kind (tools/kinds/kind.hpp). Studies have models of their own, under names of their own.
set -euo pipefail
cd "$1"
names=$(sed -n '/model_kinds() {/,/^}/p' models/pipeline/described.cpp | grep -oE '"[a-z-]+"' | tr -d '"' | paste -sd'|')
[[ "$names" == *"|gpt|"* ]] || { echo "models/pipeline/described.cpp names no kinds"; exit 1; }
text="[\"']($names)[\"']"
compared="(==|!=|case) *$text|$text *(==|!=)|\[[^]]*$text[^]]*\]\.includes|\bin \(?\[?$text"
if found=$(grep -rnE --include='*.cpp' --include='*.hpp' --include='*.js' --include='*.py' "$compared" \
    autograd nn optim models tools | grep -vE '^tools/(kinds/[a-z_]+\.cpp|study/)'); then
  echo "a kind of model is compared by its name:"
  echo "$found"
  exit 1
fi
echo "$(tr '|' '\n' <<<"$names" | wc -l) kinds, and no comparison with a name of theirs"
