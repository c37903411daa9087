#!/usr/bin/env bash
# The name of a kind of model is compared nowhere outside the kind's own file, tools/kinds/NAME.cpp, and no model is asked
# for its class: what differs between kinds is a field of Kind (tools/kinds/kind.hpp) or a virtual of the model. A study, an
# example and a format of export have a model of one class, which they may name.
set -euo pipefail
cd "$1"
files=$(grep -oE '^  F\([a-z_]+, ' models/pipeline/kinds.hpp | sed 's/.*F(//; s/, //' | paste -sd'|')
names=${files//_/-}
[[ "$names" == *"|gpt|"* ]] || { echo "models/pipeline/kinds.hpp names no kinds"; exit 1; }
models="Transformer|Seq2SeqRnn|ConvSeq2Seq|NonAutoregressive|Gpt|Bert|Vit|Cnn|SequenceClassifier|TokenClassifier"
text="[\"']($names)[\"']"
compared="(==|!=|case) *$text|$text *(==|!=)|\[[^]]*$text[^]]*\]\.includes|\bin \(?\[?$text"
compared+="|(kind_named|find_kind|contains|count|starts_with)\($text"
found() {  # PATTERN, FOLDERS that may have it
  grep -rnE --include='*.cpp' --include='*.hpp' --include='*.js' --include='*.py' "$1" autograd nn optim models tools |
    grep -vE "^tools/(kinds/($files)\.cpp|$2)"
}
if found "$compared" none || found "dynamic_cast<(const )?($models)\b" "study/|examples/|convert/export\.cpp"; then
  echo "a kind of model is compared by its name, or a model asked for its class"
  exit 1
fi
echo "$(tr '|' '\n' <<<"$names" | wc -l) kinds, and no comparison with a name of theirs"
