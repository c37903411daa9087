"""Memory that Glim and others see: who writes to it changes no gradient in silence."""
import ctypes

import numpy as np
import pytest

import glim


def array(*values):
    return np.array(values)


class ClipsInPlace(glim.Op):
    """The gradient of 2 x, which clips the gradient that it is given, in place."""

    def forward(self, x):
        return x * 2

    def gradient(self, dy, x):
        g = dy.numpy()
        np.clip(g, -0.1, 0.1, out=g)
        return dy * 2.0


@pytest.mark.parametrize("own_first", [True, False])
def test_a_gradient_handed_to_an_op_is_read_only(own_first):
    w = glim.Var.leaf(array(1.0))
    with glim.Tape() as tape:
        parts = [ClipsInPlace()(w), w * 3.0] if own_first else [w * 3.0, ClipsInPlace()(w)]
        y = (parts[0] + parts[1]) * 10.0
        with pytest.raises(ValueError, match=r"read-only.*copy\(\)"):
            tape.backward(y.sum())


@pytest.mark.parametrize("write", [lambda g: g.numpy().fill(0), lambda g: g.value.numpy().fill(0), lambda g: np.asarray(g).fill(0),
                                   lambda g: g.detach().numpy().fill(0), lambda g: g.T.numpy().fill(0)])
def test_a_gradient_handed_to_a_hook_is_read_only(write):
    w, kept = glim.Var.leaf(np.ones((2, 2))), []
    with glim.Tape() as tape:
        y = w * 2.0
        z = y + y * 3.0
        tape.hook(y, kept.append)
        tape.hook(z, kept.append)
        tape.backward(z.sum(), retain=True)
        hook = tape.hook(z, write)
        with pytest.raises(ValueError, match="read-only"):
            tape.backward(z.sum())
    for g in kept:  # afterwards too: two gradients may be one array
        with pytest.raises(ValueError, match="read-only"):
            g.numpy()[:] = 0
    assert (w.grad.numpy() == 8).all()


def test_inputs_handed_to_a_gradient_are_read_only():
    class Spoils(glim.Op):
        def forward(self, x, c):
            return x * c

        def gradient(self, dy, x, c):
            self.spoil(x, c)
            return dy * c, dy * x

    own, w, c = Spoils(), glim.Var.leaf(array(1.0, 2.0)), np.full(2, 3.0)
    for own.spoil in (lambda x, c: x.numpy().fill(0), lambda x, c: x.value.numpy().fill(0), lambda x, c: c.numpy().fill(0)):
        with glim.Tape() as tape, pytest.raises(ValueError, match="read-only"):
            tape.backward(own(w, c).sum())
    assert w.numpy().tolist() == [1, 2] and c.tolist() == [3, 3]


def test_gradients_of_walks_watches_and_grad_are_nobody_elses():
    w = glim.Var.leaf(array(1.0, 2.0), "w")
    with glim.Tape() as tape:
        tape.watch("*")
        a, b = w * 2.0, w * 3.0
        y = (a + b).sum()
        for node, dy, flows in tape.walk(y, retain=True):
            for g in [dy] + [flow for _, flow in flows]:
                if g is not None:
                    with pytest.raises(ValueError, match="read-only"):
                        g.numpy()[...] = 0
        w.zero_grad()
        da, db = tape.grad(y, [a, b], retain=True)
        tape.backward(y)
        seen = [value.numpy() for value, _ in tape.watched.values()] + [g.numpy() for _, g in tape.watched.values()]
    for x in seen + [da.numpy(), db.numpy()]:
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
    assert w.grad.numpy().tolist() == [5, 5]


def test_a_gradient_that_an_op_keeps_is_not_added_to():
    """The op gives the same array each time. What is added up must not end in it."""
    class Fixed(glim.Op):
        held = np.ones(2)

        def forward(self, x):
            return x * 1

        def gradient(self, dy, x):
            return self.held

    for held in (np.ones(2), np.broadcast_to(1.0, 2), glim.Tensor(np.ones(2)).numpy()):
        Fixed.held, w = held, glim.Var.leaf(np.zeros(2))
        for _ in range(2):
            with glim.Tape() as tape:
                tape.backward((w + Fixed()(w) + Fixed()(w)).sum())  # the op's part comes first
        assert np.asarray(held).tolist() == [1, 1] and w.grad.numpy().tolist() == [6, 6]


@pytest.mark.parametrize("f", [
    lambda z, w: z * z, lambda z, w: glim.tanh(z), lambda z, w: z @ w, lambda z, w: glim.softmax(z), lambda z, w: z / (z + 1.0),
    lambda z, w: glim.layer_norm(z, None, None), lambda z, w: glim.recomputed(lambda: z * z)])
def test_values_on_a_tape_are_read_only(f):
    w = glim.Var.leaf(np.eye(2))
    with glim.Tape() as tape:
        z = w * 2.0
        y = f(z, w)
        for v in (z, y, w, z.detach(), z.T, z.value, y.value, w.value):
            with pytest.raises(ValueError, match="read-only"):
                v.numpy()[:] = 0
            np.from_dlpack(v.value if hasattr(v, "value") else v)[:] = 0  # a copy
        tape.backward(y.sum())
    w.numpy()[:] = 3  # without a tape the memory is everybody's
    assert w.numpy().tolist() == [[3, 3], [3, 3]]


def written_before_backward(make, write, f):
    """f of memory that make() gives, written to between forward and backward."""
    leaf, memory = make()
    with glim.Tape() as tape:
        y = f(leaf)
        write(memory)
        tape.backward(y.sum())


