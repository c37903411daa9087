"""glim.gradcheck of NumPy functions: right and wrong backwards, and all that can be handed over by mistake."""
import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import glim
from corpus.rounded import softmax, softmax_backward

X = np.random.default_rng(0).normal(size=(3, 4))


def without_sum(dy, x):
    y = softmax(x)
    return y * dy * (1 - y)


def test_a_right_backward():
    report = glim.gradcheck(softmax, softmax_backward, X)
    assert report
    assert report.mistake is None and report.verdicts["differences"] == "passed"
    assert str(report).startswith("gradcheck of softmax: passed")


def test_a_wrong_backward_is_named():
    report = glim.gradcheck(softmax, without_sum, X)
    assert not report
    assert report.verdicts["differences"] == "failed" and "term missing" in report.mistake
    name, index, analytic, numeric = report.worst
    assert name == "x0" and len(index) == 2 and analytic != numeric
    assert json.loads(report.to_json())["passed"] is False
    html = report._repr_html_()
    assert "failed" in html and "term missing" in html
    assert html.count("<rect") == 12 and "of the tolerance" in html
    assert "\n" not in repr(report) and "term missing" in repr(report)


def test_swapped_arguments_are_named():
    def backward(x, dy):
        y = softmax(x)
        return y * (dy - (y * dy).sum(-1, keepdims=True))

    report = glim.gradcheck(softmax, backward, X)
    assert not report and report.mistake == "the arguments are swapped: it is called as backward(dy, x0), and is right as backward(x0, dy)"
    assert str(report).startswith("gradcheck of softmax: FAILED: the arguments are swapped") and json.loads(report.to_json())["mistake"] == report.mistake
    with pytest.raises(TypeError, match=r"backward\(dy, x0, x1\), and is right as backward\(x0, x1, dy\)"):
        glim.gradcheck(np.matmul, lambda a, b, dy: (dy @ b.T, a.T @ dy), X, X.T)
    assert "swapped" not in glim.gradcheck(lambda x: (x * x, x), lambda x, dy: 2 * x * dy * dy, X, cache=True).mistake
    assert "swapped" in glim.gradcheck(lambda x: (np.sin(x), x), lambda x, dy: np.cos(x) * dy, X, cache=True).mistake
    sin = lambda x: np.sin(x)
    sin.parameters = lambda: [np.zeros(2, np.float16)]
    head = str(glim.gradcheck(sin, lambda x, dy: np.cos(x) * dy, X, name="sin: of x")).splitlines()[0]
    assert head.startswith("gradcheck of sin: of x: FAILED: the arguments") and head.endswith(" in float64; float16 was not checked")


def test_the_check_in_the_docstring():
    block = next(b for b in sys.modules["glim.gradcheck"].__doc__.split("\n\n") if "def check" in b)
    exec(textwrap.dedent(block), names := {})
    check = names["check"]
    check(np.matmul, lambda dy, a, b: (dy @ b.T, a.T @ dy), X, X.T)
    with pytest.raises(AssertionError, match=r"input 1 at \(0, 0\): .*, not "):
        check(np.matmul, lambda dy, a, b: (dy @ b.T, -a.T @ dy), X, X.T)


def test_what_atol_alone_decides_is_counted():
    report = glim.gradcheck(np.expm1, lambda dy, x: dy * np.exp(x), np.array([0.5, -40.0]))
    assert report and report.within_atol == {"x0": 2} and "but for 2 of its derivatives" in str(report)
    assert glim.gradcheck(softmax, softmax_backward, X).within_atol == {}


def test_what_is_not_checked_is_named():
    report = glim.gradcheck(lambda x, k: x * k, lambda dy, x, k: (dy * k, -9.0 * dy), X, np.arange(X.size).reshape(X.shape))
    assert report and "input 1 x1 (3, 4) int64, not checked" in str(report), report
    assert json.loads(report.to_json())["not_checked"]


def test_derivatives_that_nothing_decides_are_counted_first():
    f = lambda z: (np.array([1e12, 1e-3, 1]) * np.sin(z)).sum()
    report = glim.gradcheck(f, lambda dy, z: dy * np.array([1e12, -1e-3, 1]) * np.cos(z), np.array([0.3, 0.5, 0.7]))
    assert "but for 2 of its derivatives, which nothing decides" in str(report).split("\n")[0]


def test_values_beyond_three_of_both_signs_are_tried():
    for x in ([1.0, -2.0], [-1.0, 2.0]):
        assert not glim.gradcheck(lambda x: np.clip(x, 0, 6), lambda dy, x: dy * (x > 0), np.array(x))


