"""glim.derive: programs of the gradients of NumPy functions equal differences to 1e-7 and the tape to 1e-12."""
import numpy as np
import pytest

import glim
from corpus.rounded import softmax


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def layer_norm(x, gamma, beta):
    c = x - x.mean(-1, keepdims=True)
    return gamma * c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) + beta


def attention(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -1e9)
    return softmax(scores) @ v


def lstm_cell(x, h, c, w, u, b):
    i, f, g, o = np.split(x @ w + h @ u + b, 4, axis=-1)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return np.concatenate([sigmoid(o) * np.tanh(c), c], axis=-1)


def convolution(x, w):
    rows = []
    for i in range(x.shape[0] - w.shape[0] + 1):
        row = [np.sum(x[i:i + w.shape[0], j:j + w.shape[1]] * w) for j in range(x.shape[1] - w.shape[1] + 1)]
        rows.append(np.stack(row))
    return np.stack(rows)


def recurrent(x, w):
    h = np.zeros(w.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(x[t] + w @ h)
    return h


def log_likelihood(x, mean, spread):
    return -0.5 * np.sum(((x - mean) / spread) ** 2 + 2 * np.log(spread) + np.log(2 * np.pi))


def multihead(x, wq, wk, wv):
    b, t, d = x.shape
    split = lambda z: np.transpose(np.reshape(z, (b, t, 2, d // 2)), (0, 2, 1, 3))
    y = attention(split(x @ wq), split(x @ wk), split(x @ wv))
    return y.transpose(1, 2).reshape((b, t, d)) if isinstance(y, glim.Var) else y.transpose(0, 2, 1, 3).reshape(b, t, d)


def cross_entropy(logits, target):
    m = logits.max(1, keepdims=True)
    log_probs = logits - m - np.log(np.sum(np.exp(logits - m), axis=1, keepdims=True))
    return -np.mean(log_probs[np.arange(len(target)), target])


X, Y, W = normal(3, 4), normal(4, 5), normal(4)
CASES = {
    "softmax": (softmax, X), "layer norm": (layer_norm, X, W, normal(4) + 1), "attention": (attention, normal(2, 3, 4), normal(2, 3, 4) + 1, normal(2, 3, 5)),
    "multihead": (multihead, normal(1, 3, 4), normal(4, 4), normal(4, 4) + 1, normal(4, 4) - 1),
    "LSTM cell": (lstm_cell, normal(2, 3), normal(2, 4), normal(2, 4) + 1, normal(3, 16), normal(4, 16), normal(16)),
    "convolution by loops": (convolution, normal(5, 6), normal(2, 3)), "a recurrence": (recurrent, X, normal(4, 4)),
    "cross entropy": (cross_entropy, X, np.array([3, 0, 2])), "log-likelihood": (log_likelihood, X, normal(4), np.exp(normal(4))),
    "einsum": (lambda a, b: np.einsum("ij,jk->ki", a, b), X, Y), "einsum of three": (lambda a, b, c: np.einsum("bij,bjk,k->i", a, b, c), normal(2, 3, 4), normal(2, 4, 5), normal(5)),
    "einsum with a diagonal": (lambda a, b: np.einsum("iij,j", a, b), normal(3, 3, 4), W), "einsum with dots": (lambda a, b: np.einsum("...i,...i->...", a, b), normal(2, 3, 4), W),
    "fancy indexing": (lambda x: x[[0, 2, 0], [1, 1, 1]] * x[1, [0, 1, 2]], X), "a mask": (lambda x: x[np.array([True, False, True])] ** 2, X),
    "broadcasting both ways": (lambda a, b: (a[:, None] - b[None, :]) ** 2, W, normal(3)), "a scalar against a matrix": (lambda a, x: a * x + a, np.array(0.7), X),
    "an outer sum": (lambda a, b: np.add.outer(a, b) * np.outer(a, b), W, normal(3)), "reductions": (lambda x: np.sum(x, 0) + np.mean(x, axis=0) + np.max(x, 0) + np.var(x, axis=0, ddof=1) + np.std(x, 0) + np.prod(x, 0), X),
    "cumulative": (lambda x: np.cumsum(x, axis=1) * np.cumprod(x, axis=0) + np.cumsum(x)[0], X), "differences": (lambda x: np.diff(x, axis=1) ** 2 + np.diff(x, n=3, axis=1), X),
    "choices": (lambda x: np.where(x > 0, x, 0.1 * x) + np.clip(x, -1, 0.5) + np.maximum(x, 0.2) + np.abs(x), X), "order": (lambda x: np.sort(x, axis=0) * np.arange(3)[:, None] + x[np.argmax(np.sum(x, 1))], X),
    "pieces": (lambda x, y: np.concatenate([x, y[:3, :2]], axis=1) @ np.vstack([y, y[1:3]]), X, Y), "rolled": (lambda x: x * np.roll(x, 1, axis=1) + np.flip(x, 0) + np.roll(x, 2), X),
    "padded and tiled": (lambda x: np.pad(x, ((1, 0), (0, 2))) [:3, :4] + np.tile(W, (3, 1)) * x + np.repeat(x, 2, axis=0)[:3], X),
    "products": (lambda x, y: np.dot(x, y) + np.tensordot(x, y, 1) + np.matmul(x, y) + np.inner(x, y.T), X, Y), "vectors": (lambda a, b: np.dot(a, b) + np.inner(a, b) + a @ b + np.vdot(a, b), W, W + 1),
    "norms": (lambda x: np.linalg.norm(x) * np.linalg.norm(x, axis=0), X), "a trace": (lambda x: np.trace(x @ x.T) + np.sum(np.diagonal(x)) + np.sum(np.diag(x, 1)) + np.sum(np.tril(x) * np.triu(x, 1)), X),
    "functions": (lambda x: np.log1p(x * x) + np.square(x) / np.hypot(x, 2.0) + np.sinh(x) * np.cosh(x) + np.logaddexp(x, 1.0) + np.expm1(x) + np.log2(x * x + 1) + np.exp2(x), X),
    "axes": (lambda x: np.moveaxis(x, 0, -1) + np.transpose(x) + np.swapaxes(x, 0, 1) + np.squeeze(np.expand_dims(x, 0)).T + x.T, X), "taken": (lambda x: np.take(x, [[0, 1], [2, 2]], axis=0) + np.take_along_axis(x, np.array([[0, 1, 1, 0]]), 0), X),
    "stacked": (lambda a, b: np.stack([a, b], 1)[:, 0] * np.hstack([a, b])[2:6] + np.average(a, weights=[1, 2, 3, 4]), W, W * 2), "float32": (lambda x: np.tanh(x) * x.sum(), X.astype(np.float32)),
    "powers": (lambda x, p: (x * x + 1) ** p + 2 ** x + x ** 3, X, normal(4)), "names that are taken": (lambda y, dy, sum, np_: y * dy + sum * np_, W, W + 1, W + 2, W + 3)}


@pytest.mark.parametrize("name", CASES)
def test_a_derived_program(name):
    f, *arrays = CASES[name]
    d = glim.derive(f, *arrays)
    exact = [np.asarray(a, np.float64) if a.dtype.kind == "f" else a for a in arrays]
    y = np.asarray(f(*exact))
    np.testing.assert_allclose(d.forward(*exact), y, rtol=1e-12, atol=1e-12)
    dy = np.random.default_rng(1).normal(size=y.shape)
    floating = [k for k, a in enumerate(exact) if a.dtype.kind == "f"]
    gradients = d.backward(dy, *exact)
    gradients = [gradients] if len(floating) == 1 else gradients
    leaves = [glim.Var.leaf(a) if k in floating else a for k, a in enumerate(exact)]
    with glim.Tape() as tape:
        tape.backward((f(*leaves) * glim.Var(dy)).sum())
    forward = d.forward.__wrapped__  # it refuses other arrays where masks are of these
    for k, g in zip(floating, gradients):
        ours = leaves[k].grad.numpy()
        assert np.abs(g - ours).max() <= 1e-12 * max(np.abs(ours).max(), 1), k
        for at in list(np.ndindex(exact[k].shape))[:4]:  # differences of the program's own forward
            def moved(h):
                x = exact[k].copy()
                x[at] += h
                return (np.asarray(forward(*exact[:k], x, *exact[k + 1:])) * dy).sum()
            h = 1e-5
            numeric = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
            assert abs(numeric - g[at]) <= 1e-7 * max(1, np.abs(g).max()), (k, at)
    assert "glim" not in d.program and "backward" in d.lines


def gelu_of(x):
    return 0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * x ** 3)))


def small_gpt(embedding, positions, qkv, out, up, down, gamma):
    """The loss of one block and a tied head, on five tokens."""
    x = embedding[[2, 0, 1, 3, 1]] + positions
    q, k, v = np.split(layer_norm(x, gamma, 0.0) @ qkv, 3, axis=-1)
    x = x + attention(q, k, v) @ out
    x = x + gelu_of(layer_norm(x, gamma, 0.0) @ up) @ down
    return cross_entropy(x @ embedding.T, np.array([0, 1, 3, 1, 2]))


SECOND = {"small gpt": (small_gpt, normal(4, 4), normal(5, 4), normal(4, 12), normal(4, 4), normal(4, 6), normal(6, 4), normal(4)), **{
    name: CASES[name] for name in ("softmax", "layer norm", "attention", "LSTM cell", "convolution by loops", "cross entropy", "choices",
                                   "log-likelihood", "powers", "names that are taken", "a recurrence", "einsum")}}


@pytest.mark.parametrize("name", SECOND)
def test_the_second_order(name):
    """The change of f and H v are the tape's to 1e-12, and differences of the gradient to 1e-6."""
    f, *arrays = SECOND[name]
    d = glim.derive(f, *arrays, order=2)
    random, floating = np.random.default_rng(5), [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]
    vs = [random.normal(size=arrays[k].shape) for k in floating]
    up = random.normal(size=np.shape(f(*arrays)))
    space = {}
    exec(d.program, space)
    found = space["second"](up, *arrays, *vs)
    leaves = [glim.Var.leaf(arrays[k].copy()) for k in floating]
    filled = list(arrays)
    for k, leaf in zip(floating, leaves):
        filled[k] = leaf
    with glim.Tape() as tape:
        y = f(*filled)
        expected = [tape.jvp(y, leaves, vs).numpy(), *(h.numpy() for h in tape.hvp((y * up).sum(), leaves, vs))]
    largest = max(np.abs(e).max() for e in expected[1:])
    for a, e in zip(found, expected):
        assert np.shape(a) == e.shape and np.abs(a - e).max() <= 1e-12 * max(np.abs(e).max(), largest)

    def gradient(h):
        x = list(arrays)
        for k, v in zip(floating, vs):
            x[k] = x[k] + h * v
        g = space["backward"](up, *x)
        return [g] if len(floating) == 1 else g
    h = 1e-5
    if name != "choices":  # it has kinks
        for a, b, e in zip(gradient(h), gradient(-h), expected[1:]):
            assert np.abs((a - b) / (2 * h) - e).max() <= 1e-6 * max(largest, 1)
    assert "glim" not in d.program and "dL" in d.lines and r"\begin{document}" in d.latex and d.report.verdicts["differences"] == "passed"


def test_bad_orders_and_kinks():
    for order in 3, True:
        with pytest.raises(glim.ValueError, match=f"order is {order}, expected 1 or 2"):
            glim.derive(softmax, X, order=order)
    derived = glim.derive(lambda x: np.clip(x, -.5, .5) ** 2, X, order=2)
    with pytest.raises(glim.ValueError, match="another x"):
        derived.second(X, X + 1, X)


def test_it_is_written(tmp_path):
    d = glim.derive(softmax, X, out=tmp_path / "page") if hasattr(glim.Tape, "inspect") else glim.derive(softmax, X)
    d.save(tmp_path / "softmax.py")
    with pytest.raises(glim.FileError, match="exists already: overwrite=True"):
        d.save(tmp_path / "softmax.py")
    space = {}
    exec((tmp_path / "softmax.py").read_text(encoding="utf-8"), space)
    np.testing.assert_array_equal(space["backward"](X, X), d.backward(X, X))
    assert not hasattr(glim.Tape, "inspect") or (tmp_path / "page/inspect.html").exists()
    assert "rounded.py" in str(d)


def test_a_saved_program_is_whole_or_the_old_one(tmp_path, monkeypatch):
    d, file, link = glim.derive(softmax, X), tmp_path / "softmax.py", tmp_path / "link.py"
    file.write_text("old")
    link.symlink_to(file)
    with pytest.raises(glim.FileError, match="link.py: is a symbolic link"):
        d.save(link, overwrite=True)
    held = open(file)  # a reader of the old file, which is replaced and not truncated
    d.save(file, overwrite=True)
    assert held.read() == "old" and file.read_text(encoding="utf-8") == d.program
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "softmax.py"]


