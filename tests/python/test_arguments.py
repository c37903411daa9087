"""What ops take as arguments: no gradient is lost in silence, numbers and integers are NumPy's too."""
import array

import numpy as np
import pytest

import glim

SMALL = {"d_model": 8, "heads": 2, "d_ff": 8}


def leaf(*shape, dtype=np.float64, name=""):
    return glim.Var.leaf(np.random.default_rng(len(shape)).normal(size=shape).astype(dtype), name)


@pytest.mark.parametrize("call", [
    lambda v: glim.rotate_pairs(np.ones((2, 3, 4)), v, np.ones((3, 2))),
    lambda v: glim.rotate_pairs(np.ones((2, 3, 4)), np.ones((3, 2)), v),
    lambda v: glim.Tensor(v), lambda v: glim.Var.leaf(v), lambda v: glim.Param(v), lambda v: glim.Buffer(v),
    lambda v: glim.tensor(v), lambda v: glim.tensor([v, v]), lambda v: glim.tensor([[1.0], v]),
    lambda v: np.asarray(v), lambda v: np.append(v, v), lambda v: np.block([v, v]),
    lambda v: np.array([v, v]), lambda v: np.ones(3) @ np.asarray(v), lambda v: np.from_dlpack(v), lambda v: np.sum([v, v]),
    lambda v: glim.clamp(np.ones(3), v[0, 0], 1), lambda v: glim.full(3, v[0, 0]), lambda v: glim.layer_norm(np.ones((2, 4)), None, None, v[0, 0] * 0.0 + 1.0),
    lambda v: setattr(glim.Linear(2, 3), "weight", v), lambda v: setattr(leaf(3, 2), "grad", v),
    lambda v: glim.Linear(2, 3).load_state_dict({"weight": v, "bias": np.ones(3)}),
    lambda v: glim.AdamW([leaf(2)], weight_decay=v[0, 0])])
def test_a_var_that_needs_a_gradient_is_no_constant(call):
    w = leaf(3, 2, name="w")
    with glim.Tape() as tape:
        for v in (w, w * 2.0):
            with pytest.raises(TypeError, match="gradient|incompatible|takes no Var"):
                call(v)
        with glim.no_grad():  # nothing is recorded, so nothing is lost
            np.asarray(w), np.stack([w * 2.0, w])
    np.asarray(w), glim.Tensor(w)


def test_the_refusal_names_the_argument():
    w = leaf(3, 2)
    with glim.Tape() as tape:
        with pytest.raises(TypeError, match=r"cos needs a gradient.*cos.detach\(\)"):
            glim.rotate_pairs(np.ones((2, 3, 4)), w, np.ones((3, 2)))
        y = (w * w).sum()
        with pytest.raises(TypeError, match="dy needs a gradient"):
            tape.backward(y, w.sum())
        with pytest.raises(TypeError, match="dy needs a gradient"):
            tape.walk(y, w.sum())
        walk = tape.walk(y)
        with pytest.raises(TypeError, match="g needs a gradient"):
            walk.set_gradient(tape.node_of(y), w.sum())
        glim.rotate_pairs(np.ones((2, 3, 4)), w.detach(), np.ones((3, 2)))


def test_forward_of_an_own_op_gives_no_var_with_a_gradient():
    w = leaf(3)

    class Own(glim.Op):
        def forward(self, x):
            return w

        def gradient(self, dy, x):
            return dy

    with glim.Tape(), pytest.raises(TypeError, match="result of forward needs a gradient"):
        Own()(w)


