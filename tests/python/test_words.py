"""What a user of NumPy or torch types in the first hour: it works, or one line says what to type. No gradient is lost in silence."""
import copy
import pickle

import numpy as np
import pytest

import glim

DTYPES = [np.float32, np.float64]


def leaf(*shape, dtype=np.float64, name="w"):
    return glim.Var.leaf(np.random.default_rng(len(shape)).uniform(0.5, 2, size=shape).astype(dtype), name)


class Net(glim.Module):
    def __init__(self):
        super().__init__()
        self.linear = glim.Linear(3, 4)
        self.scale = glim.Param(np.ones(4, np.float32))

    def forward(self, x):
        return glim.silu(self.linear(x)) * self.scale + np.ones(4)


# ---- float32, float64 and integers ----


@pytest.mark.parametrize("make", [
    lambda: glim.Linear(3, 4), lambda: glim.LayerNorm(3), Net, lambda: glim.Sequential(glim.Linear(3, 2), glim.Tanh()),
    lambda: glim.Recurrent("gru", 3, 2), lambda: glim.TransformerEncoderLayer(3, 1, 4, dropout=0),
    lambda: (lambda a: lambda x: a(x, x, x))(glim.MultiheadAttention(3, 1))])
def test_layers_take_arrays_of_any_dtype(make):
    layer, x = make(), np.random.default_rng(0).integers(0, 3, size=(2, 5, 3))
    first = [layer(x.astype(dtype)) for dtype in (np.float32, np.float64)]
    if make is not Net:
        first += [layer(glim.Tensor(x.astype(float))), layer(x), layer(x.astype(np.uint8))]
    for y in first:
        y, same = (each[0] if isinstance(each, tuple) else each for each in (y, first[0]))
        assert y.dtype == "float32" and np.array_equal(y.numpy(), same.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_beside_a_var_get_its_dtype(dtype):
    w, name = leaf(2, 3, dtype=dtype), np.dtype(dtype).name
    for x in (np.ones((2, 3)), np.ones((2, 3), np.float32), np.arange(6).reshape(2, 3), np.ones((2, 3), np.int8), np.ones((2, 3), bool),
              np.array(2.0), glim.ones((2, 3)), glim.ones((2, 3), float)):
        for f in (lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a * b, lambda a, b: a / (b + 1), lambda a, b: b * a,
                  np.maximum, np.multiply):
            w.zero_grad()
            with glim.Tape() as tape:
                y = f(w, x)
                tape.backward(y.sum())
            assert y.dtype == name and np.allclose(y.numpy(), f(w.numpy(), np.asarray(x)), rtol=1e-6) and w.grad is not None
    assert glim.concatenate([w, np.ones((1, 3)), np.ones((1, 3), np.float32)], 0).dtype == name
    assert glim.mse_loss(w, np.ones((2, 3))).dtype == name and (np.ones((4, 2)) @ w).dtype == name
    with glim.Tape() as tape:
        tape.hook("scale", lambda g: np.ones((2, 3)))
        y = w * 2.0
        tape.backward(y, np.ones((2, 3)))


def test_help_is_a_functions_own_text():
    assert "inputs: a dict or tuple of arguments" in glim.diagnose.__doc__


def test_two_vars_of_different_dtypes_name_the_remedy():
    for call in (lambda: glim.Linear(3, 4)(leaf(2, 3)), lambda: leaf(3) + leaf(3, dtype=np.float32)):
        with pytest.raises(glim.DTypeError, match=r'array.astype\("float32"\), or call layer.to\("float64"\)'):
            call()


def test_dtypes_of_numpy():
    layer = glim.Linear(3, 4)
    assert layer.to(np.float64) is layer and layer.weight.dtype == "float64" and layer.to(np.dtype("f4")).weight.dtype == "float32"
    assert layer.eval() is layer and not layer.training and layer.train().training
    assert glim.zeros((2, 3), float).dtype == glim.normal(2, dtype=np.float64).dtype == "float64"
    with pytest.raises(glim.DTypeError, match='dtype is "cpu"; it is "float32"'):
        layer.to("cpu")


@pytest.mark.parametrize("array", [np.arange(3), np.ones(3, bool)])
def test_a_leaf_of_integers_gets_no_gradient(array):
    with pytest.raises(glim.DTypeError, match="gets no gradient.*astype"):
        glim.Var.leaf(array)


# ---- NumPy ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [
    abs, lambda x: np.float64(2) * x, lambda x: x.sum(axis=0), lambda x: x.sum(axis=None), lambda x: x.mean(-1, keepdims=True),
    lambda x: x.max(axis=1), lambda x: x.reshape(3, 2), lambda x: x.reshape(-1), lambda x: x.reshape((3, 2)), lambda x: x.T,
    lambda x: x[None], lambda x: [row for row in x][1]])
