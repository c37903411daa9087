"""NumPy's functions of Vars against NumPy for values, against differences for gradients, with every option of their signatures:
a function or option that Glim does not compute is a TypeError."""
import inspect

import glim
import numpy as np
import pytest
from glim import _numpy_dispatch, _numpy_einsum, _numpy_ufuncs  # noqa: F401  einsum is registered


def numbers(*shape, low=-1.5):
    """Numbers that are apart from each other and from whole numbers, in any order."""
    size = int(np.prod(shape))
    return np.random.default_rng(size).permutation(low + 0.037 + np.arange(size) * (3 / max(size, 1))).reshape(shape)


X, Y, C, W, V, A = numbers(3, 4), numbers(4, 5), numbers(2, 3, 4), numbers(4), numbers(3), np.array(0.7)
SQUARE, POSITIVE, WITHIN, ONE = numbers(3, 3), numbers(3, 4, low=0.2), numbers(3, 4) * 0.6, numbers(2, 1, 3)
NAN = np.where(np.arange(12).reshape(3, 4) % 5 == 0, np.nan, X)
MASK, IDS = X > 0, np.array([[0, 2, -1], [1, 0, 2]])


class Case:
    """f(*args, **options); each floating array of the arguments is a Var."""

    def __init__(self, *args, **options):
        self.args, self.options = args, options


# Every case must be computed. A function of each element takes arrays of one shape.
ELEMENTS = {
    **{name: [(X,)] for name in "exp expm1 sin cos tanh absolute fabs negative positive conjugate square reciprocal exp2 sinh cosh tan degrees radians "
                                "deg2rad rad2deg".split()},
    **{name: [(POSITIVE,)] for name in "log log1p log2 log10 sqrt".split()}, "arctanh": [(WITHIN,)],
    **{name: [(X, POSITIVE), (X, W), (X, 0.5), (0.5, X), (ONE, SQUARE), (X, [1.0, 2.0, 3.0, 4.5]), (MASK, X)]
       for name in "add subtract multiply divide true_divide maximum minimum fmax fmin hypot logaddexp".split()},
    "power": [(POSITIVE, X), (POSITIVE, 3), (2, X), (POSITIVE, W)], "float_power": [(POSITIVE, X)],
    "matmul": [(X, Y), (C, Y), (X, W), (V, X), (W, W), (C, C[0].T.copy()), (X, [1.0, 2.0, 3.0, 4.5])],
    **{name: [(X,)] for name in "sign floor ceil rint trunc isnan isinf isfinite signbit logical_not".split()},
    **{name: [(X, W), (X, 0.5), (0.5, X)] for name in "equal not_equal less less_equal greater greater_equal floor_divide logical_and logical_or "
                                                      "logical_xor".split()}, "heaviside": [(X, 0.5)]}