def test_rounding_of_float32_is_no_wrong_gradient():
    f, right = lambda z: (z - z.mean()) ** 2, lambda dy, z: (g := 2 * dy * (z - z.mean())) - g.mean()
    for seed in range(8):
        z = (np.random.default_rng(seed).normal(size=4) + 1e4).astype(np.float32)
        report = glim.gradcheck(f, right, z)
        assert report or "UNDECIDED" in str(report) and "right in float64" in str(report), report
        assert "FAILED" in str(glim.gradcheck(f, lambda dy, z: -right(dy, z), z))


def test_a_size_written_as_a_number_has_not_passed():
    report = glim.gradcheck(np.mean, lambda dy, x: np.full(x.shape, dy / 12), X)
    assert not report and report.verdicts["differences"] == "passed" and report.verdicts["elsewhere"] == "undecided"
    assert str(report).startswith("gradcheck of mean: UNDECIDED: right for") and "written as a number" in report.mistake
    assert repr(report).count("written as a number") == 1


def test_pytest_shows_the_mistake(tmp_path):
    (tmp_path / "test_it.py").write_text(textwrap.dedent("""
        import numpy as np, glim
        def test_it():
            assert glim.gradcheck(np.sin, lambda dy, x: -dy * np.cos(x), np.ones(3))
    """))
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == 1
    assert "assert <gradcheck of sin: FAILED" in run.stdout and "sign" in run.stdout, run.stdout


@pytest.mark.parametrize("mode", ["full", "projected"])
@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x[::-1, ::-1], lambda x: np.repeat(x, 2, 1)[:, ::2]],
                         ids=["Fortran", "negative", "strided"])
def test_layouts(layout, mode):
    assert glim.gradcheck(softmax, softmax_backward, layout(X), mode=mode)
    assert not glim.gradcheck(softmax, without_sum, layout(X), mode=mode)


def test_arguments_of_several_kinds():
    labels = np.array([1, 0, 3], dtype=np.int32)

    def loss(x, labels):
        return -np.log(softmax(x)[np.arange(3), labels]).sum()

    def backward(dy, x, labels):
        return dy * (softmax(x) - np.eye(x.shape[1])[labels]), None

    assert glim.gradcheck(loss, backward, X, labels)
    assert glim.gradcheck(lambda x: (x * 2, x ** 2), lambda dy, x: dy[0] * 2 + dy[1] * 2 * x, X)
    assert glim.gradcheck(lambda a, b: a @ b, lambda dy, a, b: (dy @ b.T, a.T @ dy), X, X.T)
    assert glim.gradcheck(lambda x: x * 2, lambda dy, x: dy * 2, 3.0)
    assert glim.gradcheck(lambda x, *, k: (k * x, k), lambda dy, kept: kept * dy, X, cache=True, k=2.0)
    assert glim.gradcheck(lambda x: x * 2, lambda dy, x: dy * 2, X, precise=True)
    assert glim.gradcheck(lambda x: x * 2, lambda dy, x: dy * 2, X.astype(np.float32))
    assert glim.gradcheck(softmax, softmax_backward, np.broadcast_to(X, X.shape))  # read-only


def test_inputs_stay_as_they_were():
    x, before = X.copy(), X.copy()

    def spoil(dy, x):
        x += 1
        return dy

    assert glim.gradcheck(lambda x: x.copy(), spoil, x).verdicts["inputs"] == "failed"
    assert (x == before).all()


def double(x):
    return 2 * x


@pytest.mark.parametrize("f, backward, inputs, error, words", [
    (double, lambda dy, x: 2 * dy, [np.arange(3)], glim.DTypeError, "x0 int64.*astype"),
    (double, lambda dy, x: 2 * dy, [], glim.DTypeError, "inputs are none"),
    (double, lambda dy, x: 2 * dy, [np.ones(3, np.float16)], glim.DTypeError, "x0 is float16.*astype"),
    (double, lambda dy, x: 2 * dy, [np.ones(3, complex)], glim.DTypeError, "x0 is complex128"),
    (double, lambda dy, x: 2 * dy, [np.array([object()])], glim.DTypeError, "x0 is no array of numbers"),
    (double, lambda dy, x: 2 * dy, [[[1.0, 2.0], [3.0]]], glim.ValueError, "x0 is no array"),
    (double, lambda dy, x: None, [X], glim.ValueError, "backward returned None.*return missing"),
    (double, lambda dy, x: "dy", [X], glim.DTypeError, "the gradient of x0"),
    (double, lambda dy, x: 1 / 0, [X], ZeroDivisionError, "division"),
    (lambda x: None, lambda dy, x: dy, [X], glim.ValueError, "f returned None"),
    (lambda x: x > 0, lambda dy, x: dy, [X], glim.ValueError, "no output of a floating dtype"),
    (lambda x: 1 / 0, lambda dy, x: dy, [X], ZeroDivisionError, "division"),
    (double, 3, [X], TypeError, "second argument is the backward"),
    (3, double, [X], TypeError, "first argument is the function")])