def test_operators_and_methods_of_arrays(f, dtype):
    w = leaf(2, 3, dtype=dtype)
    with glim.Tape() as tape:
        y = f(w)
        tape.backward(y.sum())
    assert y.dtype == np.dtype(dtype).name and np.allclose(y.numpy(), f(w.numpy()), rtol=1e-6) and w.grad is not None


@pytest.mark.parametrize("call, words", [
    (lambda w: np.cbrt(w), "takes no Var"), (lambda w: np.arctan(w), "takes no Var"), (lambda w: np.add.accumulate(w), "takes no Var"),
    (lambda w: np.add(np.ones((2, 3)), w, out=np.ones((2, 3))), "a = a . v"), (lambda w: np.linalg.inv(w), "np.linalg.inv takes no Var"),
    (lambda w: np.convolve(w, w), "takes no Var"), (lambda w: np.copyto(np.ones((2, 3)), w), "takes no Var"), (lambda w: w.sum(dim=0), "called 'axis'"),
    (lambda w: w.softmax(dim=0), "called 'axis'"), (lambda w: w.sum(0, keepdim=True), "called 'keepdims'"),
    (lambda w: w.sum(start=1), r"help\(glim.sum\)"), (lambda w: w.transpose((1, 0)), "permute"), (lambda w: w.__setitem__(0, 1.0), "glim.where"),
    (lambda w: w.__iadd__(1.0), "w = w . x"), (lambda w: pickle.dumps(w * 2.0), "detach")])
def test_what_would_lose_a_gradient_is_refused(call, words):
    w = leaf(2, 3)
    with glim.Tape():
        with pytest.raises(TypeError, match=words):
            call(w)


def test_arrays_from_vars_outside_a_tape():
    w = leaf(2, 3)
    assert np.dot(np.ones((4, 2)), w).shape == (4, 3) and np.array(w, np.float32).dtype == np.float32
    assert f"{w[0, 0]:.3f}" == f"{w.numpy()[0, 0]:.3f}" and f"{w}" == str(w) and int(glim.Var(2.5)) == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_leaf_is_updated_in_place(dtype):
    w = leaf(3, dtype=dtype)
    same, before = w, w.numpy().copy()
    with glim.Tape() as tape:
        h = w
        with pytest.raises(TypeError, match="while a tape is open"):
            h += 1.0
        y = w * 2.0
        y += 1.0  # no leaf: a new value
        tape.backward((y * w).sum())
    w -= 0.1 * w.grad
    assert w is same and w.is_leaf and w.dtype == np.dtype(dtype).name and np.allclose(w.numpy(), before - 0.1 * (4 * before + 1), rtol=1e-6)
    with pytest.raises(ValueError, match="broadcast"):
        w += np.ones((2, 3))
    layer = glim.Linear(3, 2)
    layer.bias -= np.full(2, 0.5)
    assert layer.bias.is_leaf and [p.name for p in layer.parameters()] == ["weight", "bias"]


def test_a_tensor_computes_as_its_array():
    t, x = glim.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    for f in (lambda t: 0.1 * t, lambda t: t - 1, lambda t: -t, lambda t: t / t, lambda t: t @ t, lambda t: t ** 2, lambda t: t[1, 0],
              lambda t: abs(t), lambda t: t + x, lambda t: x + t, lambda t: (t > 1) & ~(t > 3), lambda t: len(t), lambda t: float(t[0, 1]), list):
        assert np.array_equal(np.asarray(f(t)), np.asarray(f(x)))
    w = leaf(2, 2)
    with glim.Tape() as tape:
        y = t * w + w * t
        tape.backward(y.sum())
    assert np.allclose(w.grad.numpy(), 2 * x)
    with pytest.raises(AttributeError, match=r"t.numpy\(\) has NumPy's methods"):
        t.sum()


# ---- torch ----