FUNCTIONS = {
    "sum": [Case(X), Case(C, 1), Case(C, (0, -1), keepdims=True), Case(X, axis=0, dtype=None, out=None), Case(X, 0, None, None, True), Case(X, keepdims=1)],
    "mean": [Case(X), Case(C, (1, 2)), Case(C, -2, keepdims=True)], "max": [Case(X), Case(C, 1, None, True)], "amax": [Case(X), Case(C, (0, 1))],
    "min": [Case(X), Case(C, 1)], "amin": [Case(X), Case(C, (0, 1), keepdims=True)],
    "var": [Case(X), Case(C, 1, ddof=1), Case(X, keepdims=True), Case(X, 0, None, None, 0.5)], "std": [Case(X), Case(C, (0, 1), ddof=1, keepdims=True)],
    "prod": [Case(X), Case(C, 1), Case(C, (0, 2)), Case(X, 0, keepdims=True), Case(C, keepdims=True), Case(np.zeros((3, 0)), 1), Case(NAN[:1, 1:], 1)],
    "cumsum": [Case(X), Case(C, 1), Case(C, axis=-1)], "cumprod": [Case(X), Case(C, 1)],
    "average": [Case(X), Case(C, 1), Case(X, weights=POSITIVE), Case(X, 1, W + 2), Case(C, (0, 2), keepdims=True),
                *([] if np.__version__ < "2" else [Case(C, (2, 1), POSITIVE.T.copy())]), Case(X, 0, V + 2, keepdims=True), Case(W, weights=[1, 2, 3, 4])],
    "reshape": [Case(X, (2, 6)), Case(X, -1), Case(X, (4, -1), order="C"), Case(A, ())], "ravel": [Case(C)], "transpose": [Case(C), Case(C, (1, 2, 0)), Case(C, (0, -1, 1))],
    "swapaxes": [Case(C, 0, -1)], "moveaxis": [Case(C, 0, -1), Case(C, (0, 2), (1, 0))], "expand_dims": [Case(X, 1), Case(X, (0, -1))],
    "squeeze": [Case(ONE), Case(ONE, 1), Case(ONE, axis=(1,))], "broadcast_to": [Case(ONE, (2, 4, 3)), Case(A, 3)],
    "concatenate": [Case([X, X[:2]]), Case((X, MASK), axis=1), Case([X, W], axis=None), Case([C, C[:, :1]], 1)], "stack": [Case([X, 2 * X]), Case([X, MASK], -1), Case([X, X], axis=1)],
    "vstack": [Case([X, W]), Case([W, [1.0, 2, 3, 4]])], "hstack": [Case([W, V]), Case([X, X[:, :1]]), Case([A, A])],
    "split": [Case(X, 2, 1), Case(C, [1, 3], axis=2), Case(X, np.int64(3)), Case(W, [3, 1]), Case(W, [-1]), Case(W, [2, 9])],
    "pad": [Case(X, 1), Case(X, ((1, 0), (0, 2)), constant_values=0.5), Case(W, (2, 1), "constant"), Case(X, ((1, 0), (0, 2)), mode="constant")],
    "tile": [Case(X, 2), Case(X, (2, 1, 3)), Case(W, (3, 1)), Case(W, 0)], "repeat": [Case(X, 2), Case(X, [1, 0, 2], axis=0), Case(X, 2, 1)],
    "flip": [Case(C), Case(C, 1), Case(C, axis=(0, -1))], "roll": [Case(X, 2), Case(X, -1, axis=1), Case(C, (1, 2), (0, 2)), Case(C, 1, (0, 1)), Case(X, 13)],
    "take": [Case(X, IDS), Case(X, 1, 0), Case(C, IDS, axis=1), Case(X, [1, 1], -1)], "take_along_axis": [Case(X, IDS[:, [0, 1, 2, 0]], 0), Case(X, IDS[:, :1].T[[0, 0, 0]], 1), Case(X, np.array([[1]]), 1),
                                                                                                        Case(C, np.zeros((2, 1, 1), int), 1), Case(X[:1], IDS[:2, :1], -1)],
    "diff": [Case(X), Case(X, 2, axis=0), Case(X, 0), Case(W, 6)], "diagonal": [Case(X), Case(C, 1, 2, 0), Case(X, offset=-1), Case(C, 0, axis1=1, axis2=2)],
    "diag": [Case(X), Case(SQUARE, -1)], "trace": [Case(X), Case(C, 1, 1, 2)], "tril": [Case(X), Case(C, 1)], "triu": [Case(X), Case(C, k=-1)],
    "clip": [Case(X, -0.5, 0.6), Case(X, None, W), Case(X, a_min=A - 0.5, a_max=None), Case(X, V[:, None] - 1, A), Case(X, -1, A)],
    "where": [Case(MASK, X, W), Case(MASK, X, 0.0), Case([True, False, True, True], 1.0, X)], "sort": [Case(X), Case(C, 1), Case(X, axis=None)],
    "dot": [Case(X, Y), Case(W, W + 1), Case(C, W), Case(A, X), Case(X, numbers(2, 4, 3)), Case(2.0, X)], "inner": [Case(X, C), Case(W, W), Case(A, X)],
    "outer": [Case(X, V), Case(2.0, W)], "vdot": [Case(X, POSITIVE), Case(W, W)],
    "tensordot": [Case(C, X, ([1, 2], [0, 1])), Case(X, Y, 1), Case(X, V, 0), Case(C, numbers(4, 3), axes=[[-1], [0]]), Case(C, numbers(5, 3), (1, 1))],
    "einsum": [Case("ij,jk", X, Y), Case("ij,jk->ki", X, Y), Case("ba,c", X, V), Case("ii", SQUARE), Case("ii->i", SQUARE), Case("ij->", X), Case("...ij,jk", C, Y),
               Case("...,...", numbers(2, 3, 4), X), Case("...ij,...jk->...ik", numbers(2, 1, 3, 4), numbers(5, 4, 2)), Case("...i->...", numbers(2, 2, 3, 2)),
               Case("a...b,b...->...a", numbers(2, 3, 1, 4), numbers(4, 3, 2)), Case("Zb, bA", X, Y), Case("ij,ij->ij", ONE[:, 0], numbers(1, 3)), Case("i,i,i->i", W, W, W),
               Case("bij,bjk,k->i", C, numbers(2, 4, 5), numbers(5)), Case("iij,j", numbers(3, 3, 4), W), Case("ij,kl->ikjl", X, SQUARE, optimize=True), Case("i,i", W, V[:1])],
    "linalg.norm": [Case(X), Case(W, 2), Case(C, axis=1), Case(C, None, (0, 2), True), Case(X, "fro"), Case(C, 2, -1, keepdims=True), Case(C, "fro", (1, 2)), Case(C)],
    "full_like": [Case(X, 0.5), Case(X, 2, dtype=int), Case(X, 1.5, shape=(2,))],
    **{name: [Case(X)] for name in "argmax argmin argsort zeros_like ones_like shape ndim size nonzero count_nonzero any all argwhere around round result_type array_repr array_str "
                                   "array2string iscomplexobj isrealobj".split()},
    **{name: [Case(X, X)] for name in "array_equal allclose isclose shares_memory may_share_memory".split()}, "searchsorted": [Case(np.sort(W), X)], "empty_like": []}

