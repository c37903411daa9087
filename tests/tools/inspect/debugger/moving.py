#!/usr/bin/env python3
"""moving.py GLIM ROOT: the picture that plays a session has what was typed and answered, in its order, and rests at its end."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

glim, script = sys.argv[1], pathlib.Path(sys.argv[2]) / "tools/inspect/debugger/moving.py"
SVG = "{http://www.w3.org/2000/svg}"
commands = ["break *.multihead_attn.scores", "continue", "print d .[0,0,:2,:2]", "next"]
program = [glim, "step", "--fresh", "--layers", "1", "--d-model", "16", "--d-ff", "16"]
failed = 0


def report(name, good):
    global failed
    failed += not good
    print("ok" if good else "FAILED", name)


def made(file, commands, program):
    return subprocess.run([sys.executable, script, file, *commands, "--", *program], capture_output=True, text=True, encoding="utf-8")


with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/step.svg"
    report("it is written", made(file, commands, program).returncode == 0)
    rows, times = {}, []
    root = xml.parse(file).getroot()
    for text in root.iter(SVG + "text"):
        rows.setdefault(int(text.get("y")), []).append(text.text)
        [move] = text.findall(SVG + "animate")
        times.append(float(move.get("keyTimes").split(";")[1]))
        assert text.get("opacity") is None and move.get("values") == "0;1"
    lines = ["".join(parts) for _, parts in sorted(rows.items())]
    answer = subprocess.run(program, input="\n".join(commands), capture_output=True, text=True, encoding="utf-8").stdout.splitlines()
    report("what is typed", [x for x in lines if x.startswith("(glim) ")] == ["(glim) " + c for c in commands])
    shown = [x for x in lines[1:] if not x.startswith("(glim) ")]
    report("what is answered", len(shown) == len(answer) and all(a == b or a.endswith(" …") and b.startswith(a[:-2]) for a, b in zip(shown, answer)))
    report("in its order", times == sorted(times) and 0 < times[0] and times[-1] < 1)
    group = root.find(f"{SVG}svg/{SVG}g")
    rest = group.find(SVG + "animateTransform").get("values").split(";")[-1]
    report("the end is its rest", group.get("transform") == f"translate({rest})" and rest == f"0 {-19 * (len(lines) - 20)}")
    report("no script, nothing from elsewhere", not re.search("script|href|url", pathlib.Path(file).read_text(encoding="utf-8")))
    wrong = made(file, [], [glim, "step", "--nothing"])
    report("a program that fails is named", wrong.returncode == 1 and "--nothing" in wrong.stderr and "Traceback" not in wrong.stderr)
    other = made(file, ["a"], ["sh", "-c", "wc -l"])
    report("a program that takes its answer back", other.returncode == 1 and "answers otherwise" in other.stderr)
sys.exit(failed > 0)