def test_gradients_are_differentiable_in_dy():
    """y = x³: dx = 3x² dy, and so ∂(Σ dx u)/∂dy = 3x² u."""
    x, v = glim.Var.leaf(np.array([1.0, -2.0])), glim.Var.leaf(np.array([0.5, 3.0]))
    for dy in (lambda: v, lambda: v * 1.0):
        with glim.Tape() as tape:
            dx, = tape.grad(x ** 3, [x], dy(), create_graph=True)
            both = tape.grad(dx, [v, x], np.array([1.0, 10.0]))
        assert both[0].numpy().tolist() == [3.0, 120.0] and both[1].numpy().tolist() == [3.0, -360.0]
    with glim.Tape() as tape:  # a product of the Jacobian and a vector, by two backward passes
        y = glim.tanh(x)
        u = glim.Var.leaf(np.zeros(2))
        back, = tape.grad(y, [x], u, create_graph=True)
        forward, = tape.grad(back, [u], np.array([1.0, 2.0]))
    assert np.allclose(forward.numpy(), (1 - np.tanh([1.0, -2.0]) ** 2) * [1, 2])


def test_a_var_of_a_var_is_the_same():
    w = leaf(3)
    with glim.Tape() as tape:
        tape.backward((glim.Var(w) * glim.Var(w * 2.0)).sum())
    assert np.allclose(w.grad.numpy(), 4 * w.numpy())


class Quantity(np.ndarray):
    """An array with a unit."""


@pytest.mark.parametrize("array", [np.ma.masked_array([1.0, 1e20], mask=[0, 1]), np.matrix([[1.0]]), np.ones(2).view(Quantity),
                                   np.rec.array([1.0, 2.0])], ids=lambda a: type(a).__name__)
def test_arrays_with_a_meaning_of_their_own_are_refused(array):
    ints = type(array)
    for call in (glim.Tensor, glim.Var, glim.Var.leaf, glim.sum, glim.tensor, lambda a: glim.tensor([a, a]), lambda a: glim.tensor((1, [a])),
                 lambda a: glim.Var(np.ones(2)) + a, lambda a: glim.Embedding(3, 2)(a), glim.Param,
                 lambda a: glim.gradcheck(lambda x: x, lambda dy, x: dy, a),
                 lambda a: setattr(glim.Var.leaf(np.ones(2)), "grad", a)):
        with pytest.raises(TypeError, match=ints.__name__):
            call(array)
    with pytest.raises(TypeError, match=ints.__name__):
        glim.gradcheck(lambda x: array, lambda dy, x: dy, np.ones(2))


def test_files_of_numpy_are_arrays(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3.0))
    assert glim.sum(np.load(tmp_path / "x.npy", mmap_mode="r")).item() == 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.int8(2), np.uint64(2),
                                    np.prod((2, 1))], ids=lambda n: type(n).__name__)
def test_numbers_of_numpy_are_numbers(number, dtype):
    x = np.array([[1.0, 2.0, 3.0]], dtype)
    v = glim.Var(x)
    for f in (lambda x, n: x + n, lambda x, n: n + x, lambda x, n: x - n, lambda x, n: n - x, lambda x, n: x * n, lambda x, n: n * x,
              lambda x, n: x / n, lambda x, n: n / x, lambda x, n: x ** n):
        assert f(v, number).dtype == dtype.__name__ and np.allclose(f(v, number).numpy(), f(x, 2.0), rtol=1e-6)
    for y, right in ((v.maximum(number), [[2, 2, 3]]), (glim.minimum(v, number), [[1, 2, 2]]), (glim.minimum(number, v), [[1, 2, 2]]),
                     (glim.where(x > 1, v, number), [[2, 2, 3]]), (glim.where(x > 1, number, v), [[1, 2, 2]]),
                     (glim.clamp(v, number, np.float64(9)), [[2, 2, 3]])):
        assert y.dtype == dtype.__name__ and y.numpy().tolist() == right
    assert v[np.int64(0)].shape == (3,) and v[0, np.uint8(1)].item() == 2
    assert glim.sum(v, np.int64(1)).shape == (1,) and glim.ones(np.int32(2)).shape == (2,)


def test_a_number_alone():
    for number, dtype in ((1.0, "float32"), (np.float64(1), "float64"), (np.float32(1), "float32"), (3, "int64"), (np.int8(3), "int64"),
                          (True, "bool")):
        assert glim.Var(number).dtype == dtype and glim.Var(number).shape == ()
    assert glim.maximum(np.array([2 ** 60 + 1]), 2 ** 60).numpy()[0] == 2 ** 60 + 1
    with pytest.raises(glim.DTypeError):
        glim.maximum(np.array([1, 2]), 0.5)


