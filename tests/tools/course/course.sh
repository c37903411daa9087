#!/usr/bin/env bash
# course.sh GLIM: the course as a student and a lecturer meet it. Each bad file gets one line that says why, and changes
# nothing outside of its folder.
set -uo pipefail
glim=$(realpath "$1")
tree=$(dirname "$(realpath "$0")")/../../..
source "$tree/tests/tools/common.sh"
export GLIM_PYTHON=${GLIM_PYTHON:-python3} TMPDIR=$work/temporary
mkdir temporary
if ! "$GLIM_PYTHON" -c 'import numpy' 2>/dev/null; then
  echo "NumPy is not installed (python3-numpy): the course was not tested"
  exit 77
fi

# graded NAME STATUS PATTERN EXERCISE: a check of folder NAME ends with STATUS, and says one line that matches
graded() {
  local name=$1 status=$2 pattern=$3 exercise=$4 found=0
  timeout 600 "$glim" course check "$exercise" --folder "$name" >out 2>err || found=$?
  if [ "$found" != "$status" ]; then report "$name" "status $found: $(cat out err)"
  elif [ "$(cat out err | grep -vc '^    prints')" != 1 ] || ! grep -Eq -- "$pattern" out; then report "$name" "says: $(cat out err)"
  else report "$name" ""; fi
}
for exercise in $("$glim" course list | awk '{ print $2 }'); do
  "$glim" course start "$exercise" --folder stubs >/dev/null || report "start $exercise" "failed"
  "$glim" course start "$exercise" --folder solved --solution >/dev/null || report "start $exercise" "failed"
done
for exercise in $("$glim" course list | awk '{ print $2 }'); do
  graded stubs 1 "not begun: $exercise.py, line [0-9]+: not written yet" "$exercise"
done
report "list" "$("$glim" course list --folder solved | grep -v ' begun$')"
report "the page's picture is written beside it" "$(for page in stubs/*.md; do
  picture=$(grep -o '](.*svg)' "$page" | tr -d ']()')
  [ "$page" = stubs/adam.md ] || cmp "stubs/$picture" "$tree/tools/course/exercises/$picture"
done 2>&1)"
"$glim" course progress --folder solved >out 2>err || report "progress" "status: $(cat out err)"
report "the solutions" "$([ "$(grep -Ec ' right(; receipt f4ae9bfa06a1edbe)?$' out)" = 12 ] || show out err)"
report "another seed" "$("$glim" course check --seed 12345 --folder solved | grep -v ' right\|^    prints')"

