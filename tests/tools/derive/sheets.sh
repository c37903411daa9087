#!/usr/bin/env bash
# sheets.sh GLIM: what `glim derive` writes of each kind of model, in each format, and what it refuses. A sheet in LaTeX
# is compiled where LaTeX is installed.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$(realpath "$0")")/../common.sh"
# says NAME WORDS COMMAND...: the output has the words
says() {
  local name=$1 words=$2
  shift 2
  "$@" >out 2>err
  report "$name" "$(grep -qF -- "$words" out || echo "no '$words' in: $(head -3 out err)")"
}

for kind in transformer "transformer --copy" rnn conv non-autoregressive gpt bert classifier vit; do
  for level in rules primitives; do
    # shellcheck disable=SC2086
    says "$kind, $level" "loss = " "$glim" derive --kind $kind --level $level
  done
done
layer=("$glim" derive --module encoder.layers.1.self_attn)
says "a layer that is equal to another" "encoder.layers.1.self_attn" "${layer[@]}"
says "a value that is read three times" "(3 of 3)" "${layer[@]}"
says "sizes that are equal" "D = F = 48 here: one letter stands for both" "${layer[@]}" --d-model 48
says "a pass that was changed" "This pass was changed: glim derive" "${layer[@]}" --scale 0.5
says "Markdown" '$\mathit{probs}\;=\;\mathrm{softmax}' "${layer[@]}" --format markdown
says "HTML" '<mi>softmax</mi>' "${layer[@]}" --format html
python3 - out <<'PY' >problem 2>&1
import html.parser, sys
open_tags = []
class Parser(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag in ("math", "mrow", "msub", "msup", "div", "table"): open_tags.append(tag)
    def handle_endtag(self, tag):
        if tag in ("math", "mrow", "msub", "msup", "div", "table") and open_tags.pop() != tag: print("nested wrongly:", tag)
Parser().feed(open(sys.argv[1]).read())
if open_tags: print("left open:", open_tags)
PY
report "HTML is nested" "$(cat problem)"
for level in rules primitives; do
  "$glim" derive --format latex --level $level --out sheet.tex --overwrite >out 2>err || cat err
  command -v pdflatex >/dev/null || { echo "LaTeX is not installed (texlive-latex-base): sheet.tex was not compiled"; continue; }
  pdflatex -interaction=nonstopmode -halt-on-error sheet.tex >log 2>&1
  report "LaTeX, $level" "$(grep -E '^!|Overfull .hbox .[0-9]{3}' log)"
done

refuse "an unknown module" "no module 'encoder.layer.0' \(nearest: encoder.layers.0" "$glim" derive --module encoder.layer.0
refuse "a part of a program" '--module: a program has the whole pass' "${layer[@]}" --format numpy
refuse "an unknown format" "--format: 'pdf' is not one of" "$glim" derive --format pdf
refuse "a sheet that is there" 'sheet.tex: exists already: --overwrite' "$glim" derive --format latex --out sheet.tex
refuse "a model that is not there" 'nowhere: no such file' "$glim" derive --model nowhere
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
