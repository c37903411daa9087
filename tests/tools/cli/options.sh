#!/usr/bin/env bash
# options.sh GLIM SOURCE: help, manual pages, completions and the pages of options name every option of every
# verb; the checked-in pages are what the program says now; shells offer what the completions promise.
set -uo pipefail
glim=$(realpath "$1")
source_root=$(realpath "$2")
source "$(dirname "$0")/../common.sh"
export PATH="$(dirname "$glim"):$PATH"

"$glim" study --list >/dev/null 2>&1 && pages=1 || pages=0
"$glim" describe >described
printf '#!/bin/sh\ncat described\n' >told && chmod +x told
describe() { "$source_root/tools/cli/describe/describe.py" ./told "$@"; }
verbs=$(describe verbs)
for what in bash zsh fish options configuration man; do describe $what >all.$what; done
if [ $pages = 1 ]; then
  for page in options configuration; do
    report "tools/cli/$page.md is what describe.py $page says" "$(diff "$source_root/tools/cli/$page.md" all.$page | head -5)"
  done
fi
report "help lists the verbs" "$(for verb in $verbs; do "$glim" >out; grep -q "^  $verb  " out || echo $verb; done)"
for verb in $verbs; do
  describe man $verb >man.$verb
  describe names $verb >names
  kinds=none
  ! grep -qx kind names || kinds=$("$glim" $verb --kind nothing 2>&1 | sed 's/.*not one of //;s/[,:]/ /g')
  for kind in $kinds; do "$glim" $verb $([ $kind = none ] || echo --kind $kind) --help-all; done >help 2>/dev/null
  sed -n "/^## glim $verb\$/,/^## /p" all.options >page.options
  sed -n "/^## glim $verb --config/,/^## /p" all.configuration >page.configuration
  sed -n "/^    $verb)\$/,/;;/p" all.zsh >page.zsh
  grep "^    $verb) options=\|^    $verb.. --" all.bash >page.bash
  grep "from $verb'" all.fish >page.fish
  : >shown
  ! grep -qx config names || "$glim" $verb --show-config >shown
  missing=
  while read -r name; do
    grep -Eq -- "^  --$name( |\$)" help || missing+=" help:$name"
    grep -Fq -- "--$name" <(sed 's/\\-/-/g' man.$verb) || missing+=" man:$name"
    grep -Eq -- "[' ]--$name " page.bash || missing+=" bash:$name"
    grep -Eq -- "'--$name(\[|=)" page.zsh || missing+=" zsh:$name"
    grep -Eq -- " -l $name " page.fish || missing+=" fish:$name"
    grep -Eq -- "^\| \`--$name[ \`]" page.options || missing+=" options.md:$name"
    if grep -q "^$name = " shown; then
      grep -Eq "^\| \`$name\` " page.configuration || missing+=" configuration.md:$name"
    fi
  done <names
  report "every option of $verb is named everywhere" "$missing"
done
report "manual pages are sound" "$(
  type groff >/dev/null 2>&1 || exit 0
  describe man >man.
  for verb in '' $verbs; do groff -man -K utf8 -Tutf8 -ww man.$verb 2>&1 >/dev/null; done)"

# --- defaults are those of the kind and the task ---
shown() { "$glim" train "${@:2}" --help-all | sed ':a;N;$!ba;s/\n \{20,\}/ /g' | sed -n "s/^  --$1 .*(default: \(.*\))\$/\1/p"; }
used() { "$glim" train "${@:2}" --show-config | sed -n "s/^$1 = \"\?\([^\" ]*\).*/\1/p"; }
for line in '' '--kind rnn' '--kind conv --task copy' '--kind gpt' '--kind bert' '--task random'; do
  report "help tells the truth: $line" "$(
    for name in layers d-model epochs rate dropout batch-tokens batch-sentences seed; do
      [ "$(shown $name $line)" = "$(used $name $line)" ] ||
        echo "$name: '$(shown $name $line)', not '$(used $name $line)'"
    done)"
