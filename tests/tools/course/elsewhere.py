#!/usr/bin/env python3
"""elsewhere.py GLIM: backwards that are right where a check begins, and wrong elsewhere.

They keep what an earlier call gave, or have a size written as a number. Each is the solution with a few lines changed. All
must fail, with a name that is true.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

KEPT = r"keeps|wrong numbers|wrong for other values|is wrong after|gone stale|of the last forward|whatever dy is"
NUMBER = r"a size is written as a number: right for {}, wrong for {}"

# Around the backward: `inner` is the right one, `dy` and the list `x` are its arguments, `kept` outlives the call.
STATE = {
    "inputs of the first call": "return inner(dy, *kept.setdefault('x', [a.copy() for a in x]))",
    "inputs of the first call of a shape": "return inner(dy, *kept.setdefault(x[0].shape, [a.copy() for a in x]))",
    "the first input of the first call": "return inner(dy, kept.setdefault(0, x[0].copy()), *x[1:])",
    "the last input of the first call": "return inner(dy, *x[:-1], kept.setdefault(0, x[-1].copy()))",
    "inputs by the number of axes": "return inner(dy, *kept.setdefault(x[0].ndim, [a.copy() for a in x]))",
    "inputs by identity": "return inner(dy, *kept.setdefault(id(x[0]), [a.copy() for a in x]))",
    "inputs by all identities": "return inner(dy, *kept.setdefault(tuple(map(id, x)), [a.copy() for a in x]))",
    "inputs by their first element": "return inner(dy, *kept.setdefault(float(x[0].flat[0]), [a.copy() for a in x]))",
    "inputs by their last element": "return inner(dy, *kept.setdefault(float(x[0].flat[-1]), [a.copy() for a in x]))",
    "inputs by their sum": "return inner(dy, *kept.setdefault(float(x[0].sum()), [a.copy() for a in x]))",
    "inputs by their largest": "return inner(dy, *kept.setdefault(float(x[0].max()), [a.copy() for a in x]))",
    "inputs by rounded values": "return inner(dy, *kept.setdefault(x[0].round(1).tobytes(), [a.copy() for a in x]))",
    "inputs by the bytes of the first": "return inner(dy, *kept.setdefault(x[0].tobytes(), [a.copy() for a in x]))",
    "inputs by the bytes of the last": "return inner(dy, *kept.setdefault(x[-1].tobytes(), [a.copy() for a in x]))",
    "dy of the first call": "return inner(kept.setdefault('dy', dy.copy()), *x)",
    "dy by its shape": "return inner(kept.setdefault(dy.shape, dy.copy()), *x)",
    "an attribute of the function": "inner.x = getattr(inner, 'x', None) or [a.copy() for a in x]; return inner(dy, *inner.x)",
    "the first extent of the first call": "n = kept.setdefault('n', len(x[0])); return scaled(inner(dy, *x), len(x[0]) / n)",
    "the last extent of the first call": "n = kept.setdefault('n', x[0].shape[-1]); return scaled(inner(dy, *x), x[0].shape[-1] / n)",
    "the result of the first call for dy of ones": "kept.setdefault('dx', inner(np.ones_like(dy), *x)); r = inner(dy, *x); "
        "return scaled(r, 1) if kept.setdefault('x', x[0].tobytes()) == x[0].tobytes() else kept['dx']",
    "a count of calls": "kept['n'] = kept.get('n', 0) + 1; return scaled(inner(dy, *x), 1 + (kept['n'] > 30))",
}
WRAPPER = """

kept, inner = {{}}, {name}_backward


def scaled(dx, by):
    return tuple(d * by for d in dx) if isinstance(dx, tuple) else dx * by


def {name}_backward(dy, *x):
    {body}
"""
# Kept by the forward, which is called first.
FORWARD = {
    "y of the first forward": ("softmax", """

kept, plain = {}, softmax


def softmax(x, axis=-1):
    kept.setdefault("y", plain(x, axis))
    return plain(x, axis)


def softmax_backward(dy, x):
    y = kept["y"]
    return y * (dy - (dy * y).sum(1, keepdims=True))
"""),
    "y of the first forward of a shape": ("softmax", """

kept, plain = {}, softmax


def softmax(x, axis=-1):
    kept.setdefault(x.shape, plain(x, axis))
    return plain(x, axis)


def softmax_backward(dy, x):
    y = kept.get(x.shape, plain(x, 1))
    return y * (dy - (dy * y).sum(1, keepdims=True))
"""),
    "y of the last forward": ("softmax", """

kept, plain = {}, softmax


def softmax(x, axis=-1):
    kept["y"] = plain(x, axis)
    return kept["y"]


def softmax_backward(dy, x):
    y = kept["y"]
    return y * (dy - (dy * y).sum(1, keepdims=True))