# Values of each option. Where NumPy takes the option with a function's cases, Glim computes the same or refuses.
OPTIONS = {"dtype": [np.float32], "initial": [0.5], "where": [MASK, MASK[:, :1]], "order": ["F", "A"], "copy": [True], "returned": [True],
           "mean": [X.mean(keepdims=True)], "casting": ["unsafe", "no"], "mode": ["wrap", "edge"], "kind": ["stable"], "stable": [True], "prepend": [0.25],
           "append": [0.25], "subok": [False, True], "device": ["cpu"], "keepdims": [True], "axis": [0, -1, (0, 1)], "ddof": [1.0], "correction": [1.0],
           "optimize": ["greedy"], "weights": [POSITIVE], "shape": [(2,)], "ord": [1, np.inf, "nuc", 2, -2], "a_min": [0.25], "a_max": [0.25], "min": [0.25],
           "max": [0.25], "x": [], "y": [], "offset": [1], "axis1": [1], "axis2": [1], "k": [1], "n": [2], "axes": [(1, 0)], "decimals": [1], "rtol": [1.0],
           "atol": [1.0], "equal_nan": [True], "side": ["right"], "sorter": [np.arange(4)], "max_work": [1], "max_line_width": [20], "precision": [2],
           "suppress_small": [True], "formatter": [{"float": str}], "threshold": [2], "edgeitems": [1], "sign": ["+"], "floatmode": ["fixed"],
           "legacy": ["1.13"], "separator": [";"], "prefix": ["x"], "suffix": ["x"], "style": [], "constant_values": [0.25, (0.25, 0.5)], "stat_length": [2],
           "end_values": [0.25]}


def function(name):
    return getattr(np.linalg, name.partition(".")[2]) if "." in name else getattr(np, name)