@pytest.mark.parametrize("names", ["x dx dx_", "dx x", "y y_", "y dy_", "dy_ y", "h dh dh_ dh__", "constant_1 x", "inf nan",
                                   "exp dexp", "forward backward dy", "d dd ddd"])
def test_names_of_arguments_are_free(names):
    space = {"np": np}
    exec(f"def f({', '.join(names.split())}):\n  return np.exp({' * '.join(names.split())}) + np.arange(4.0)", space)
    d = glim.derive(space["f"], *[X + k for k in range(len(names.split()))])
    assert d.report


def test_arguments_beside_those_with_names():
    assert glim.derive(lambda x1, *rest: x1 * rest[0] * rest[1], X, X + 1, X + 2).report


def test_constants_are_written_exactly():
    factors, chosen = np.random.default_rng(1).normal(size=X.shape) * 1e-12, np.array([True, False, True, False])
    assert X.shape[-1] == 4

    def f(x, rows):
        y = np.where(chosen, x * factors, -np.inf) + np.array([np.inf, 1, 2, 3])[1:2] + np.concatenate([x, np.zeros((0, 4))])
        return np.exp(y) + x[np.zeros(0, int)].sum()
    expected = f(X, 0)
    with np.printoptions(precision=2, suppress=True, threshold=3, linewidth=20, sign="+", nanstr="NAN", infstr="INF",
                         formatter={"float": lambda v: f"<{v:g}>"}):
        d = glim.derive(f, X, 0)
    np.testing.assert_array_equal(d.forward(X, 0), expected)
    assert d.report.verdicts["differences"] == "passed" and max(map(len, d.program.split("def ")[0].splitlines())) < 130


