"""Backwards that keep what an earlier call gave: right at the given inputs, wrong at others."""
import numpy as np
import pytest

import glim

X = np.random.default_rng(0).standard_normal((3, 4))
VALUES = "wrong for other values"


def fails(report, why, check="elsewhere"):
    assert not report, report
    assert report.verdicts[check] == "failed" and why in report.mistake, report


def test_an_input_that_is_kept_by_its_address():
    """An address comes again with other values, which fails, or with another shape, which is undecided. Which of them comes
    again is the heap's choice, so one check may miss it."""
    def check():
        kept = {}
        return glim.gradcheck(lambda x: x**3, lambda dy, x: 3 * dy * kept.setdefault(id(x), x.copy())**2, X)

    assert not all([check() for _ in range(5)])


def test_a_backward_that_raises_after_another_size():
    """The exception is the checker's finding, not the caller's."""
    shapes = []

    def backward(dy, x):
        shapes.append(x.shape)
        if x.shape == X.shape and shapes[-2:-1] not in ([], [X.shape]):
            raise ValueError("no longer")
        return 3 * dy * x**2
    fails(glim.gradcheck(lambda x: x**3, backward, X), "keeps state")


def test_slopes_that_are_kept_by_identity():
    def backward(dy, x, kept={}):
        slope = kept.setdefault(id(x), 3 * x * x)
        return dy * (slope if slope.shape == x.shape else 3 * x * x)

    for _ in range(3):  # identities come again
        assert not glim.gradcheck(lambda x: x**3, backward, X)


def test_what_forward_keeps():
    kept = {}

    def once(x):
        kept.setdefault("x", x.copy())
        return x**3

    fails(glim.gradcheck(once, lambda dy, x: 3 * dy * kept["x"]**2, X), VALUES)
    first = {}
    fails(glim.gradcheck(lambda x: (x**3, first.setdefault("x", x.copy())), lambda dy, x: 3 * dy * x**2, X, cache=True), VALUES)
    last = {}

    def every(x):
        last["x"] = x.copy()
        return x**3, None

    # The cache is None: backward reads what the last forward left.
    fails(glim.gradcheck(every, lambda dy, _: 3 * dy * last["x"]**2, X, cache=True), "gone stale", "stateless")


def test_worst_of_what_is_not_finite():
    report = glim.gradcheck(lambda x: x * x, lambda dy, x: dy * np.where(x == X[0, 0], np.inf, 2 * x), X)
    assert report.worst is None or not np.isfinite(report.worst[2])


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 4, dtype=torch.float64)

    class Keeps(torch.autograd.Function):
        kept = None

        @staticmethod
        def forward(ctx, x):
            ctx.key = id(x)
            if cls.kept is None or cls.last:
                cls.kept = x.clone()
            cls.memo.setdefault(id(x), (x, x.clone()))
            return x**3

        @staticmethod
        def backward(ctx, dy):
            return 3 * dy * (cls.memo[ctx.key][1] if cls.by_id else cls.kept) ** 2

    for last, by_id, why, check in [(False, False, VALUES, "elsewhere"), (True, False, "gone stale", "stateless"),
                                    (True, True, "identity of its arrays", "elsewhere")]:
        cls = type("Keeps", (Keeps,), {"kept": None, "last": last, "by_id": by_id, "memo": {}})
        fails(glim.gradcheck(cls, x), why, check)
    linear = torch.nn.Linear(4, 5)
    assert glim.gradcheck(linear, x).verdicts["elsewhere"] == "passed"
    assert glim.gradcheck(torch.nn.LSTM(4, 3), torch.randn(2, 5, 4))


def test_a_backward_in_half_precision_is_named_as_rounding():
    half = np.float16
    with np.errstate(over="ignore"):
        report = glim.gradcheck(np.tanh, lambda dy, x: (dy.astype(half) * (1 - np.tanh(x).astype(half) ** 2)).astype(float), X)
    assert not report and report.mistake.startswith("rounding: backward rounds to about 3 digits"), report


def test_pairs_of_a_rotary_embedding():
    angle = np.arange(3)[:, None] * 0.5 ** np.arange(4)

    def by_halves(x, sign=1):
        (a, b), c, s = np.split(x, 2, 1), np.cos(angle), sign * np.sin(angle)
        return np.concatenate([a * c - b * s, b * c + a * s], 1)

    def in_turn(dy):
        order = np.r_[0:8:2, 1:8:2]
        dx = np.empty_like(dy)
        dx[:, order] = by_halves(dy[:, order], -1)
        return dx

    x = np.random.default_rng(2).standard_normal((3, 8))
    assert glim.gradcheck(lambda x: by_halves(x[:3]), lambda dy, x: by_halves(dy, -1), x)
    assert "pairs along axis 1 are taken in turn instead of by halves" in glim.gradcheck(by_halves, lambda dy, x: in_turn(dy), x).mistake


def test_keyword_arguments_and_options_that_are_none():
    def scaled(x, by, *, shift=0.0):
        return by * x * x + shift

    def backward(dy, x, by, shift=0.0):
        return 2 * dy * by * x, (dy * x * x).sum()

    assert glim.gradcheck(scaled, backward, X, by=np.array(2.0), shift=1.0)
    assert glim.gradcheck(scaled, lambda dy, x, by: backward(dy, x, by), X, by=np.array(2.0))  # f's default is none of backward's
    for call, words in [
            (lambda: glim.gradcheck(scaled, backward, X, np.array(2.0), modee="full"), "modee: neither an option of gradcheck nor taken by the function"),
            (lambda: glim.gradcheck(np.exp, lambda dy, x: dy * np.exp(x), X, second_order=True), "second_order is for functions of a framework"),
            (lambda: glim.gradcheck(lambda v: (v * 2.0, v * 3.0), glim.Var(X), cache=True), "cache is for a backward in NumPy")]:
        with pytest.raises(TypeError, match=words):
            call()
    assert "input 0 dy" in str(glim.gradcheck(glim.tanh, X, second_order=True))


def test_torch_functions_of_equal_sizes_and_their_context():
    torch = pytest.importorskip("torch")

    class Mean(torch.autograd.Function):
        @staticmethod
        def forward(context, first, second):
            context.save_for_backward(first, second)
            return first.mean(0) * second

        @staticmethod
        def backward(context, dy):
            first, second = context.saved_tensors
            return (dy * second).expand(first.shape) / first.shape[context.axis], dy * first.mean(0)

    x, w = torch.randn(4, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    for axis in (0, 1):
        report = glim.gradcheck(type("Mean", (Mean,), {"forward": staticmethod(lambda context, first, second: (
            setattr(context, "axis", axis), Mean.forward(context, first, second))[1])}), x, w)
        assert bool(report) == (axis == 0) and "first (4, 4)" in str(report), report
    threads = torch.get_num_threads()
    assert glim.gradcheck(torch.tanh, x, second_order=True) and torch.get_num_threads() == threads