SQUARES = [lambda w: w * w, lambda w: glim.recomputed(lambda: w * w), lambda w: w[::1].T @ w, lambda w: glim.softmax(w * w)]


@pytest.mark.parametrize("f", SQUARES)
def test_writes_to_the_memory_of_a_leaf_are_noticed(f):
    def over_array():
        memory = np.eye(3)
        return glim.Var.leaf(memory), memory

    def over_view():
        memory = np.eye(6)
        return glim.Var.leaf(memory[::2, ::-2]), memory

    def over_bytes():
        memory = (ctypes.c_double * 9)(*range(9))
        return glim.Var.leaf(np.ctypeslib.as_array(memory).reshape(3, 3)), np.ctypeslib.as_array(memory)

    def lent():
        leaf = glim.Linear(3, 3).weight
        return leaf, leaf.numpy()

    def lent_by_dlpack():
        leaf = glim.Linear(3, 3).weight
        return leaf, np.from_dlpack(leaf.value)

    for make in (over_array, over_view, over_bytes, lent, lent_by_dlpack):
        with pytest.raises(glim.StateError, match="changed since through an array"):
            written_before_backward(make, lambda memory: memory.fill(7), f)
        written_before_backward(make, lambda memory: memory.sum(), f)


def test_writes_to_a_constant_are_noticed():
    w, x = glim.Var.leaf(np.ones((2, 2))), np.eye(2)
    for f in (lambda: w * x, lambda: w @ x, lambda: glim.recomputed(lambda: w * x), lambda: w * glim.Var(x)[:1], lambda: w * glim.Tensor(x)):
        with glim.Tape() as tape, pytest.raises(glim.StateError, match="changed since"):
            y = f()
            x += 1
            tape.backward(y.sum())


def test_masks_ids_and_targets_are_copies():
    """No rule reads them as values; they are copied when the op is called."""
    w, keep, ids = glim.Var.leaf(np.arange(6.0).reshape(2, 3)), np.array([[True, False, True]]), np.array([[0, 1], [2, 2]])
    calls = {
        "where": (lambda: glim.where(keep, w, 0.0), lambda: keep.fill(False)),
        "masked_softmax": (lambda: glim.masked_softmax(w * w, keep), lambda: keep.fill(False)),
        "gather": (lambda: glim.gather(w, 1, ids), lambda: ids.fill(0)),
        "index_select": (lambda: glim.index_select(w, 1, ids), lambda: ids.fill(0)),
        "cross_entropy": (lambda: glim.cross_entropy(w, ids[0]), lambda: ids.fill(0)),
        "rotate_pairs": (lambda: glim.rotate_pairs(w[:, :2], cos, cos * 0.5), lambda: cos.fill(0)),
        "attention": (lambda: glim.scaled_dot_product_attention(w, w, w, mask)[0], lambda: square.fill(False)),
    }
    for name, (f, write) in calls.items():
        keep[:], ids[:], cos, square = [[True, False, True]], [[0, 1], [2, 2]], np.full((2, 1), 0.5), np.eye(2, dtype=bool)
        mask, found = glim.AttentionMask(square), []
        for writes in (False, True):
            w.zero_grad()
            with glim.Tape() as tape:
                y = f()
                if writes:
                    write()
                tape.backward((y * y).sum())
            found.append(w.grad.numpy().copy())
        assert (found[0] == found[1]).all(), name


def test_a_gradient_that_is_set():
    w = glim.Var.leaf(np.ones((2, 3), np.float32))
    for wrong in (np.ones((3, 2), np.float32), np.ones((2, 3)), np.ones((2, 3), np.int64), 1.0, np.ones(6, np.float32)):
        with pytest.raises(glim.ShapeError, match="shape and dtype of its leaf"):
            w.grad = wrong
    given = np.ones((2, 3), np.float32)
    w.grad = given
    with glim.Tape() as tape:
        tape.backward(w.sum())
    assert (w.grad.numpy() == 2).all() and (given == 1).all()
    w.grad.numpy()[:] *= 0.5
    assert (w.grad.numpy() == 1).all()
    w.grad = None
    assert w.grad is None


def test_dlpack_keeps_read_only_memory_read_only():
    x = np.arange(3.0)
    x.flags.writeable = False
    tensor = glim.Tensor(x)
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__(copy=False)
    for copied in (glim.Tensor(tensor.__dlpack__()).numpy(), np.from_dlpack(tensor)):
        assert copied.tolist() == [0, 1, 2]
        assert copied.__array_interface__["data"][0] != x.__array_interface__["data"][0]
    plain = np.arange(3.0)
    assert not glim.Tensor(plain.__dlpack__()).numpy().flags.writeable
    with glim.Tape():
        x = glim.Tensor(np.ones(2))
        np.from_dlpack(x)[:] = 0
        assert x.numpy().tolist() == [1, 1]
    np.from_dlpack(x)[:] = 0
    assert x.numpy().tolist() == [0, 0]


def test_training_reads_what_numpy_wrote_before():
    layer = glim.Linear(2, 1)
    view = layer.weight.numpy()
    for step in range(3):
        view[:] = step + 1
        with glim.Tape() as tape:
            y = layer(np.ones((1, 2), np.float32)).sum()
            tape.backward(y)
        glim.SGD(layer, lr=0.1).step()
    assert np.allclose(view, 3 - 0.1 * 3)
