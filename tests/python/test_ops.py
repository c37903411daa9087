"""Ops with NumPy's and torch's names and arguments: indexing by arrays, powers, comparisons, and what is made of ops."""
import glim
import numpy as np
import pytest

X = np.random.default_rng(5).normal(size=(4, 3, 5))
MASK = np.arange(12).reshape(4, 3) % 3 == 0

INDICES = {
    "ids": np.array([2, 0, 0, 3]),
    "a list": [1, -1, 1],
    "an empty list": [],
    "small integers": np.array([1, 1], np.uint8),
    "a grid": np.array([[0, 1], [3, 0]]),
    "a mask": X[:, 0, 0] > 0,
    "a mask of two axes": MASK,
    "a mask of all": X > 0,
    "a mask of nothing": np.zeros(4, bool),
    "two": ([0, 1, 1], [2, 2, 2]),
    "two that broadcast": (np.array([[0], [3]]), np.array([0, 2])),
    "behind a slice": (slice(1, 3), [0, 0, 2]),
    "before a slice": ([3, 0], slice(None), slice(0, 5, 2)),
    "apart": ([3, 0], slice(None), [1, 4]),
    "apart by None": ([3, 0], None, [1, 2]),
    "beside a number": (1, [0, 2]),
    "apart from a number": (1, slice(None), [0, 2]),
    "behind ...": (..., [0, -1, 0]),
    "a mask and ids": (MASK, [0, 1, 1, 4]),
    "new axis first": (None, [1, 1]),
    "one element of NumPy": np.int64(-1),
    "a number": 0, "the second column": (slice(None), 1), "the end": (..., 2), "None and a number": (None, 0),
    "steps": (0, slice(1, None, 2)), "nothing": slice(1, 1), "one element": (-1, -1, -1), "None between": (slice(None), None, 2),
}


@pytest.mark.parametrize("kind", INDICES)
def test_indexing_is_that_of_numpy(kind):
    index = INDICES[kind]
    x = glim.Var.leaf(X.copy())
    with glim.Tape() as tape:
        y = x[index]
        assert y.shape == X[index].shape and (y.numpy() == X[index]).all()
        dy = np.random.default_rng(6).normal(size=y.shape)
        tape.backward(y, dy)
    expected = np.zeros_like(X)
    np.add.at(expected, index, dy)  # what is read twice gets both gradients
    assert np.allclose(x.grad.numpy(), expected, rtol=1e-15, atol=0)


def test_indices_may_be_tensors_and_vars():
    x, ids = glim.Var(X), np.array([1, 1, 3])
    for index in (glim.Tensor(ids), glim.Var(ids)):
        assert (x[index].numpy() == X[ids]).all()
    assert (x[glim.greater(x, 0)].numpy() == X[X > 0]).all()


@pytest.mark.parametrize("index, error", [([4], IndexError), ([0.5], TypeError), (np.ones(3, bool), ValueError),
                                          (([0, 1], [0, 1, 2]), ValueError), (([0], [0], [0], [0]), IndexError), ("a", TypeError)])
def test_wrong_indices_are_refused(index, error):
    with pytest.raises(error) as raised:
        glim.Var(X)[index]
    assert "test_ops.py" in str(raised.value) or "axes" in str(raised.value) or "an index is" in str(raised.value)


def test_each_power_shows_its_own_equations():
    for part in ("dx = p x^(p-1)", "da = dy ⊙ b ⊙ a^(b-1)", "db = dy ⊙ y ⊙ ln a"):
        assert part in glim.pow.__doc__


def gradients(f, *arrays):
    leaves = [glim.Var.leaf(a) for a in arrays]
    with glim.Tape() as tape:
        y = f(*leaves)
        tape.backward(y, np.ones(y.shape))
        return y.numpy(), [leaf.grad.numpy() for leaf in leaves]


def test_powers():
    a, b = np.array([0.5, 2.0, 3.0]), np.array([2.0, -1.0, 0.5])
    y, (da, db) = gradients(lambda a, b: a ** b, a, b)
    assert np.allclose(y, a ** b) and np.allclose(da, b * a ** (b - 1)) and np.allclose(db, y * np.log(a))
    for f in (lambda b: 2 ** b, lambda b: glim.pow(2, b)):
        y, (db,) = gradients(f, b)
        assert np.allclose(y, 2 ** b) and np.allclose(db, y * np.log(2))
    y, (db,) = gradients(lambda b: a ** b, b)  # NumPy on the left
    assert np.allclose(db, a ** b * np.log(a))
    y, (da, db) = gradients(lambda a, b: a ** b, np.zeros(4), np.array([0.0, 1.0, 2.0, 3.0]))
    assert y.tolist() == [1, 0, 0, 0] and da.tolist() == [0, 1, 0, 0] and db.tolist() == [0, 0, 0, 0]
    y, (da,) = gradients(lambda a: a ** np.array([3.0, 2.0, -1.0]), np.array([-2.0, -2.0, -2.0]))
    assert y.tolist() == [-8, 4, -0.5] and da.tolist() == [12, -4, -0.25]


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons(name):
    x, y = glim.Var(np.array([1.0, 2.0, np.nan])), glim.Var(np.array([1.0, 3.0, 0.0]))
    of, expected = getattr(glim, name), getattr(np, name)
    assert (of(x, y).numpy() == expected(x.numpy(), y.numpy())).all()
    assert (of(x, 2).numpy() == expected(x.numpy(), 2)).all()
    assert (getattr(x, name)(y).numpy() == expected(x.numpy(), y.numpy())).all()
    assert of(x, y).dtype == "bool"


