#!/usr/bin/env bash
# test_sets.sh GLIM: a test set stays line by line as it was given, whatever its lines are: blank, too long, or with
# white space that no eye sees. Every path to a measure treats it alike.
set -uo pipefail
glim=$(realpath "$1")
source "$(dirname "$0")/../common.sh"

"$glim" train --task copy --layers 1 --d-model 16 --heads 2 --max-length 12 --epochs 6 --seed 1 --progress none \
  --out copied >log 2>&1 || report "train" "$(tail -1 log)"
printf '1 2 3 4\n\n5 6 7\n8 9\n' >source
printf '1 2 3 4\n\n5 6 7\n8 9\n' >target

"$glim" evaluate --model copied --source source --target target --out said >log 2>notes
report "a blank line has its line in --out" "$([ "$(wc -l <said)" = 4 ] && [ -z "$(sed -n 2p said)" ] || show said)"
report "a blank line is counted" "$(grep -q 'exact match . of 4' log && grep -q '1 pair with an empty side, the first in line 2' notes || show log notes)"
"$glim" evaluate --hypotheses said --target target >again 2>&1
report "the same BLEU by --hypotheses" "$(diff <(grep BLEU log) again)"
{ echo source,target; paste -d, source target; } >pairs.csv
"$glim" evaluate --model copied --pairs pairs.csv >by_pairs 2>/dev/null
report "the same measures by --pairs" "$(diff log by_pairs)"

# The model's own output as the reference, but for white space: all of it is exact.
printf '1 2 3 4\n5 6 7\n' >plain
"$glim" translate --model copied --beam 4 <plain >own
sed 's/ /  /; s/$/ /' own >spaced
"$glim" evaluate --model copied --source plain --target spaced >log 2>&1
report "white space is no difference" "$(grep -q 'exact match 2 of 2' log || show log)"

printf '1 2 3\n1 2 3 4 5 6 7 8 9 1 2 3 4 5\n' >long
printf '1 2 3\n1 2\n' >short
refuse "a long source" 'long:2: 14 tokens, at most 12' "$glim" evaluate --model copied --source long --target short
"$glim" evaluate --model copied --source long --target short --truncate --out said >log 2>&1
report "--truncate cuts it" "$(grep -q '^2 pairs' log && [ "$(wc -l <said)" = 2 ] || show log)"
"$glim" evaluate --model copied --source short --target long --truncate >log 2>notes
report "a long target is left out of the perplexity" \
  "$(grep -q '^1 pairs' log && grep -q 'exact match . of 2' log && grep -q 'long:2: 14 tokens' notes || show log notes)"
refuse "compare looks at its test before it trains" 'long:2: 14 tokens' timeout 60 "$glim" compare --kinds transformer \
  --task copy --max-length 12 --test-source long --test-target short --out compared
report "and trained nothing" "$(ls compared/transformer/*.safetensors 2>/dev/null)"

echo '1 2 3' | "$glim" translate --model copied --max-tokens 1 --beam 1 >greedy
echo '1 2 3' | "$glim" translate --model copied --max-tokens 1 --beam 4 >beam
report "--max-tokens 1 says a word with a beam, too" "$(grep -q . beam && diff greedy beam || echo "says '$(cat beam)'")"

yes '1 2' | head -30 >train.source
printf '1 2\n\n1 2 3 4 5 6 7 8 9 1 2 3 4 5\n' >valid
printf '1 2\n1\n1\n' >valid.target
"$glim" train --source train.source --target train.source --valid-source valid --valid-target valid.target --max-length 12 \
  --layers 1 --d-model 16 --heads 2 --max-steps 2 --progress none --out tiny >log 2>&1
report "validation pairs that are left out are reported" \
  "$(grep -q 'left out of validation: 1 pair with an empty side, the first in line 2' log &&
     grep -q 'left out of validation: 1 pair longer than --max-length, the first: valid:3' log || show log)"

printf 'text\tlabel\nbad\tneg\ngood\tpos\n' >labelled.tsv
refuse "a head that names other columns" "no column 'sentence' among text, label; --columns" \
  "$glim" train --kind classifier --labelled labelled.tsv --out labelled
summary