def test_what_cannot_be_checked(f, backward, inputs, error, words):
    with pytest.raises(error, match=words):
        glim.gradcheck(f, backward, *inputs)


def test_options_out_of_range():
    for options in ({"mode": "half"}, {"atol": 0}, {"rtol": float("nan")}, {"rtol": 1}, {"seed": -1}, {"seed": 2 ** 64}, {"seed": 0.5}, {"seed": True}, {"cache": True}):
        with pytest.raises(glim.ValueError, match=r"mode|seed|above 0|f returns \(y, cache\), not ndarray"):
            glim.gradcheck(double, lambda dy, x: 2 * dy, X, **options)
    assert glim.gradcheck(double, lambda dy, x: 2 * dy, X, atol=np.float32(1e-6), seed=np.int64(3))
    for options in ({"atol": "1e-3"}, {"atol": True}, {"rtol": True}, {"precise": 1}, {"second_order": "no"}, {"cache": 1}):
        with pytest.raises(TypeError, match=next(iter(options))):
            glim.gradcheck(double, lambda dy, x: 2 * dy, X, **options)
    assert "of 5: passed" in str(glim.gradcheck(double, lambda dy, x: 2 * dy, X, name=5))


@pytest.mark.parametrize("f, x", [(double, np.array([1.0, np.nan])), (lambda x: x * np.nan, X), (lambda x: (x, np.log(-x * x)), X)],
                         ids=["input", "output", "second output"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_function_that_gives_nan_has_no_gradient_to_compare(f, x):
    report = glim.gradcheck(f, lambda dy, x: dy if isinstance(dy, np.ndarray) else dy[0], x)
    assert not report and report.verdicts["differences"] == "undecided"
    assert "not a number at these inputs" in report.mistake and "nan at (" in report.mistake, report


def test_a_function_may_be_infinite_where_it_is_masked():
    mask = X > 0
    assert glim.gradcheck(lambda x: np.where(mask, x, -np.inf), lambda dy, x: np.where(mask, dy, 0), X)


@pytest.mark.parametrize("backward, words", [
    (lambda dy, a, b: (dy * b,), "2"),
    (lambda dy, a, b: (dy * b, dy * a, dy), "2"),
    (lambda dy, a, b: (dy * b, None), "x1"),
    (lambda dy, a, b: ((dy * b)[:1], dy * a), "x0"),
    (lambda dy, a, b: (dy * b * np.nan, dy * a), "x0"),
    (lambda dy, a, b: ((dy * b).astype(int), dy * a), "x0"),
    (lambda dy, a, b: (dy * b * np.random.rand(), dy * a), "")],
    ids=["short", "long", "None", "shape", "NaN", "integers", "random"])
def test_backwards_that_return_something_else(backward, words):
    report = glim.gradcheck(np.multiply, backward, X, X + 1)
    assert not report
    assert words in str(report), report


def test_no_elements():
    report = glim.gradcheck(double, lambda dy, x: 2 * dy, np.zeros((0, 3)))
    assert report.verdicts["differences"] in ("undecided", "passed"), report


def test_ctrl_c_ends_a_check():
    run = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import os, signal, threading, numpy as np, glim
        x = np.ones((60, 60))
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            glim.gradcheck(lambda x: x @ x, lambda dy, x: dy @ x.T + x.T @ dy, x)
        except KeyboardInterrupt:
            print("stopped")
    """)], capture_output=True, text=True, timeout=60)
    assert run.stdout == "stopped\n", run


def test_ctrl_c_in_a_callback_ends_the_check():
    calls = 0

    def interrupted_at(call):
        def f(x):
            nonlocal calls
            calls += 1
            if calls == call:
                raise KeyboardInterrupt
            return np.tanh(x)
        return f

    backward = lambda dy, x: dy * (1 - np.tanh(x))  # wrong, so that it is named
    assert not glim.gradcheck(interrupted_at(0), backward, X)
    for call in {1, 2, 3, calls, *range(4, calls, 97)}:  # there are thousands
        calls = 0
        with pytest.raises(KeyboardInterrupt):
            glim.gradcheck(interrupted_at(call), backward, X)