def test_arrays_without_elements_are_refused():
    with pytest.raises(glim.ValueError, match="no floating argument has an element"):
        glim.derive(np.exp, np.zeros((0, 3)))
    report = glim.derive(lambda x, b: np.exp(x).sum(0) + b, np.zeros((0, 4)), X[0]).report
    assert report.verdicts["differences"] == "passed"


def filled(x):
    y = np.zeros(4)
    for i in range(4):
        y[i] = (x[i] ** 2).sum()  # the gradient is lost in an array
    return y * x.sum()


def evil(x):
    return x * 2


evil.__name__ = '"""\nimport os; os.abort()\n"""'


@pytest.mark.parametrize("f, arrays, error, words", [
    (filled, (W,), glim.ValueError, "not that of its differences: a value was written into an array"), (lambda x: np.linalg.inv(x), (normal(3, 3),), TypeError, "np.linalg.inv takes no Var"),
    (lambda x: np.fft.fft(x), (W,), TypeError, "np.fft.fft takes no Var"), (lambda x: np.arctan(x), (W,), TypeError, "np.arctan takes no Var"),
    (lambda x: x.tolist(), (W,), AttributeError, "v.numpy"), (lambda x: np.ones(3), (W,), glim.ValueError, "gives ndarray of shape .3,."),
    (lambda x: (x, x), (W,), glim.ValueError, "gives tuple; it gives one array"), (lambda x: x, (np.arange(3),), glim.DTypeError, "no argument is a floating array"),
    (lambda x: x * (1 if isinstance(x, np.ndarray) else 2), (W,), glim.ValueError, "other values with Vars than with arrays"),
    (lambda x: np.log(1 + x) if isinstance(x, glim.Var) else np.log1p(x), (np.array([1e-17, 2]),), glim.ValueError, "other values with Vars than with arrays"),
    (lambda x: x * x.var(), (W,), glim.ValueError, "np.var"), (lambda x: np.diag(x), (W,), TypeError, "np.eye"), (lambda x: np.linalg.norm(x, 1), (W,), TypeError, "norm of order 2"), (lambda x: np.pad(x, 1, "edge"), (W,), TypeError, "mode='edge'")])
