#!/usr/bin/env bash
# tagging.sh GLIM: a tagger learns the labels of a small grammar from CoNLL and JSON lines, resumes to the bit, labels
# tokens, and says in one line whatever is wrong with a file.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"
# "Ada Lee met Bob in Old Oslo today": a name is a person before "met" and after it, a place behind "in" or "from".
python3 - <<'PYTHON'
import json, random
random.seed(4)
first, last, place = ["Ada", "Bob", "Cyd", "Dan", "Paris"], ["Lee", "Kay", "Fox"], ["Oslo", "Rome", "Paris", "Bonn"]
def person():
    return [(random.choice(first), "B-PER")] + ([(random.choice(last), "I-PER")] if random.random() < 0.5 else [])
def where():
    return [(w, "O") for w in [random.choice(["in", "from"])]] + (
        [("Old", "B-LOC"), (random.choice(place), "I-LOC")] if random.random() < 0.5 else [(random.choice(place), "B-LOC")])
def sentence():
    s = person() + [(random.choice(["met", "saw"]), "O")] + person()
    return s + (where() if random.random() < 0.7 else []) + ([("today", "O")] if random.random() < 0.3 else [])
for name, count in (("train", 400), ("test", 100)):
    all = [sentence() for _ in range(count)]
    open(name + ".conll", "w").write("\n".join("".join(f"{w}\t{l}\n" for w, l in s) for s in all))
    open(name + ".jsonl", "w").write("".join(json.dumps({"tokens": [w for w, _ in s], "labels": [l for _, l in s]}) + "\n" for s in all))
    open(name + ".four", "w").write("\n".join("".join(f"{w} NN x {l}\n" for w, l in s) for s in all))
PYTHON
small=(train --kind tagger --layers 1 --d-model 32 --heads 2 --d-ff 32 --progress none)
"$glim" "${small[@]}" --labelled train.conll --epochs 30 --batch-tokens 512 --rate 5e-3 --warmup 10 --out model >log 2>&1
report "learns" "$(grep -q '^validation sentences, never trained on: F1 of spans' log || show log)"
f1() { sed -n 's/^F1 of spans \([01]\.[0-9]*\) .*/\1/p' "$1"; }
for file in conll jsonl four; do
  "$glim" classify --model model --labelled test.$file >found 2>&1
  report "F1 over test.$file" "$(awk -v f="$(f1 found)" 'BEGIN { exit !(f >= 0.98) }' || show found)"
  report "accuracy over test.$file" "$(grep -q '^accuracy 0.9[89]\|^accuracy 1' found || show found)"
done
report "the numbers are those of the file's spans" "$("$glim" classify --model model --labelled test.conll --json | python3 -c '
import json, sys
spans = json.load(sys.stdin)["spans"]
wanted = sum(l.rstrip().endswith(("B-PER", "B-LOC")) for l in open("test.conll"))
assert spans["total"] == wanted and abs(spans["f1"] - 2 * spans["right"] / (spans["found"] + wanted)) < 1e-9, (spans, wanted)' 2>&1)"
printf 'Paris saw Ada Fox in Paris\n\nBob met Cyd\n' | "$glim" classify --model model >found 2>err
report "labels by token: a word has that of its place" "$(diff found <(printf '%s\n' $'Paris\tB-PER' $'saw\tO' $'Ada\tB-PER' \
  $'Fox\tI-PER' $'in\tO' $'Paris\tB-LOC' '' '' $'Bob\tB-PER' $'met\tO' $'Cyd\tB-PER' ''))"
report "as JSON" "$(echo 'Bob met Cyd' | "$glim" classify --model model --json | python3 -c '
import json, sys
assert json.load(sys.stdin) == {"line": 1, "tokens": ["Bob", "met", "Cyd"], "labels": ["B-PER", "O", "B-PER"]}' 2>&1)"
if "$glim" inspect --help >/dev/null 2>&1; then
  "$glim" inspect --model model --sentence 'Bob met Cyd' --data --out look >log 2>&1
  report "under the microscope" "$(python3 -c '
