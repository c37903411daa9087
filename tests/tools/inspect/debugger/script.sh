#!/usr/bin/env bash
# script.sh GLIM: `glim step` as a program: a script on standard input, what fails in it, and bad use.
set -uo pipefail
glim=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
failed=0
check() { # NAME CONDITION...
  local name=$1
  shift
  "$@" || { echo "FAIL: $name"; failed=1; }
}
sizes=(--fresh --layers 1 --d-model 16 --heads 2 --d-ff 32 --seed 5)
step() { timeout 600 "$glim" step "${sizes[@]}" >out 2>err; }

printf '# a comment\nbreak *self_attn.scores\n\ncontinue\nset . zero\nstats\ncontinue\ncontinue\n' | step
check "a script that is right ends with 0" [ $? = 0 ]
check "nothing on standard error" [ ! -s err ]
check "it stopped at the scores" grep -q '^=> #.*decoder.layers.0.self_attn.scores' out
check "the pass ended" grep -q '^the pass is over' out
check "no prompt" [ "$(grep -c '(glim)' out)" = 0 ]

printf 'next\n\nprit loss\nnext\nprint nonsense_name\nquit\nprint never\n' | step
check "a script with failures ends with 1" [ $? = 1 ]
check "their lines are named" [ "$(cut -d: -f1 err | tr '\n' ' ')" = "line 3 line 5 " ]
check "and the nearest command" grep -q 'nearest: print' err
check "the script went on" [ "$(grep -c '^=> ' out)" = 3 ]

# --- the gradients of a session are those of the page's own backward, bit for bit ---
printf 'next 40\nprint d\nup\nrun\ncontinue\nexport stepped.safetensors\n' | step
check "gradients are written" grep -q '^wrote \([0-9]*\) of \1 gradients to stepped.safetensors$' out
timeout 600 "$glim" inspect "${sizes[@]}" --attribution-steps 0 --data --out looked >/dev/null 2>err
check "the same model is inspected" [ $? = 0 ]
compare() { # FILE FILE: the parameters' gradients of the first are in the second, with the same bytes
  python3 - "$1" "$2" <<'END'
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {k: (v["shape"], data[8 + n:][slice(*v["data_offsets"])]) for k, v in head.items()}
a, b = read(sys.argv[1]), read(sys.argv[2])
differing = [k for k in a if a[k] != b.get(k)]
print(len(a), "gradients,", len(differing), "differ:", *differing[:5])
sys.exit(not a or bool(differing))
END
}
check "bit for bit" compare stepped.safetensors looked/inspect.safetensors
printf 'set *.self_attn.scores scale 2\ncontinue\nexport changed.safetensors\n' | step
check "and not when one was changed" eval '! compare changed.safetensors looked/inspect.safetensors >compared'
printf 'export early.safetensors\n' | step
check "before the pass there is nothing to write" [ $? = 1 ]
check "and nothing is" [ ! -e early.safetensors ]

# --- diff ---
printf 'break encoder*self_attn.probs\ncontinue\ndiff\nset . scale 2\ndiff\n' | step
check "diff agrees, and finds what was doubled" [ "$(grep -c WRONG out)" = 1 ]

# --- models of other kinds ---
for kind in rnn conv non-autoregressive gpt bert classifier tagger vit cnn; do
  printf 'next 3\nformula\ncontinue\n' | timeout 600 "$glim" step --fresh --kind $kind --d-model 16 --layers 1 >out 2>err
  check "$kind" [ $? = 0 ]
  check "$kind: the pass ends" grep -q '^the pass is over' out
  printf 'break *no_such_name*\n' | timeout 600 "$glim" step --fresh --kind $kind --d-model 16 --layers 1 >out 2>err
  check "$kind: a name that it lacks" grep -q '^line 1: .*no node is called' err
done

# --- bad use ---
refuse() { # NAME PATTERN ARGUMENT...
  local name=$1 pattern=$2 status
  shift 2
  timeout 600 "$glim" step "$@" </dev/null >out 2>err
  status=$?
  check "$name: refused" [ $status != 0 ] && check "$name: no crash" [ $status -lt 124 ]
  check "$name: one line" [ "$(wc -l <err)" = 1 ]
  check "$name: $(cat err)" grep -Eq "^glim: error: .*$pattern" err
}
step </dev/null
check "no command at all" [ $? = 0 ]
refuse "an empty sentence" '--sentence: the sentence is empty' --fresh --sentence ''
refuse "a target alone" '--translation' --fresh --translation 'a b'
refuse "a model that is not there" 'nowhere' --model nowhere
refuse "patches that do not tile the image" '--patch: patches of 5 x 5 do not tile images of 28 x 28' --fresh --kind vit --patch 5
refuse "a translation that a fresh model has not" '--translation: a fresh model cannot translate' --fresh --sentence 'cat cat'
refuse "sizes of a trained model" '--layers: belongs to a fresh model' --layers 2
refuse "an unknown option" 'stepp' --stepp
head -c 3000 /dev/urandom | step
check "noise for a script ends with 1" [ $? = 1 ]
printf 'help' | step
check "a last line without its end" [ $? = 0 ]
check "is read" grep -q 'continue' out
printf 'next\r\nquit\r\n' | step
check "lines of Windows" [ $? = 0 ]
printf 'info nodes\n%.0s' $(seq 50) | "$glim" step "${sizes[@]}" 2>err | head -1 >out
check "a reader that goes away" [ "${PIPESTATUS[1]}" = 0 ]
exit $failed