def test_refused(f, arrays, error, words):
    with pytest.raises(error, match=words):
        glim.derive(f, *arrays)


def test_a_name_is_no_code():
    d = glim.derive(evil, W)
    assert "os.abort" not in d.program and "function f" in d.program


@pytest.mark.parametrize("f", [lambda x: x.max(-1), lambda x: np.clip(x, -.5, .5), lambda x: x * (x > 0), lambda x: x * np.sign(x),
                               lambda x: x[np.arange(2), x.argmax(-1)]])
def test_masks_and_indices_of_values_are_for_these_arrays_alone(f):
    x, other = normal(2, 3), normal(2, 3) + 1
    derived = glim.derive(f, x)
    dy = np.ones(np.shape(f(x)))
    derived.backward(dy, x)
    assert "for these arrays alone" in derived.program
    for call in (lambda: derived.backward(dy, other), lambda: derived.forward(other)):
        with pytest.raises(glim.ValueError, match="another x"):
            call()


@pytest.mark.parametrize("order", [1, 2])
def test_a_program_that_no_other_point_confirms_is_for_these_arrays_alone(order):
    def near(x):
        if np.abs((x.numpy() if isinstance(x, glim.Var) else x) - W).max() > 1e-4:
            raise ArithmeticError("far away")
        return x * x

    derived = glim.derive(near, W, order=order)
    assert "for these arrays alone: f is defined at no other point that was tried" in derived.program
    with pytest.raises(glim.ValueError, match="another x"):
        derived.forward(W + 1)


def test_a_mask_that_is_an_argument_is_part_of_the_program():
    x, mask = normal(2, 3), np.array([[True, False, True], [False, True, True]])
    derived = glim.derive(lambda x, mask: np.where(mask, x, 0.0) * 2, x, mask)
    assert (derived.forward(x + 1, mask) == np.where(mask, x + 1, 0) * 2).all()
    with pytest.raises(glim.ValueError, match="another mask"):
        derived.forward(x, ~mask)
    assert (derived.backward(x, x=x, mask=mask) == np.where(mask, 2 * x, 0)).all()
    with pytest.raises(glim.ValueError, match="another mask"):
        derived.backward(x, x, mask=~mask)