import json
data = json.load(open("look/inspect.json"))
assert data["target_text"] == "B-PER O B-PER" and len(data["attention"]) == 1, data["target_text"]' 2>&1 || show log)"
  refuse "labels that are too few" '--label: needs a label for each of the 3 tokens, not 2' "$glim" inspect --model model \
    --sentence 'Bob met Cyd' --label 'O O' --out other
  refuse "a label that there is not" "--label: 'B-X' is not one of B-LOC, B-PER, I-LOC, I-PER, O" "$glim" inspect --model model \
    --sentence 'Bob met Cyd' --label 'O O B-X' --out other
fi

# --- from a bert; resumed = never stopped ---
cut -f1 train.conll | tr '\n' ' ' | sed 's/  /\n/g' >text
"$glim" train --kind bert --text text --layers 1 --d-model 32 --heads 2 --d-ff 32 --max-steps 3 --progress none --out bert >log 2>&1
"$glim" train --kind tagger --init-from bert --labelled train.conll --max-steps 3 --progress none --out begun >log 2>&1
report "begins with a bert" "$(grep -q 'encoder weights are those of bert' log || show log)"
cp train.conll one.conll; mkdir one two; cp train.conll one; cp train.conll two
(cd one && "$glim" "${small[@]}" --labelled train.conll --schedule constant --epochs 3 --out model >log 2>&1)
(cd two && "$glim" "${small[@]}" --labelled train.conll --schedule constant --epochs 3 --max-steps 5 --out model >log 2>&1 &&
  OMP_NUM_THREADS=5 "$glim" train --resume --max-steps 0 --progress none --out model >log 2>&1)
report "a resumed run ends in the same bits" \
  "$([ "$(tensors one/model/last.safetensors)" = "$(tensors two/model/last.safetensors)" ] || show two/log)"

# --- files ---
bad() { printf '%b' "$3" >"${4:-broken}"; refuse "$1" "$2" "$glim" "${small[@]}" --labelled "${4:-broken}" --out fresh; }
bad "unequal columns" 'broken:3: 3 columns, the first line has 2' 'Ada\tB-PER\nmet\tO\nBob\tx\tB-PER\n'
bad "no label" 'broken:2: no label: the line must be TOKEN<TAB>LABEL' 'Ada\tB-PER\nmet\n'
bad "no sentence" 'broken: has no sentence' '\n\n\n'
bad "one label alone" 'broken: needs at least two different labels' 'Ada\tO\n\nBob\tO\n'
bad "more labels than tokens" 'broken.jsonl:2: 2 tokens and 3 labels' \
  '{"tokens": ["a"], "labels": ["O"]}\n{"tokens": ["a", "b"], "labels": ["O", "X", "O"]}\n' broken.jsonl
bad "no labels" "broken.jsonl:1: must be .*tokens.*labels" '{"tokens": ["a"]}\n' broken.jsonl
bad "no list" "broken.jsonl:1: must be" '{"tokens": "a", "labels": "O"}\n' broken.jsonl
bad "no JSON" "broken.jsonl:1: must be" '{"tokens": \n' broken.jsonl
bad "a token with a space" "broken.jsonl:1: the token 'a b' is blank or has white space" '{"tokens": ["a b"], "labels": ["O"]}\n' broken.jsonl
bad "a label with a line break" "broken.jsonl:1: the label .* is blank or has white space" '{"tokens": ["a"], "labels": ["N\\nP"]}\n' broken.jsonl
printf 'Ada\tB-PER\nmet\tO\n\nBob\tB-DOG\n' >dog
refuse "a label that was not trained" "dog:4: token 1: the label 'B-DOG' is not one of B-LOC, B-PER" "$glim" classify --model model --labelled dog
refuse "and to validate on" "dog:4: token 1: the label 'B-DOG'" "$glim" "${small[@]}" --labelled train.conll --valid-labelled dog --out fresh
printf '\n\nAda\tB-PER\nmet\tO\n\n\nBob\tB-PER\n\n\n' >gaps
"$glim" "${small[@]}" --labelled gaps --valid-share 0 --max-steps 1 --out gaps-model >log 2>&1
report "empty sentences are left out, in one line" "$(grep -q 'left out of gaps: 4 empty sentences, the first in line 1$' log || show log)"
# CoNLL-2003 marks documents: no token, no label, no sentence.
printf -- '-DOCSTART- -X- O O\n\nAda NN x B-PER\nmet VB x I\n-DOCSTART- -X- O O\nBob NN x B-PER\n' >documents
printf '{"tokens": ["-DOCSTART-"], "labels": ["O"]}\n{"tokens": ["Ada", "met"], "labels": ["B-PER", "I"]}\n{"tokens": ["Bob"], "labels": ["B-PER"]}\n' >documents.jsonl
for file in documents documents.jsonl; do
  "$glim" "${small[@]}" --labelled $file --valid-share 0 --max-steps 1 --overwrite --out documents-model >log 2>&1
  report "$file: -DOCSTART- begins a document" "$(grep -q '^data: 2 training sentences, .* 7 tokens' log &&
    grep -q '^  labels: B-PER, I$' log && ! grep -q 'left out' log || show log)"