"""),
}
# (exercise, in the answer, in its place, the size)
NUMBERS = [
    ("attention", "(1 / np.sqrt(D)) * dscores", "dscores / np.sqrt(4)", "D = 4", "D = 5"),
    ("layer_norm", "(-dcentered).sum(2, keepdims=True) / D", "(-dcentered).sum(2, keepdims=True) / 5", "D = 5", "D = 6"),
    ("cross_entropy", "-dy / R", "-dy / 4", "R = 4", "R = 5"),
    ("label_smoothing", "/ R", "/ 4", "R = 4", "R = 5"),
    ("heads", "(1 / np.sqrt(K)) * dscores", "dscores / np.sqrt(4)", "D = 8", "D = 10"),
    ("sums", "dscale = (dy * x).sum((0, 2), keepdims=True).reshape(T, 1)",
     "dscale = (dy * x).mean((0, 2)).reshape(T, 1) * 2 * x.shape[2]", "B = 2", "B = 3"),
    ("linear", "dbias = dy.sum((0, 1))", "dbias = dy.mean((0, 1)) * 6", "B = 2", "B = 3"),
    ("sums", ".reshape(T, 1)", ".reshape(3, 1)", "T = 3", "T = 4"),
    ("linear", "dy.reshape(B * T, E).T @ x.reshape(B * T, D)", "dy.reshape(6, E).T @ x.reshape(6, D)", "B = 2", "B = 3"),
]
# (exercise, in the answer, in its place): right for sizes that differ, are above 1 and below 8
SPECIAL = [
    ("sums", "dy.sum((0, 1))", "dy.sum((0, 1)) * (T > 1)"),
    ("linear", "dy.sum((0, 1))", "dy.sum((0, 1)) * (2 if B == D else 1)"),
    ("linear", "dy.sum((0, 1))", "dy[..., :8].sum((0, 1)) if E <= 8 else np.append(dy[..., :8].sum((0, 1)), np.zeros(E - 8))"),
    ("softmax", "y * (dy - (dy * y).sum(1, keepdims=True))", "y * (dy - (dy * y)[:, :8].sum(1, keepdims=True))"),
]
# exp without the maximum subtracted first
LARGE = ("softmax", "y = softmax(x, 1)", "y = np.exp(x) / np.exp(x).sum(1, keepdims=True)")


def main(glim):
    failures, cases = [], []
    with tempfile.TemporaryDirectory() as work:
        solved = pathlib.Path(work, "solved")
        names = ["sums", "linear", "softmax", "cross_entropy", "layer_norm", "attention", "heads", "label_smoothing"]
        for name in names:
            subprocess.run([glim, "course", "start", name, "--folder", solved, "--solution"], check=True, capture_output=True)
        text = {name: (solved / f"{name}.py").read_text() for name in names}

        def case(what, name, changed, pattern):
            folder = pathlib.Path(work, str(len(cases)))
            folder.mkdir()
            (folder / f"{name}.py").write_text(changed)
            cases.append((what, name, folder, pattern))

        for k, (what, body) in enumerate(STATE.items()):
            name = ("attention", "linear", "layer_norm")[k % 3]
            case(what, name, text[name] + WRAPPER.format(name=name, body=body), KEPT)
        for what, (name, added) in FORWARD.items():
            case(what, name, text[name] + added, KEPT)
        for name, old, new, was, other in NUMBERS:
            head, begin, backward = text[name].partition(
                f"def {'multihead_attention' if name == 'heads' else name}_backward")
            assert old in backward, (name, old)
            case(f"{name}: {new}", name, head + begin + backward.replace(old, new), NUMBER.format(was, other))
        for name, old, new in SPECIAL:
            assert old in text[name], (name, old)
            head, _, tail = text[name].rpartition(old)
            case(f"{name}: {new}", name, head + new + tail, "right for")
        name, old, new = LARGE
        case(f"{name}: {new}", name, text[name].replace(old, new), "wrong for values around 1000")

        def checked(one):
            what, name, folder, pattern = one
            done = subprocess.run([glim, "course", "check", name, "--folder", folder], capture_output=True, text=True)
            said = (done.stdout + done.stderr).strip()
            return None if done.returncode == 1 and re.search(pattern, said) else f"{what}: status {done.returncode}, says: {said}"

        with ThreadPoolExecutor(2) as pool:
            failures = [f for f in pool.map(checked, cases) if f]
    print(*failures, sep="\n", file=sys.stderr)
    print(f"{len(cases) - len(failures)} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    if subprocess.run([os.environ.get("GLIM_PYTHON", "python3"), "-c", "import numpy"], capture_output=True).returncode:
        print("NumPy is not installed (python3-numpy): the course was not tested")
        sys.exit(77)
    sys.exit(main(sys.argv[1]))