@pytest.mark.parametrize("of, name, words", [
    (lambda: leaf(1), "backward", r"tape.backward\(loss\)"), (lambda: leaf(1), "view", "reshape"), (lambda: leaf(1), "requires_grad_", "Var.leaf"),
    (lambda: leaf(1), "sofmax", "nearest: softmax"), (lambda: glim.Linear(1, 1), "double", "float64"), (lambda: glim.Linear(1, 1), "wieght", "Linear"),
    (lambda: glim.SGD([leaf(1)]), "param_groups", "optimizer.rate"), (lambda: glim.Tape(), "gradient", "tape.grad"),
    (lambda: glim, "nn", "glim.Linear"), (lambda: glim, "cat", "concatenate"), (lambda: glim, "sofmax", "nearest: .*softmax"),
    (lambda: glim, "manual_seed", "glim.seed"), (lambda: glim.ones(1), "grad", "Var.leaf")])
def test_names_of_torch(of, name, words):
    with pytest.raises(AttributeError, match=words) as raised:
        getattr(of(), name)
    assert "\n" not in str(raised.value)
    assert not hasattr(of(), "__array_interface__") and getattr(of(), "nothing_such", 3) == 3


def test_copies():
    net, w = Net(), leaf(2, 3)
    state = copy.deepcopy(net.state_dict())
    net.scale = np.zeros(4)
    assert state["scale"].numpy().tolist() == [1, 1, 1, 1] and pickle.loads(pickle.dumps(state))["scale"].dtype == "float32"
    net.load_state_dict(state)
    other = copy.deepcopy(w)
    w -= 1.0
    assert other.is_leaf and other.name == "w" and np.allclose(other.numpy(), w.numpy() + 1) and pickle.loads(pickle.dumps(other)).name == "w"
    for x in (net, glim.Adam(net)):
        with pytest.raises(TypeError, match=r"copy.deepcopy\(x.state_dict\(\)\)"):
            copy.deepcopy(x)


def test_a_gradient_that_is_not_kept():
    w = leaf(3)
    with glim.Tape() as tape:
        y = w * 2.0
        tape.backward(y.sum())
        with pytest.raises(glim.StateError, match=r"tape.watch\(v\).*tape.grad_of\(v\)"):
            y.grad
    with pytest.raises(glim.StateError, match=r"Var.leaf"):
        glim.Var(np.ones(3)).grad


def test_a_gradient_of_numpy_is_not_differentiated_again():
    class Square(glim.Op):
        def forward(self, x):
            return x * x

        def gradient(self, dy, x):
            return 2 * dy.numpy() * x.numpy()

    w = leaf(3)
    with glim.Tape() as tape:
        tape.backward(Square()(w).sum())
        with pytest.raises(TypeError, match="Square: gradient returned an array.*create_graph"):
            tape.grad(Square()(w).sum(), [w], create_graph=True)
    assert np.allclose(w.grad.numpy(), 2 * w.numpy())


def test_patterns_that_match_nothing():
    w = leaf(3)
    for ask in (lambda tape: tape.watch("tanhz"), lambda tape: tape.hook("net.tanhz", lambda g: g)):
        with glim.Tape() as tape:
            ask(tape)
            y = glim.tanh(w).sum()
            for back in (lambda: tape.backward(y), lambda: tape.grad(y, [w]), lambda: tape.walk(y)):
                with pytest.raises(glim.ValueError, match="no node matches '.*tanhz' .nearest: tanh"):
                    back()
    with glim.Tape() as tape:
        tape.remove_hook(tape.hook("tanhz", lambda g: g))
        tape.watch("*anh")
        tape.backward(glim.tanh(w).sum())


def test_modules_in_a_list_are_refused():
    class Lost(glim.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers

        def forward(self, x):
            return x

    late = Lost([])
    late.layers.append(glim.Linear(1, 1))
    for lost in (Lost([glim.Linear(1, 1)]), Lost((3, glim.Linear(1, 1))), Lost({"a": glim.Linear(1, 1)}), late):
        with pytest.raises(TypeError, match="Lost.layers is a .*glim.ModuleList"):
            lost(1.0)
    for layers in ([1, 2], glim.ModuleList([glim.Linear(1, 1)])):
        assert Lost(layers)(1.0) == 1.0
    shown = Lost(glim.ModuleList([glim.Linear(1, 1)]))
    shown.same = [shown.layers[0]]
    assert shown(1.0) == 1.0 and len(shown.parameters()) == 2
    with pytest.raises(TypeError, match=r"Sequential\(\*layers\)"):
        glim.Sequential([glim.Linear(1, 1)])