done
refuse "no file" '--kind tagger needs --labelled FILE' "$glim" "${small[@]}" --out fresh
refuse "another tokenizer" '--tokenizer: can only be word' "$glim" "${small[@]}" --labelled train.conll --tokenizer char --out fresh
refuse "a task" '--task: --kind tagger learns from' "$glim" "${small[@]}" --labelled train.conll --task copy --out fresh
refuse "pooling of tokens" '--pooling: is no option of --kind tagger' "$glim" "${small[@]}" --labelled train.conll --pooling mean --out fresh
refuse "columns by name" '--columns' "$glim" classify --model model --labelled test.conll --columns a,b
refuse "to evaluate it as a translator" "kind 'tagger', which glim classify measures, with --labelled FILE" "$glim" evaluate --model model
refuse "to compare it with translators" "kind 'tagger', which does not translate" "$glim" compare --models model,model
refuse "to export it" "kind 'tagger'" "$glim" export model --to torch --out exported.safetensors
refuse "to export it by name" 'there is no option --model: glim export takes it without a name' "$glim" export --model model --to torch --out x
printf 'Ada me\0t\nBob met Cyd\n' | "$glim" classify --model model >found 2>err
report "a zero byte ends no other line" "$(grep -q 'standard input:1: zero byte at byte 7' err && grep -q "^Bob.B-PER" found || show err found)"
printf 'A\033[31mda\tB-\033[31mPER\nmet\tO\n' >escape
"$glim" "${small[@]}" --labelled escape --valid-share 0 --max-steps 1 --out escape-model >log 2>&1
if script -qec true /dev/null >/dev/null 2>&1; then
  shown=$(script -qec "'$glim' classify --model escape-model --labelled escape; printf 'A\033[31mda met' | '$glim' classify --model escape-model" /dev/null 2>&1)
  report "a terminal does not obey tokens and labels" "$([[ $shown == *'\x1b[31m'* && $shown != *$'\033[31m'* ]] || printf %q "$shown")"
else
  echo "not tested: a terminal does not obey tokens and labels (this machine has no pseudo-terminals)"
fi
# With few examples accuracy ties while the NLL falls: the best is that of the lower NLL.
for i in 1 2 3 4 5 6; do printf 'Ada%d\tX\n\nmet%d\tO\n\nsaw%d\tO\n\n' $i $i $i; done >few
"$glim" "${small[@]}" --labelled few --valid-labelled few --epochs 3 --rate 1e-4 --warmup 0 --schedule constant --out tied >log 2>&1
tied() { python3 -c '
import json
rows = [r for r in map(json.loads, open("'"$1"'/metrics.jsonl")) if r["type"] == "valid"]
best = None
for r in rows:
    key = (-r.get("accuracy", 0), r["nll"])
    assert r["improved"] == (best is None or key < best), rows
    best = min(best or key, key)
assert len({r.get("accuracy", 0) for r in rows}) < len(rows) and rows[-1]["improved"], rows' 2>&1; }
report "of equal accuracy the lower NLL is best" "$(tied tied)"
refuse "a tagger that translates" 'does not translate' "$glim" translate --model model
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"
summary