def is_var(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def arrays_in(x):
    return [x] if is_var(x) else [y for part in (x.values() if isinstance(x, dict) else x) for y in arrays_in(part)] if isinstance(x, (list, tuple, dict)) else []


def filled(x, new):
    """x with the next of `new` for each floating array."""
    if is_var(x):
        return next(new)
    return type(x)(filled(y, new) for y in x) if isinstance(x, (list, tuple)) else {k: filled(y, new) for k, y in x.items()} if isinstance(x, dict) else x


def parts_of(y):
    return list(y) if isinstance(y, (list, tuple)) else [y]


def flat(y):
    return np.concatenate([np.ravel(part) for part in parts_of(y)])


def compare(f, args, options, dtype=np.float64):
    """f of Vars is f of arrays, and its gradient is that of differences."""
    given = [x.astype(dtype) for x in arrays_in((args, options))]

    def of(xs):
        xs = iter(xs)
        with np.errstate(all="ignore"):
            return f(*filled(args, xs), **filled(options, xs))

    expected, leaves = of(given), [glim.Var.leaf(x.copy()) for x in given]
    with glim.Tape() as tape:
        y = of(leaves)
        if any(isinstance(part, glim.Var) for part in parts_of(y)):
            assert [part.shape for part in parts_of(y)] == [np.shape(part) for part in parts_of(expected)]
            assert {part.dtype for part in parts_of(y)} == {np.dtype(dtype).name}
            tolerance = 1e-13 if dtype == np.float64 else 1e-5
            np.testing.assert_allclose(flat([part.numpy() for part in parts_of(y)]), flat(expected), rtol=tolerance, atol=tolerance)
            dy = np.random.default_rng(1).normal(size=flat(expected).size)
            tape.backward(glim.sum(glim.concatenate([part.reshape(-1) for part in parts_of(y)], 0) * dy.astype(dtype)))
        elif isinstance(expected, (str, np.dtype)):
            assert y == expected
            return
        else:  # the function is flat, so the gradient is 0
            for part, same in zip(parts_of(y), parts_of(expected), strict=True):
                np.testing.assert_array_equal(np.asarray(part), same, strict=isinstance(same, np.ndarray))
            dy = np.ones(flat(expected).size) * (flat(expected).dtype.kind == "f")
    if dtype != np.float64:
        return
    for k, (x, leaf) in enumerate(zip(given, leaves)):
        found = np.zeros_like(x) if leaf.grad is None else leaf.grad.numpy()
        for at in np.ndindex(x.shape):
            def moved(h):
                near = x.copy()
                near[at] += h
                return flat(of([*given[:k], near, *given[k + 1:]]))
            h = 1e-4
            numeric = (8 * (moved(h) * 1.0 - moved(-h)) - (moved(2 * h) * 1.0 - moved(-2 * h))) @ dy / (12 * h)
            assert np.isclose(numeric, found[at], rtol=1e-8, atol=1e-8, equal_nan=True), (k, at, numeric, found[at])


def cases():
    for name, calls in ELEMENTS.items():
        for args in calls:
            yield name, Case(*args)
    for name, calls in FUNCTIONS.items():
        for case in calls:
            yield name, case


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*ELEMENTS, *FUNCTIONS])
def test_values_and_gradients(name, dtype):
    for case in [case for of, case in cases() if of == name]:
        if name not in ("array_repr", "array_str", "array2string", "result_type") or dtype == np.float64:
            compare(function(name), case.args, case.options, dtype)


def test_every_function_has_a_case():
    known = {name for name in {*_numpy_ufuncs.UFUNCS, *_numpy_ufuncs._OPERATORS, *_numpy_ufuncs._WITHOUT_GRADIENT}}
    assert known == {*ELEMENTS} and len(ELEMENTS) + len(FUNCTIONS) >= 130
    assert {*_numpy_dispatch.FUNCTIONS} == {function(name) for name in FUNCTIONS}


def options_of(f):
    if isinstance(f, np.ufunc):
        return ["out", "where", "casting", "order", "dtype", "subok"]
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:  # in C, before NumPy 2.4
        return ["axis", "out", "dtype", "casting"]
    words = [p.name for p in parameters if p.default is not p.empty]
    return words + {np.pad: ["constant_values", "stat_length", "end_values"], np.clip: ["where", "dtype", "casting"], np.einsum: ["dtype", "order", "casting"]}.get(f, [])