def test_logic_and_places():
    x = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])
    v, low, odd = glim.Var(x), glim.less(glim.Var(x), 2), np.array([True, False, True])
    assert (glim.logical_and(low, odd).numpy() == ((x < 2) & odd)).all()
    assert (glim.logical_or(low, odd).numpy() == ((x < 2) | odd)).all()
    assert (glim.logical_not(low).numpy() == (x >= 2)).all()
    for name in ("argmax", "argmin"):
        assert getattr(glim, name)(v).item() == getattr(np, name)(x)
        for axis in (0, 1, -1):
            assert (getattr(glim, name)(v, axis).numpy() == getattr(np, name)(x, axis)).all()
            assert getattr(glim, name)(v, axis=axis, keepdims=True).shape == getattr(np, name)(x, axis, keepdims=True).shape
    assert (glim.where(glim.greater(v, 1), v, 0 * v).numpy() == np.where(x > 1, x, 0)).all()


def test_cumulative():
    x = np.array([[3.0, 1.0, 0.0, 2.0], [0.0, 5.0, 5.0, -1.0]])
    v = glim.Var(x)
    assert (glim.cumprod(v, 1).numpy() == np.cumprod(x, 1)).all()
    assert (glim.cummax(v, 1)[0].numpy() == np.maximum.accumulate(x, 1)).all()
    assert (glim.cummin(v, axis=0)[0].numpy() == np.minimum.accumulate(x, 0)).all()
    assert np.allclose(glim.logcumsumexp(v, 1).numpy(), np.logaddexp.accumulate(x, 1), rtol=1e-15)
    y, (dx,) = gradients(lambda x: glim.cumprod(x, 1), x)
    assert dx.tolist() == [[2, 3, 9, 0], [1 + 5 + 25 - 25, 0, 0, 0]]


def test_pad():
    assert (glim.pad(glim.Var(X), [(1, 0), (0, 2), (0, 0)], 7).numpy()
            == np.pad(X, [(1, 0), (0, 2), (0, 0)], constant_values=7)).all()
    y, (dx,) = gradients(lambda x: glim.pad(x, [(1, 2)], value=np.inf) * 3, np.ones(2))
    assert y.tolist() == [np.inf, 3, 3, np.inf, np.inf] and dx.tolist() == [3, 3]
    assert glim.pad(glim.Var(np.arange(4.0)), [(-1, 1)]).numpy().tolist() == [1, 2, 3, 0]


def test_activations():
    x = np.array([-800.0, -1.0, 0.0, 1.0, 800.0])
    assert np.allclose(glim.softplus(glim.Var(x)).numpy(), np.logaddexp(0, x), rtol=1e-15)
    assert np.allclose(glim.softplus(glim.Var(x), beta=2).numpy(), np.logaddexp(0, 2 * x) / 2, rtol=1e-15)
    assert np.allclose(glim.elu(glim.Var(x), alpha=2).numpy(), np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0))), rtol=1e-15)
    assert (glim.leaky_relu(glim.Var(x), 0.25).numpy() == np.where(x > 0, x, 0.25 * x)).all()
    assert gradients(glim.elu, x)[1][0].tolist() == [0, np.exp(-1.0), 1, 1, 1]
    assert gradients(glim.leaky_relu, x)[1][0].tolist() == [0.01, 0.01, 0.01, 1, 1]


def test_norms_of_several_axes():
    x, g, b = X[:2], np.linspace(0.5, 2, 15).reshape(3, 5), np.linspace(-1, 1, 15).reshape(3, 5)
    expected = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    assert np.allclose(glim.layer_norm(glim.Var(x), (3, 5), g, b).numpy(), expected * g + b)
    assert np.allclose(glim.layer_norm(glim.Var(x), [3, 5]).numpy(), expected)
    assert np.allclose(glim.layer_norm(glim.Var(x), 5).numpy(), glim.layer_norm(glim.Var(x), None, None).numpy())
    with glim.Tape() as tape:
        glim.layer_norm(glim.Var.leaf(x), glim.Var.leaf(g[0]), glim.Var.leaf(b[0]))
        assert len(tape) == 4  # three leaves and the op: gamma was not read as a shape
    assert glim.LayerNorm(np.int64(5)).weight.shape == (5,)
    norm = glim.LayerNorm((3, 5))
    assert [p.shape for p in norm.parameters()] == [(3, 5), (3, 5)]
    assert np.allclose(norm(x.astype("f4")).numpy(), expected, atol=1e-5)
    rms = x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 1e-5)
    assert np.allclose(glim.RMSNorm((3, 5), eps=1e-5, affine=False)(x).numpy(), rms)
    assert np.allclose(glim.rms_norm(glim.Var(x), (3, 5), g, 1e-5).numpy(), rms * g)


def test_nan_is_not_hidden():
    x = np.array([np.nan, -1.0, 1.0])
    assert gradients(glim.relu, x)[1][0].tolist() == [1, 0, 1]
    assert gradients(lambda x: x.maximum(np.zeros(3)), x)[1][0].tolist() == [1, 0, 1]
