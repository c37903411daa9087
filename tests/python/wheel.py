"""What the package does where a wheel was installed: python wheel.py, in a folder to write in.

Arguments that are not ASCII, exceptions across the module's border, files, a child process and a training.
"""
import os
import subprocess
import sys

import numpy as np

import glim

failures = []


def check(name, right):
    print(("passed" if right else "FAILED") + ": " + name)
    if not right:
        failures.append(name)


def raised(kind, f):
    try:
        f()
    except kind as error:
        return str(error)
    return ""


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def right(dy, x):
    y = softmax(x)
    return y * (dy - (y * dy).sum(-1, keepdims=True))


def wrong(dy, x):
    y = softmax(x)
    return y * dy * (1 - y)


def stops(g):
    raise KeyError("of the hook")


x = np.random.default_rng(0).normal(size=(3, 4))
check("a right backward", bool(glim.gradcheck(softmax, right, x)))
check("a wrong backward", "a term missing" in str(glim.gradcheck(softmax, wrong, x)))
check("an op's error", "matmul" in raised(glim.ShapeError, lambda: glim.Var(x) @ glim.Var(x)))
w = glim.Var.leaf(np.ones((4, 2)), "w")
with glim.Tape() as tape:
    loss = glim.tanh(x @ w).sum()
    tape.hook("matmul", stops)
    check("Python's exception through a pass", "of the hook" in raised(KeyError, lambda: tape.backward(loss)))
check("a missing file", "no such file" in raised(glim.FileError, lambda: glim.load("no model")))
check("a word for a choice", glim.AttentionMask(np.eye(2, dtype=bool), form="softmax") is not None)
check("an error names the file alone", "  at wheel.py:" in raised(glim.ShapeError, lambda: glim.Var(x) @ glim.Var(x)))
check("a derived program", "def backward" in glim.derive(softmax, x).program)
for folder in ("a b", "Öl", "训练"):
    os.makedirs(folder, exist_ok=True)
    text = os.path.join(folder, "Sätze.tsv")
    with open(text, "w", encoding="utf-8", newline="") as out:
        out.write("der Tag ist schön\tgut\r\nes hat geregnet\tschlecht\r\n" * 30)
    model = os.path.join(folder, "Modell")
    glim.train(model, kind="classifier", labelled=text, layers=1, d_model=16, heads=2, d_ff=16, batch_sentences=8,
               max_steps=4, valid_share=0, overwrite=True, progress="none")
    check(f"training in the folder {ascii(folder)}", os.path.isfile(os.path.join(model, "last.safetensors")))
    check("its model in this process", glim.load(model).classify("der Tag ist schön")[0] in ("gut", "schlecht"))
for verb, words in (("doctor", []), ("inspect", ["--fresh", "--live", "--out", "Öl/page"])):
    done = subprocess.run([sys.executable, "-m", "glim", verb, *words], capture_output=True)
    check(f"python -m glim {verb}", done.returncode == 0 or print(done.stderr.decode(errors="replace")))
check("a live page", os.path.getsize("Öl/page/inspect.html") > 1_000_000)
print(f"{len(failures)} failed")
sys.exit(bool(failures))