# bad NAME PATTERN: standard input takes the place of the gradient's line
touch outside
bad() {
  mkdir -p "$1"
  cat >body
  python3 -c 'import sys
lines = open("solved/softmax.py").read().split("\n")
at = max(i for i, line in enumerate(lines) if line.startswith("    dx = "))
lines[at:at] = ["    " + line for line in open("body").read().split("\n")]
open(sys.argv[1] + "/softmax.py", "w").write("\n".join(lines))' "$1"
  graded "$1" 1 "$2" softmax
}
bad loops 'softmax.py, line [0-9]+: softmax_backward has not ended after 2 s' <<<'while True: pass'
bad memory 'line [0-9]+: needs more than 512 MB' <<<'np.ones((1000, 1000, 1000))'
bad prints 'line [0-9]+: prints more than 10000 lines' <<<'for i in range(1000000): print(i)'
bad deletes 'line [0-9]+: deletes a file' <<<"import os; os.remove('$work/outside')"
bad deletes_folder 'deletes a folder' <<<"import shutil; shutil.rmtree('$work/solved')"
bad writes 'writes the file' <<<"open('$work/written', 'w')"
bad appends 'writes the file' <<<"open('$work/outside', 'a')"
bad swallows 'writes the file' <<EOF
try: open('$work/written', 'w')
except BaseException: pass
EOF
bad saves 'writes the file' <<<"np.save('$work/written.npy', x)"
bad starts 'starts a program' <<<"import os; os.system('touch $work/written')"
bad forks 'starts a program' <<<'import os; os.fork()'
bad runs 'which an exercise may not' <<<"import subprocess; subprocess.run(['touch', '$work/written'])"
bad connects 'uses socket' <<<'import socket; socket.socket()'
bad foreign_calls 'uses ctypes' <<<"import ctypes; ctypes.CDLL(None).unlink(b'$work/outside')"
bad waits 'softmax_backward has not ended after 20 s: does it wait' <<<'import time; time.sleep(1e6)'
bad asks 'EOFError' <<<'input()'
bad imports "there is no module 'torch' here" <<<'import torch'
bad syntax 'softmax.py, line [0-9]+: invalid syntax' <<<'x = = 2'
bad keepdims 'only the shape is wrong: the gradient of x has shape \(1, 3, 5\), x has \(3, 5\) \(axes of extent 1 are too many: keepdims\)$' <<<'y = softmax(x); return (y * (dy - (dy * y).sum(1, keepdims=True)))[None]'
bad list 'dx of softmax_backward is a list, expected an array of NumPy' <<<'return [[0.0] * 5] * 3'
bad none 'dx of softmax_backward is None: is a return missing' <<<'return None'
bad shape 'the gradient of x has shape \(5, 3\), x has \(3, 5\)' <<<'return dy.T'
bad texts 'is an array of <U1, expected float64' <<<"return np.array(['a'])"
bad changes 'softmax_backward changes its input x: work on a copy' <<<'x -= x.max()'
bad reads 'reads the file /etc/passwd' <<<"open('/etc/passwd')"
bad lists 'lists the folder /etc' <<<"import os; os.listdir('/etc')"
bad raises 'line [0-9]+: ValueError: the file is not found' <<<'raise ValueError("the file is not found")'
bad raises_much 'ValueError: x{197}\.\.\.$' <<<'raise ValueError("x" * 10**6)'
bad pipes 'makes a file' <<<"import os; os.mkfifo('$work/written')"
bad tests_itself 'wrong: a factor|wrong: .*dx\[' <<<'import numpy.testing; return 2 * dy'
bad exits 'line [0-9]+: ends the program' <<<'import sys; sys.exit(0)'
bad leaves 'ends the program' <<<'import os; os._exit(0)'
bad stops 'changes the limits' <<<'import signal; signal.raise_signal(signal.SIGSTOP)'
bad no_alarm 'changes the limits' <<<'import signal; signal.setitimer(signal.ITIMER_REAL, 0)'
bad no_handler 'changes the limits' <<<'import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN)'
bad float32 'is an array of float32, expected float64' <<<'return dy.astype("f4")'
bad signals 'sends a signal' <<<'import os; os.kill(os.getppid(), 9)'
bad recursion 'calls itself without an end' <<<'softmax_backward(dy, x)'
bad raises 'line [0-9]+: ValueError: some text' <<<"raise ValueError('some text')"
bad obeyed 'ValueError: \\x1b\[31m\\x00\\x7f$' <<<'raise ValueError("\x1b[31m\0\x7f")'
bad unknown "NameError: name 'dz' is not defined" <<<'return dz'
bad nan 'is not finite' <<<'return dy * np.nan'
mkdir -p empty missing binary folder/softmax.py
: >empty/softmax.py
graded empty 1 'there is no function softmax$' softmax
grep -v '^def softmax_backward' solved/softmax.py | sed '/^    y = softmax/,$d' >missing/softmax.py
graded missing 1 'there is no function softmax_backward' softmax
head -c 1000 /dev/urandom >binary/softmax.py
graded binary 1 'softmax.py' softmax
graded folder 1 'softmax.py: is not a file' softmax
mkdir pipe; mkfifo pipe/softmax.py
graded pipe 1 'softmax.py: is not a file' softmax
mkdir -p named/hw1 misnamed
graded named 1 'there is no softmax.py \(glim course start softmax\)' softmax
cp solved/softmax.py named/hw1; cp solved/softmax.py 'misnamed/Softmax (1).py'
graded named 1 'there is no softmax.py, but hw1/softmax.py: hand it in under that name' softmax
graded misnamed 1 'there is no softmax.py, but Softmax \(1\).py: hand it in' softmax
report "what is outside is as it was" "$([ -e outside ] && [ -e solved/softmax.py ] && [ ! -s outside ] || echo changed; ls written* 2>/dev/null)"
report "no cache is left" "$(find . -name __pycache__)"
report "no temporary folder is left" "$(ls temporary)"

