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
says "sizes that are equal" "D = F = 48 here: written as a number" "${layer[@]}" --d-model 48 --d-ff 48
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

# lacks NAME PATTERN COMMAND...: no line of the output has it
lacks() {
  local name=$1 pattern=$2
  shift 2
  "$@" >out 2>err
  report "$name" "$([ -s out ] || head -3 err; grep -E -- "$pattern" out | head -3)"
}
for level in rules primitives; do
  for kind in transformer classifier vit rnn; do
    lacks "each sum of a $kind has its axes, $level" 'Σ[^_]' \
      sh -c "'$glim' derive --kind $kind --level $level | grep -v 'Σ(where'"
    lacks "a product of elements has its sign, $level $kind" 'd[a-z_.]*probs [a-z]*probs|dnormalized normalized|dmul[_0-9]* normalized' \
      "$glim" derive --kind $kind --level $level
  done
  lacks "the names of one layer, $level" 'layers[0-9]' "$glim" derive --layers 1 --level $level
  says "a value that is elsewhere, $level" "From lines that are elsewhere: " "${layer[@]}" --level $level
  says "a mask, $level" "Given, without a gradient: keep (B, 1, 1, S)" "${layer[@]}" --level $level
done
nineteen=(--task copy --sentence "1 2 3 4 5 1 2 3 4 5 1 2 3 4 5 1 2 3 4")  # and the end: as long as a head is wide
says "two extents of the same size" "scores = 1/√Dh " "${layer[@]}" "${nineteen[@]}"
lacks "two extents of the same size" 'Dh = |\(B, S, H, S\)' "${layer[@]}" "${nineteen[@]}"
says "the constant of a loss" "q > 0" "$glim" derive --level primitives
lacks "the model is a fresh one" 'default: model' "$glim" derive --help
refuse "more layers than fit" "with 1000000 layers .* at least .* of memory" "$glim" derive --layers 1000000
refuse "a width that does not fit" "--layers, --d-model: with 2 layers of width 10000000 " "$glim" derive --d-model 10000000

refuse "an unknown module" "no module 'encoder.layer.0' \(nearest: encoder.layers.0" "$glim" derive --module encoder.layer.0
refuse "a part of a program" '--module: a program has the whole pass' "${layer[@]}" --format numpy
refuse "an unknown format" "--format: 'pdf' is not one of" "$glim" derive --format pdf
refuse "a sheet that is there" 'sheet.tex: exists already: --overwrite' "$glim" derive --format latex --out sheet.tex
refuse "a model that is not there" 'nowhere: no such file' "$glim" derive --model nowhere
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