@pytest.mark.parametrize("index", [True, False, np.True_, 1.0, np.float64(1), "0"])
def test_what_is_no_index(index):
    with pytest.raises(TypeError, match="index"):
        glim.Var(np.ones((2, 3)))[index]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4"])
def test_integers_of_any_width(dtype):
    ids, x = np.array([0, 2], dtype), np.arange(12.0).reshape(3, 4)
    assert (glim.index_select(x, 0, ids).numpy() == x[[0, 2]]).all()
    assert (glim.gather(x, 0, ids[None]).numpy() == [[0, 9]]).all()
    assert glim.Embedding(3, 2)(ids).shape == (2, 2)
    assert glim.cross_entropy(x[:2], ids).item() == glim.cross_entropy(x[:2], ids.astype(np.int64)).item()
    assert (glim.index_add((3, 4), 0, ids, x[:2]).numpy()[2] == x[1]).all() and (glim.Var(x)[ids].numpy() == x[[0, 2]]).all()
    assert glim.label_smoothing_loss(x[:2], ids, 0.1, 0)[1]["tokens"] == 1
    glim.Gpt(vocab=9, context=8, layers=1, **SMALL)(ids[None])
    glim.Transformer(src_vocab=9, tgt_vocab=8, encoder_layers=1, decoder_layers=1, **SMALL)(ids[None] + dtype_one(dtype), ids[None])
    assert glim.tensor(ids).dtype == "int64"


@pytest.mark.parametrize("ids", [array.array("i", [0, 2]), array.array("B", [0, 2]), memoryview(array.array("h", [0, 2]))])
def test_integers_of_a_buffer(ids):
    x = np.arange(12.0).reshape(3, 4)
    assert (glim.index_select(x, 0, ids).numpy() == x[[0, 2]]).all()
    assert glim.cross_entropy(x[:2], ids).item() == glim.cross_entropy(x[:2], np.array([0, 2])).item()


def dtype_one(dtype):
    return np.array(1, dtype)


@pytest.mark.parametrize("call", [
    lambda ids: glim.index_select(np.ones(3), 0, ids), lambda ids: glim.Var(np.ones(3))[ids], lambda ids: glim.Var(np.ones((1, 3)))[0, ids],
    lambda ids: glim.Var(np.ones(3))[ids.tolist()], lambda ids: glim.cross_entropy(np.ones((1, 3)), ids),
    lambda ids: glim.tensor(ids), lambda ids: glim.tensor(ids.tolist()),
    lambda ids: glim.gradcheck(lambda x, ids: x, lambda dy, x, ids: (dy, None), np.ones(3), ids)])
def test_integers_beyond_64_bits(call):
    for number in (2 ** 64 - 1, 2 ** 63):
        with pytest.raises(IndexError, match="64 bits"):
            call(np.array([number], np.uint64))


def test_comparisons_are_element_by_element():
    x = np.array([1.0, 2.0, 3.0])
    v, ids = glim.Var.leaf(x), glim.Var(np.array([1, 2, 3]))
    other = np.array([1.0, 3.0, 2.0])
    for f in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b):
        for b in (other, glim.Var(other), glim.Tensor(other), 2.0, 2, np.float64(2), np.int64(2)):
            result = f(v, b)
            right = f(x, np.asarray(b))
            assert result.dtype == "bool" and result.numpy().tolist() == right.tolist()
            assert f(glim.Tensor(x), b).numpy().tolist() == right.tolist()
        assert f(other, v).numpy().tolist() == f(other, x).tolist()
        assert f(2.0, v).numpy().tolist() == f(2.0, x).tolist()
        assert f(ids, 1.5).numpy().tolist() == f(np.array([1, 2, 3]), 1.5).tolist()
    assert (v == None) is False and (v != None) is True  # noqa: E711
    for wrong in ("1", object(), [1.0]):
        with pytest.raises(TypeError):
            v == wrong
    with pytest.raises(glim.DTypeError):
        v == glim.Var(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="in"):
        1.0 in v
    with pytest.raises(glim.ShapeError):
        bool(v == v)
    assert bool(v[0] == 1.0) and not bool(v[0] == 2.0)
    with glim.Tape() as tape:
        tape.backward(glim.where(v > 1.5, v, 0.0).sum())
    assert v.grad.numpy().tolist() == [0, 1, 1]