done
listed() { "$glim" train --kind $1 --help | grep -oE '^  --[a-z-]+' | tr -d ' \n'; }
first=--kind--text--tokenizer--layers--d-model--block--max-steps--batch-sentences--rate--out--help-all--help--show-config
report "help shows first what matters first" "$([ "$(listed gpt)" = $first ] || listed gpt)"
report "files decide the defaults that help shows" "$([ "$(shown task --pairs pairs.tsv)" = files ] || shown task --pairs pairs.tsv)"
"$glim" train --layers 5 --task copy --show-config >run.toml
report "a value says where it comes from" "$(
  grep -Eq '^layers = 5 +# command line$' run.toml && grep -Eq '^heads = 4 +# recipe of --task copy$' run.toml &&
    grep -Eq '^clip = 1 +# default$' run.toml || show run.toml)"
"$glim" train --config run.toml --show-config >again.toml
values() { sed 's/ *#.*//' "$1"; }
"$glim" train --task copy --rate 0.00012345678 --show-config >digits.toml
report "a number keeps its digits" "$(grep -q '^rate = 0.00012345678 ' digits.toml || grep '^rate' digits.toml)"
report "the configuration can be given back" "$(diff <(values run.toml) <(values again.toml))"

# --- a default yields to what was given ---
report "fewer heads for a narrow model" "$([ "$(used heads --d-model 30)" = 3 ] || used heads --d-model 30)"
report "a shorter warm-up for a short run" "$([ "$(used warmup --max-steps 100)" = 10 ] || used warmup --max-steps 100)"
report "one tokenizer for one vocabulary" "$([ -z "$(used target-tokenizer --shared-vocabulary)" ] || used target-tokenizer --shared-vocabulary)"
report "a peak for every schedule" "$([ "$(used rate --schedule noam)" = "$(used rate)" ] || used rate --schedule noam)"
report "a factor instead" "$([ "$(used rate --schedule noam --noam-factor 2)" = 0 ] || used rate --schedule noam --noam-factor 2)"
small=(--task copy --examples 40 --layers 1 --d-model 16 --heads 2 --d-ff 32 --progress none)
"$glim" train "${small[@]}" --epochs 1 --out short >log 2>&1
report "a run shorter than its warm-up says so" "$(grep -q 'note: --warmup is 0, not 150: the run has 1 update$' log || show log)"
"$glim" train "${small[@]}" --epochs 1 --warmup 50 --out given >log 2>&1
report "a warm-up that was given stays, with a warning" "$(grep -q 'note: --warmup 50 is no shorter than the run of 1 update' log || show log)"
"$glim" train "${small[@]}" --schedule cosine --max-steps 3 --warmup 50 --out cosine >log 2>&1
report "so does that of a cosine" "$(grep -q 'note: --warmup 50 is no shorter' log || show log)"

# --- options that pages name in words, and that no page types ---
prints() {  # NAME PATTERN WORDS...: glim WORDS ends well and prints a line with PATTERN
  "$glim" "${@:3}" >log 2>&1 </dev/null
  report "$1" "$([ $? = 0 ] && grep -Eq -- "$2" log || show log)"
}
prints "ten digits" '^all +[0-9]+ .* pass' gradcheck --only gelu --precise
prints "ops in float32" '^all +[0-9]+ .* pass' gradcheck --only gelu --float32
cat >nearly.py <<'END'
import json, sys
for line in sys.stdin:  # y = x², whose gradient is 2.002 x
    r = json.loads(line)
    x = r.get("inputs", {"x": [0.5, -1.25, 3.5]})["x"]
    print(json.dumps({"inputs": {"x": x}, "value": {"y": [a * a for a in x]},
                      "gradient": {"x": [2.002 * a * d for a, d in zip(x, r.get("dy", {"y": x})["y"])]}}[r["call"]]), flush=True)
