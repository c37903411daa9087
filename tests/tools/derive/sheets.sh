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
"$glim" train --task copy --layers 1 --d-model 16 --heads 4 --d-ff 16 --max-steps 2 --progress none --out copy >log 2>&1
layer=("$glim" derive --module encoder.layers.1.self_attn)
says "a layer that is equal to another" "encoder.layers.1.self_attn" "${layer[@]}"
says "a value that is read three times" "(3 of 3)" "${layer[@]}"
for sizes in "--d-model 48 --d-ff 48" "--d-model 64 --heads 8" "--d-model 16 --heads 16" "--heads 1"; do
  # shellcheck disable=SC2086
  says "letters of sizes that are equal: $sizes" "    (B, H, S, Dh)  multihead.cpp" "${layer[@]}" $sizes
done
says "the size of a letter" "Dh                    width of a head, D / H, here 8" "${layer[@]}" --d-model 64 --heads 8
says "a trained model's letters" "    (B, H, T, S)  multihead.cpp" "$glim" derive --model copy --sentence "1 2 3" --module decoder.layers.0.multihead_attn
for k in 1 2 3 4 5 6 7 8 9; do echo "I see red cat $k"; done >a; sed 's/see/sehe/; s/red/rote/' a >b
"$glim" train --source a --target b --layers 1 --max-steps 1 --progress none --out files >log 2>&1
says "letters of a model of files" "    (B, T, F)  linear.cpp" "$glim" derive --model files --sentence "I see red cat 1"
says "each shape of a mask" "keep (B, 1, T, T)" "$glim" derive --model files --sentence "I see red cat 1"
says "the paper's letters" "A = softmax(S where keep)" "${layer[@]}"
says "the paper's letters of gradients" "dS = A ⊙ (dA - Σ_-1(dA ⊙ A))" "${layer[@]}"
says "a table of signs" "x ⊙ y                 the product of elements" "${layer[@]}"
says "the end of a module's name" "decoder.layers.0.multihead_attn  " "$glim" derive --module layers.0.multihead_attn
says "Glim's sizes of a fresh model" "here 128" "${layer[@]}"
lacks() {  # NAME PATTERN COMMAND...: no line of the output has it
  local name=$1 pattern=$2
  shift 2
  "$@" >out 2>err
  report "$name" "$([ -s out ] || head -3 err; grep -E -- "$pattern" out | head -3)"
}
says "a pass that was changed" "This pass was changed: glim derive" "${layer[@]}" --scale 0.5
says "Markdown" '$A\;=\;\mathrm{softmax}' "${layer[@]}" --format markdown
says "the gradient with regard to the scores" '\frac{\partial L}{\partial S}' "${layer[@]}" --format markdown
says "a name of the program" '\mathtt{in\_proj\_weight}' "${layer[@]}" --format markdown
says "an extent" '(\mathrm{B},\;\mathrm{H},\;\mathrm{S},\;\mathrm{Dh})' "${layer[@]}" --format markdown
says "equations for a slide" '\begin{align*}' "${layer[@]}" --format align
lacks "equations for a slide" 'document|tabular|subsection' "${layer[@]}" --format align
lacks "a list of axes that is cut" '[0-9],$|[0-9],\\\\$' "${layer[@]}" --format align
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
for kind in transformer gpt bert vit "transformer --positions rotary --norm pre" "gpt --kv-heads 2" "gpt --positions alibi"; do
  # shellcheck disable=SC2086
  "$glim" derive --kind $kind --level paper --format latex --out column.tex --overwrite >out 2>err || cat err
  command -v pdflatex >/dev/null || continue
  pdflatex -interaction=nonstopmode -halt-on-error column.tex >log 2>&1
  report "a paper's column holds $kind" "$(grep -E '^!|Overfull' log)"