def test_a_var_is_a_key():
    a, b = glim.Var(np.ones(2)), glim.Var(np.ones(2))
    found = {a: 1, b: 2}
    assert found[a] == 1 and found[b] == 2 and len({a, a, b}) == 2


@pytest.mark.parametrize("call, error, words", [
    (lambda: glim.cross_entropy(np.ones((2, 3)), np.array([0, 9])), IndexError, "cross_entropy: target 9 at position 1"),
    (lambda: glim.label_smoothing_loss(np.ones((2, 3)), np.array([0, -1]), 0.1, 0), IndexError, "target -1 at position 1"),
    (lambda: glim.Embedding(3, 2)(np.array([9])), IndexError, "embedding: id 9"),
    (lambda: glim.gradcheck(lambda x: x, lambda dy, x: dy, np.ones(5000)), ValueError, r'too large: .* mode="projected"'),
    (lambda: glim.SGD(glim.Var.leaf(np.ones(3))), TypeError, r"a Var alone.*\[w\]"),
    (lambda: glim.Adam([glim.Var.leaf(np.ones(3)), 1.0]), TypeError, r"parameters\[1\] is a float"),
    (lambda: glim.Adam([glim.Var(np.ones(3))]), TypeError, r"parameters\[0\] is a Var that is no leaf"),
    (lambda: glim.clip_grad_norm(glim.Var.leaf(np.ones(3)), 1.0), TypeError, "a Var alone"),
    (lambda: glim.Linear(2, 2)("a"), TypeError, "x: expected an array")])
def test_messages(call, error, words):
    with pytest.raises(error, match=words) as raised:
        call()
    assert "::" not in str(raised.value) and "{." not in str(raised.value)


V = glim.Var(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("call", [
    lambda b: glim.sum(V, b), lambda b: V.sum(axis=b), lambda b: glim.mean(V, [b]), lambda b: glim.max(V, b), lambda b: np.sum(V, b),
    lambda b: glim.softmax(V, b), lambda b: glim.stack([V, V], b), lambda b: glim.cumsum(V, b), lambda b: glim.unsqueeze(V, b),
    lambda b: glim.select(V, b, 0), lambda b: glim.narrow(V, 0, 0, b), lambda b: V.permute(b, 0), lambda b: V.reshape(b, 6),
    lambda b: glim.zeros((b, 2)), lambda b: glim.Linear(b, 2), lambda b: glim.LayerNorm(b), lambda b: glim.tril(V, b)])
def test_a_bool_is_no_axis_and_no_extent(call):
    call(1)
    for x in True, np.True_:
        with pytest.raises(TypeError):
            call(x)
    with pytest.raises(TypeError, match="an axis is a bool, expected an int; keepdims=True"):
        glim.sum(V, True)
    assert glim.sum(V, 1, True).shape == (2, 1)


def test_messages_speak_python():
    x = glim.Var.leaf(np.ones(3))
    with glim.Tape() as tape:
        y = (x * x).sum()
        tape.backward(y)
        with pytest.raises(glim.StateError, match="used up.*`retain`"):
            tape.backward(y)

    class Forgot(glim.Module):
        def __init__(self, part):
            if part:
                self.linear = glim.Linear(1, 1)

        def forward(self, x):
            return x

    with pytest.raises(glim.StateError, match=r"Forgot.*super\(\).__init__\(\)"):
        Forgot(True)
    with pytest.raises(glim.StateError, match=r"Forgot.*super\(\).__init__\(\)"):
        Forgot(False)(x)
    with pytest.raises(glim.StateError, match=r"Forgot.*super\(\).__init__\(\)"):
        Forgot(False).weight