@pytest.mark.parametrize("name", [*ELEMENTS, *FUNCTIONS])
def test_every_option_is_read_or_refused(name):
    f = function(name)
    for case in [case for of, case in cases() if of == name][:3]:
        for option in options_of(f):
            for value in [np.array(f(*case.args, **case.options))] if option == "out" else OPTIONS[option]:
                try:
                    options = {**case.options, option: value.copy() if isinstance(value, np.ndarray) else value}
                    f(*case.args, **options)
                except Exception:
                    continue  # NumPy refuses it, too
                for options in (options, {**options, option: np.array(value)} if isinstance(value, float) else options):
                    try:
                        compare(f, case.args, options)
                    except TypeError as error:
                        assert any(word in str(error) for word in ("np.", "Var", "as an integer")), error
                    except ValueError as error:
                        assert "output array is read-only" in str(error)


def test_reductions_of_ufuncs():
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum):
        for options in ({}, {"axis": 1}, {"axis": None}, {"axis": (0, 1), "keepdims": True}, {"dtype": None, "axis": 1}):
            compare(ufunc.reduce, (C,), options)
        for options in ({"initial": 0.5}, {"where": MASK, "initial": 1.0}, {"dtype": np.float32}, {"out": np.empty(4)}):
            with pytest.raises(TypeError, match="of a Var|takes no Var|lose the gradient"):
                ufunc.reduce(glim.Var.leaf(X.copy()), **options)
    compare(np.hypot.outer, (V, W), {})
    compare(np.add.outer, (X, V), {})
    for call in (lambda w: np.multiply.outer(w, w, dtype=np.float32), lambda w: np.add.accumulate(w), lambda w: np.add.reduceat(w, [0, 2])):
        with pytest.raises(TypeError, match="np.(multiply|add)"):
            call(glim.Var.leaf(W.copy()))


@pytest.mark.parametrize("call", [
    lambda w, a: np.pad(w, 1, constant_values=a), lambda w, a: np.full_like(w, a), lambda w, a: np.var(w, ddof=a), lambda w, a: np.heaviside(w, a),
    lambda w, a: np.full_like(w.numpy(), a), lambda w, a: np.full(3, a), lambda w, a: np.sum(w, initial=a), lambda w, a: np.linspace(0, a, 3),
    lambda w, a: np.unique(w), lambda w, a: np.repeat(w, a), lambda w, a: np.pad(w, a), lambda w, a: np.allclose(w, w, rtol=a) and np.full(3, [a] * 3),
    lambda w, a: np.dot(w, np.ma.array(W, mask=W > 0)), lambda w, a: np.einsum(w, [0], w, [0]), lambda w, a: np.average(w, weights=w, returned=True), lambda w, a: np.sum(w, axis=())])
def test_a_var_for_a_number_is_refused(call):
    with glim.Tape(), pytest.raises(TypeError):
        call(glim.Var.leaf(W.copy()), glim.Var.leaf(A.copy()))


@pytest.mark.parametrize("call, error", [
    (lambda x: np.moveaxis(x, 5, 0), IndexError), (lambda x: np.squeeze(x, -4), IndexError), (lambda x: np.diagonal(x, 0, 0, 7), IndexError), (lambda x: np.take(x, [0], 3), IndexError),
    (lambda x: np.expand_dims(x, 4), IndexError), (lambda x: np.sum(x, (0, 0)), ValueError), (lambda x: np.pad(x, -1), ValueError), (lambda x: np.pad(x, 1.5), TypeError),
    (lambda x: np.reshape(x, (2.0, 6)), TypeError), (lambda x: np.tile(x, 1.5), TypeError), (lambda x: np.diff(x, -1), ValueError), (lambda x: np.sum(x, 0.0), TypeError),
    (lambda x: np.tensordot(x, x.T, ([0, 1], [0, 1])), ValueError), (lambda x: np.einsum("ij,ij->", x, x.T), ValueError), (lambda x: np.einsum("ij->ii", x), ValueError),
    (lambda x: np.einsum("ij->k", x), ValueError), (lambda x: np.einsum("ijk", x), ValueError), (lambda x: np.einsum("i...->i", x), ValueError), (lambda x: np.einsum("i", x), ValueError),
    (lambda x: np.einsum("ij,jk", x), ValueError), (lambda x: np.average(x, weights=np.ones(3)), (TypeError, ValueError)), (lambda x: np.split(x, 5), ValueError),
    (lambda x: np.average(x, 0, np.zeros(3)), ZeroDivisionError), (lambda x: np.average(x, 1, np.ones(3)), ValueError), (lambda x: np.linalg.norm(x, "fro", 0), (TypeError, ValueError)),
    (lambda x: np.where(x > 0, x), ValueError), (lambda x: np.take_along_axis(x, np.zeros((2, 2), int), 0), (ValueError, IndexError))])