done
paper=("${layer[@]}" --level paper)
says "a head in a paper's letters" "Q_h = X W_Q^h + b_Q^h " "${paper[@]}"
says "its gradient" "dS_h = A_h ⊙ (dA_h - Σ_-1(dA_h ⊙ A_h))" "${paper[@]}"
says "a paper's letters in HTML" "<msubsup><mi>W</mi><mi>Q</mi><mi>h</mi></msubsup>" "${paper[@]}" --format html
says "a paper's letters in Markdown" '| ${{Q}_{h}^{}}\;=\;X' "${paper[@]}" --format markdown
report "equations in the table of equations" "$(awk '/^[|]---/ { head = last } { last = $0 } /;=/ && head !~ /forward/' out | head -2)"
says "equal parts are written once" "feed-forward network: encoder.layers.0 (and 3 alike)" "$glim" derive --level paper
report "a head is written in 17 lines" "$("${paper[@]}" --format align >out; [ "$(grep -c '&=' out)" = 17 ] || grep -c '&=' out)"
refuse "a paper of a module without such parts" 'no attention, feed-forward network or norm is in encoder.layers.0.dropout|no module' "$glim" derive --level paper --module generator
refuse "an attention without heads of projections" 'probs has queries, keys or values that are no projections of a value with a gradient; --level rules' "$glim" derive --level paper --kind rnn
refuse "a norm of queries" '--level: paper: .*probs has queries, keys or values that are no projections' "$glim" derive --level paper --kind gpt --qk-norm
refuse "attention without softmax on paper" "paper: .*probs is attention without softmax; --level rules" "$glim" derive --level paper --kind gpt --attention-form relu
refuse "the second order of a paper" '--level: paper has the first order' "$glim" derive --level paper --order 2
for level in rules primitives; do
  for kind in transformer classifier vit rnn; do
    lacks "each sum of a $kind has its axes, $level" 'Σ[^_]' \
      sh -c "'$glim' derive --kind $kind --level $level | grep -v 'Σ(where\|^Σ(x) '"
    lacks "a product of elements has its sign, $level $kind" 'dA A|dnormalized normalized|dmul[_0-9]* normalized' \
      "$glim" derive --kind $kind --level $level
  done
  lacks "the names of one layer, $level" 'layers[0-9]' "$glim" derive --layers 1 --level $level
  says "a value that is elsewhere, $level" "From lines that are elsewhere: " "${layer[@]}" --level $level
  says "a mask, $level" "Given, without a gradient: keep (B, 1, 1, S)" "${layer[@]}" --level $level
done
nineteen=(--task copy --sentence "1 2 3 4 5 1 2 3 4 5 1 2 3 4 5 1 2 3 4")  # and the end: as long as a head is wide
says "two extents of the same size" "S = 1/√Dh " "${layer[@]}" "${nineteen[@]}"
lacks "two extents of the same size" 'Dh = |\(B, S, H, S\)' "${layer[@]}" "${nineteen[@]}"
says "the constant of a loss" "q > 0" "$glim" derive --level primitives
lacks "the model is a fresh one" 'default: model' "$glim" derive --help
refuse "more layers than fit" "with 1000000 layers .* at least .* of memory" "$glim" derive --layers 1000000
refuse "a width that does not fit" "--layers, --d-model: with 2 layers of width 10000000 " "$glim" derive --d-model 10000000

refuse "an unknown module" "no module 'encoder.layer.0' \(nearest: encoder.layers.0" "$glim" derive --module encoder.layer.0
refuse "the level of a program" '--level: a program has the whole pass' "${layer[@]}" --format numpy --level rules
refuse "an end that several have" "'self_attn' is the end of several: decoder.layers.0.self_attn, " "$glim" derive --module self_attn
refuse "a part of a name" "no module 'attn' \(nearest: decoder.layers.0.self_attn" "$glim" derive --module attn
refuse "an unknown format" "--format: 'pdf' is not one of" "$glim" derive --format pdf
refuse "a sheet that is there" 'sheet.tex: exists already: --overwrite' "$glim" derive --format latex --out sheet.tex
refuse "a model that is not there" 'nowhere: no such file' "$glim" derive --model nowhere
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