# What a file prints is shown: the first lines, cut, whether it is right or hangs.
mkdir printed
{ echo 'print("begin", "x" * 300)'; sed 's/^    dx = /    print("\x1b[31m", dy.shape, sep=""); print("half", end="\\n"); dx = /' solved/softmax.py; } >printed/softmax.py
"$glim" course check softmax --folder printed >out || true
report "prints of a right file" "$(grep -q '^ 3  softmax *right' out && grep -qE '^    prints  begin x{113}…$' out && grep -qF '    prints  \x1b[31m(3, 5)' out &&
  grep -qF '    prints  half' out && grep -qxF '    prints  ...' out && [ "$(wc -l <out)" = 12 ] || show out)"
{ echo 'print("before")'; sed 's/^    dx = /    while True: pass\n    dx = /' solved/softmax.py; } >printed/softmax.py
"$glim" course check softmax --folder printed --format json >out || true
report "prints of a file that hangs" "$(python3 -c 'import json; v = json.load(open("out"))["exercises"][0]; assert v["printed"] == "before", v; assert "has not ended" in v["message"], v' 2>&1)"

# A class.
mkdir class
mkdir class/ada; cp solved/s*.py class/ada; cp -r stubs class/bob; cp -r none class/eve; cp -r none class/joe
ln -s ada class/link
mkdir class/ivy; ln -s softmax.py class/ivy/softmax.py; ln -s class/ivy/loop class/ivy/loop
"$glim" course class class >out 2>err
report "a class" "$(grep -q '^ 3  softmax *2  wrong: dx of softmax_backward is None.*(eve, joe)$' out && grep -q '^5 students' out &&
  grep -qE '^ada  \+  \.  \+' out && grep -qE '^bob  \.  \.' out && grep -qE '^eve  \.  \.  x' out && grep -q ' 1  wrong: is not a file' out || show out err)"
mkdir class/.git
"$glim" course class class --format json >out
report "a class in JSON" "$(python3 -c 'import json; assert [s["student"] for s in json.load(open("out"))["students"]] == ["ada", "bob", "eve", "ivy", "joe"]' 2>&1)"
mkdir -p many; for i in 10 9 1 2; do cp -r none "many/s$i"; done
"$glim" course class many >out
report "students in natural order" "$([ "$(grep -o '^s[0-9]*' out | tr '\n' ' ')" = 's1 s2 s9 s10 ' ] || show out)"
report "a mistake of all is all's" "$(grep -q '^ 3  softmax *4  wrong: .* (all 4)$' out || show out)"
mkdir -p shown; cp -r obeyed shown/kay
"$glim" course class shown >out
report "a class whose exception a terminal would obey" "$(grep -aq 'ValueError: \\x1b\[31m\\x00' out && ! grep -aqP '[\x1b\x00\x7f]' out || show out)"
refuse "an empty class" 'has no folder' "$glim" course class stubs
refuse "a class that is not there" 'no such folder' "$glim" course class nowhere
refuse "a class in XML" 'text or json' "$glim" course class class --format junit

# Formats that other programs read.
"$glim" course check --folder class/eve --format gradescope --out results.json >out 2>err
report "Gradescope" "$(python3 - 2>&1 <<'PY'
import json
results = json.load(open("results.json"))
assert results["stdout_visibility"] in ("visible", "hidden", "after_due_date", "after_published"), results
assert len(results["tests"]) == 12 and isinstance(results["execution_time"], float)
for test in results["tests"]:
    assert set(test) <= {"score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags",
                         "visibility", "extra_data"}, test
    assert test["status"] == ("passed" if test["score"] == test["max_score"] else "failed"), test
    assert test["visibility"] == "visible" and test["output"], test