def test_errors_of_numpy(call, error):
    for x in (X, glim.Var.leaf(X.copy())):
        with pytest.raises(error):
            call(x)


def test_functions_are_known_by_what_they_are():
    """np.linalg.trace sums over the last two axes, np.trace over the first two; a ufunc of another library may do anything."""
    square = np.frompyfunc(lambda x: x * x + 1, 1, 1)
    for call in (lambda v: np.linalg.trace(v), lambda v: np.linalg.diagonal(v), lambda v: square(v)):
        with pytest.raises((TypeError, AttributeError), match="takes no Var|no attribute"):  # AttributeError in NumPy 1
            call(glim.Var.leaf(C.copy()))


# ---- digits ----

EXACT = {"log1p": (np.log1p, [(1e-17, 2.0), (-0.9, 1e300), (-1e-9, 1e-300)]), "expm1": (np.expm1, [(1e-17, -40.0), (703.3, 709.7), (-1e-300, 700.5)]),
         "sinh": (np.sinh, [(1e-17, -1e-5), (3.0, -30.0), (710.0, -710.4)]), "cosh": (np.cosh, [(0.1, -3.0), (710.0, -710.4)]),
         "arctanh": (np.arctanh, [(1e-17, -1e-5), (0.5, -0.999999), (1e-300, 0.1)]), "tanh": (np.tanh, [(1e-17, -30.0)])}


@pytest.mark.parametrize("name", EXACT)
def test_digits(name):
    f, pairs = EXACT[name]
    for pair in pairs:
        x = np.array(pair)
        np.testing.assert_allclose(f(glim.Var(x)).numpy(), f(x), rtol=2e-15)
        small = x[np.abs(x) < 80].astype(np.float32)
        np.testing.assert_allclose(f(glim.Var(small)).numpy(), f(small.astype(np.float64)).astype(np.float32), rtol=1e-6)


@pytest.mark.parametrize("f, a, b, da, db", [
    (np.hypot, 1e200, 1e200, 0.5 ** 0.5, 0.5 ** 0.5), (np.hypot, 3e-200, -4e-200, 0.6, -0.8), (np.hypot, 1e308, 1e308, 0.5 ** 0.5, 0.5 ** 0.5), (np.hypot, 5e-324, 0.0, 1, 0),
    (np.hypot, np.inf, 1.0, None, None), (np.logaddexp, -np.inf, -np.inf, 0.5, 0.5), (np.logaddexp, np.inf, np.inf, 0.5, 0.5), (np.logaddexp, -np.inf, 5.0, 0, 1),
    (np.logaddexp, 0.0, -40.0, 1, np.exp(-40.0)), (np.logaddexp, np.nan, 1.0, np.nan, None), (np.logaddexp, np.inf, -np.inf, 1, 0), (np.fmax, np.nan, 1.0, 0, 1), (np.fmin, 2.0, np.nan, 1, 0)])
def test_limits_of_two(f, a, b, da, db):
    leaves = [glim.Var.leaf(np.array([x, 1.0])) for x in (a, b)]
    with glim.Tape() as tape:
        y = f(*leaves)
        tape.backward(y.sum())
    np.testing.assert_allclose(y.numpy()[0], f(a, b), rtol=1e-15)
    for leaf, expected in zip(leaves, (da, db)):
        assert expected is None or np.allclose(leaf.grad.numpy()[0], expected, rtol=1e-14, atol=0, equal_nan=True)