END
nearly=(gradcheck --program 'python3 nearly.py' --name nearly)
prints "an error that rtol allows" '^gradcheck of nearly: passed$' "${nearly[@]}" --rtol 0.01
prints "an error that atol allows" '^gradcheck of nearly: passed$' "${nearly[@]}" --atol 0.1
prints "checks as JUnit's XML" '^<testsuite name="glim gradcheck" tests="9" failures="0"' "${nearly[@]}" --rtol 0.01 --junit
"$glim" "${nearly[@]}" --atol 1e-4 --rtol 1e-4 >log 2>&1
report "an error that neither allows" "$([ $? = 1 ] && grep -q '^gradcheck of nearly: FAILED: a constant factor' log || show log)"
prints "where the time goes" '^profile of 2 steps' train "${small[@]}" --max-steps 5 --profile 2 --out profiled
prints "a profile that does not come" 'note: --profile 2 wrote nothing' train "${small[@]}" --max-steps 4 --profile 2 --out short_profile
for option in '--beta1 0.5' '--beta2 0.9' '--optimizer sgd --momentum 0.5'; do
  prints "a training with $option" 'weights after 2 updates' train "${small[@]}" --max-steps 2 $option --out other --overwrite
  hashes+="$(grep -o 'updates: .*' log) "
done
report "each another training" "$([ "$(wc -w <<<"$(tr ' ' '\n' <<<"$hashes" | grep -v updates | sort -u)")" = 3 ] || echo "$hashes")"
for i in {1..8}; do printf 'one two three\ntwo four five\n'; done >lines
printf '%s\n' one two three four five >words
printf '%s\n' one two three four five six >more_words
prints "two vocabularies" 'weights after 2 updates' train --source lines --target lines --tokenizer word --vocabulary-file words \
  --target-vocabulary-file more_words "${small[@]:4}" --max-steps 2 --out two
prints "tokens as they are" 'BLEU.*case:lc.*tok:none' evaluate --model two --source lines --target lines --tokenize none --lowercase \
  --beam 2 --length-penalty 1.4
if [ $pages = 1 ]; then
  prints "a frozen node" 'inspect.html' inspect --model two --sentence 'one two' --freeze '*.probs' --out page
  prints "single maps" 'multihead_attn' inspect --model two --sentence 'one two' --list-pictures
  prints "maps for slides" 'svg' inspect --model two --sentence 'one two' --slides --svg decoder.layers.0.multihead_attn/head0 --out page --overwrite
  report "a map for a slide" "$(ls page/*.svg >/dev/null 2>&1 || ls page)"
fi

# --- what shells offer ---
complete_bash() {  # WORDS...: the last is being typed
  bash --norc -c 'source all.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _glim; printf "%s\n" "${COMPREPLY[@]}"' \
    bash glim "$@" 2>/dev/null | sort | tr '\n' ' '
}
offers() {  # SHELL EXPECTED WORDS...
  local found=$("complete_$1" "${@:3}")
  report "$1 offers for ${*:3}" "$([ "$found" = "$2 " ] || echo "$found")"
}
offers bash 'train translate' tra
offers bash '--d-embed --d-ff --d-model' train --d-
offers bash 'post pre' train --norm ''
offers bash 'pre' train --norm = pr
offers bash 'run.toml' train --config ru
offers bash 'train translate' help tra
if [ $pages = 1 ]; then
  offers bash 'scaling' study sc
  offers bash 'warm-up' study scaling wa
fi
complete_fish() { fish --no-config -c "source all.fish; complete -C 'glim $*'" 2>/dev/null | cut -f1 | sort | tr '\n' ' '; }
if type fish >/dev/null 2>&1; then
  offers fish 'train translate' tra
  offers fish '--d-embed --d-ff --d-model' train --d-
  offers fish 'post pre' train --norm p
  [ $pages = 0 ] || offers fish 'scaling' study sc
fi
if type zsh >/dev/null 2>&1; then
  report "zsh reads its completions" "$(zsh -f -n all.zsh 2>&1)"
fi
summary