PY
)"
# What XML forbids is in a student's message.
sed 's/^    raise NotImplementedError/    raise ValueError("<\\ufffe\\uffff\\x1b\\x00\\udcff")/' stubs/softmax.py >class/bob/softmax.py
"$glim" course check --folder class/bob --format junit >out
report "JUnit" "$(python3 - 2>&1 <<'PY'
import xml.etree.ElementTree as xml
suite = xml.parse("out").getroot().find("testsuite")
assert suite.get("tests") == suite.get("failures") == "12" and len(suite.findall("testcase/failure")) == 12
message = suite.find("testcase[@name='softmax']/failure").get("message")
assert "<\ufffd\ufffd" in message, message
PY
)"
"$glim" course check softmax --folder loops --format json >out
report "JSON" "$(python3 -c 'import json; e, = json.load(open("out"))["exercises"]; assert e["state"] == "wrong" and e["score"] == 0' 2>&1)"

# Hints, and what is refused.
report "hints" "$(for level in 1 2 3; do "$glim" course hint softmax --level $level | grep -q . || echo "none of level $level"; done)"
report "a hint of two functions keeps them apart" "$([ "$("$glim" course hint residual --level 3 | grep -c '^$')" = 1 ] || echo "run together")"
report "the last hint is the line" "$("$glim" course hint softmax --level 3 | grep -q '^    dx = ' || echo "no line")"
"$glim" course start softmax --folder $'e\033[31m\r' >out
report "a path that a terminal would obey" "$(grep -q '^e\\x1b\[31m\\x0d/softmax.py$' out || show out)"
refuse "a file that is there" 'softmax.py: exists already, and is left as it is' "$glim" course start softmax --folder loops
refuse "an unknown exercise" "no exercise 'softmux' \(nearest: softmax" "$glim" course start softmux
refuse "an exercise past the last" "no exercise '13'" "$glim" course check 13
refuse "an unknown action" "'begin' is not one of list, start" "$glim" course begin
refuse "no exercise" 'name an exercise' "$glim" course start
refuse "two exercises" "leave out 'sums'" "$glim" course check softmax sums
refuse "a folder that is not there" 'nowhere: no such folder' "$glim" course check --folder nowhere
refuse "a hint of level 4" '--level' "$glim" course hint 1 --level 4
GLIM_PYTHON=no-such-python refuse "no Python" 'apt-get install python3-numpy' "$glim" course check sums --folder solved

# What the file is not to blame for is no verdict. A right file is in the folder.
machine() {  # NAME PATTERN COMMAND...
  local name=$1 pattern=$2 found=0
  shift 2
  "$@" >out 2>err || found=$?
  if [ "$found" != 3 ] || [ -s out ] || ! grep -Eq "^glim: error: .*$pattern" err; then report "$name" "status $found: $(cat out err)"
  else report "$name" ""; fi
}
limited() { (ulimit "$1" "$2" && "$glim" course check softmax --folder solved --format json); }
machine "little address space" '' limited -v 400000
machine "few open files" '' limited -n 12
[ "$(id -u)" = 0 ] || machine "no process" '' bash -c 'ulimit -u 1; exec "$@"' - "$glim" course check softmax --folder solved  # it does not hold for root
printf '#!/bin/sh\nkill -9 $$\n' >killed; printf '#!/bin/sh\nexec sleep 300\n' >silent; chmod +x killed silent
mkdir unreadable; ln -s /proc/self/mem unreadable/softmax.py
machine "a file that cannot be read" 'unreadable/softmax.py: cannot be read' "$glim" course check softmax --folder unreadable
GLIM_PYTHON=$work/killed machine "a Python that is killed" 'Killed' "$glim" course check softmax --folder solved
GLIM_PYTHON=false machine "a Python that ends" 'ended with status 1' "$glim" course check softmax --folder solved

# The parts of the last exercise have to be right, too.
cp -r solved scaled
sed -i 's|^    dweight = .*|&\n    dweight = dweight / 100|' scaled/linear.py
graded scaled 1 'your assembly is right, but an earlier file is not' copy_task

# In C++, where there are a compiler and the library.
compiler=${CXX:-c++}
if command -v "${compiler%% *}" >/dev/null && [ -e "$(dirname "$glim")/packaging/glim" ]; then
  "$glim" course start softmax --language cpp --folder cpp-stubs >/dev/null
  graded cpp-stubs 1 'not begun: .*not written yet' softmax
  for exercise in softmax residual; do
    "$glim" course start "$exercise" --language cpp --folder cpp --solution >/dev/null
    graded cpp 0 ' right$' "$exercise"
  done
  # bad_cpp NAME PATTERN CODE
  bad_cpp() {
    mkdir -p "$1"
    sed "s|^  const Tensor dx = |  $3\n&|" cpp/softmax.cpp >"$1/softmax.cpp"
    graded "$1" 1 "$2" softmax
  }
  bad_cpp cpp-prints 'wrong: ' 'std::puts("from C++"); return dy;'
  report "what a file of C++ prints" "$(grep -qx '    prints  from C++' out || show out)"
  bad_cpp cpp-loops 'has not ended after 2 s' 'for (volatile int i = 0;; i = i + 1) {}'
  bad_cpp cpp-memory 'needs more than 512 MB' 'std::string many(std::size_t{1} << 33, 65); std::puts(many.c_str());'
  bad_cpp cpp-writes 'which an exercise may not' "std::fopen(\"$work/written\", \"w\");"
  bad_cpp cpp-crashes 'crashed' '*static_cast<volatile int*>(nullptr) = 1;'
  bad_cpp $'it\'s \\"cpp" ??/\n syntax' 'softmax.cpp, line [0-9]+: ' 'int = 3;'
  bad_cpp cpp-throws 'softmax.cpp: some text' 'throw std::logic_error("some text");'
  bad_cpp cpp-wrong 'wrong: ' 'return dy;'
  bad_cpp cpp-keeps 'keeps something of an earlier call' 'static const Tensor first = x.clone(); if (first.shape() == x.shape()) return softmax(first, 1) * (dy - sum(dy * softmax(first, 1), {1}, true));'
  CXX=false machine "a compiler that fails" 'not even the solution compiles' "$glim" course check softmax --folder cpp
  # early_cpp NAME PATTERN CODE: before main
  early_cpp() {
    mkdir -p "$1"
    { cat cpp/softmax.cpp; echo "#include <unistd.h>"; echo "__attribute__((constructor(99))) void early() { $3 }"; } >"$1/softmax.cpp"
    graded "$1" 1 "$2" softmax
  }
  early_cpp cpp-early 'which an exercise may not' "::unlink(\"$work/outside\");"
  early_cpp cpp-waits 'has not ended after 20 s: does it wait' 'for (;;) ::sleep(1);'
  report "what is outside is as it was, after C++" "$([ -e outside ] || echo deleted; ls written 2>/dev/null)"
else
  echo "There is no compiler, or Glim's library is not built: exercises in C++ were not tested"
fi

if "$glim" inspect --help >/dev/null 2>&1; then
  "$glim" train --task copy --layers 1 --d-model 16 --heads 2 --d-ff 16 --max-steps 2 --progress none --out copy >log 2>&1
  "$glim" course handout --model copy --sentence "1 2 3" --out lecture >out 2>err || report "a hand-out" "$(cat out err)"
  report "a slide for the sentence, for each of two heads of three attentions, for tokens and rollout" \
    "$([ "$(grep -c '<section' lecture/deck.html)" = 9 ] || grep '<h2>' lecture/deck.html)"
  report "each has a caption and its equation" "$([ "$(grep -c '<p class="equation">' lecture/deck.html)" = 26 ] || echo not 26)"
  report "no id is there twice" "$(grep -o ' id="[^"]*"' lecture/deck.html | sort | uniq -d)"
  report "labels have 20 px" "$(python3 - lecture/deck.html <<'PY'
import re, sys
for width, zoomed in re.findall(r'<svg [^>]*width="([\d.]+)" [^>]*viewBox="0 0 ([\d.]+) ', open(sys.argv[1]).read()):
    if abs(float(width) / float(zoomed) * 11 - 20) > 0.1: print(width, zoomed)
PY
)"
fi
summary
