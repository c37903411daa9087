"""Functions and objects that C++ keeps for a while are freed when nothing else holds them, in cycles, too."""
import gc
import weakref

import numpy as np
import pytest

import glim

X = np.random.default_rng(0).normal(size=(6, 3))


class Mark:
    """Held by a function alone."""


class Square(glim.Op):
    def forward(self, x):
        return x * x

    def gradient(self, dy, x):
        return 2 * dy * x


def network():
    model = glim.Sequential(glim.Linear(3, 1))
    model.to("float64")
    return model


def holding(mark, f):
    return lambda *args: (mark, f(*args))[1]


def losses(model, examples):
    return glim.squeeze(model(X[examples]), 1) ** 2


def traced(losses=losses, model=None, **options):
    model = model or network()
    return glim.trace(model, losses, range(6), [[0, 1], [2]], glim.SGD(model, lr=0.1), **options)


def losses_of_a_trace(mark):
    traced(holding(mark, losses))


def losses_that_reach_their_trace(mark):
    found = []
    found.append(traced(lambda model, examples: (mark, found, losses(model, examples))[2]))


def a_model_that_keeps_its_trace(mark):
    model = network()
    model.__dict__["trained"], model.__dict__["mark"] = traced(model=model), mark


def an_optimizer_that_keeps_its_trace(mark):
    class Own(glim.SGD):
        pass
    model = network()
    optimizer = Own(model)
    optimizer.trained, optimizer.mark = glim.trace(model, losses, range(6), [[0]], optimizer), mark


def data_of_a_trace(mark):
    model = network()
    glim.trace(model, lambda m, rows: losses(m, [0] * len(rows)), [mark] * 6, [[0, 1]], glim.SGD(model))


def the_rate_of_a_trace(mark):
    traced(rate=holding(mark, lambda t: 0.1))


def queries(mark):
    queries.trained = traced()  # which stays
    query = holding(mark, lambda: glim.sum(X.sum() * next(iter(queries.model.parameters()))))
    queries.model = network()
    queries.trained = traced(model=queries.model)
    for call in (queries.trained.influence, queries.trained.trust, lambda q: queries.trained.remove([0], q),
                 lambda q: queries.trained.agreement(q, 0.2, 2)):
        call(query)


def hooks(mark):
    w = glim.Var.leaf(X)
    with glim.Tape() as tape:
        y = w * w
        tape.hook("*", lambda g: (mark, tape, y, None)[-1])
        tape.hook(y, lambda g: (mark, tape, y, None)[-1])
        tape.backward(y.sum())
    hooks.leaf, hooks.value = w, y  # which stay


def a_hook_that_raises(mark):
    w = glim.Var.leaf(X)
    with pytest.raises(ZeroDivisionError), glim.Tape() as tape:
        tape.hook("*", lambda g: (mark, 1 / 0))
        tape.backward((w * w).sum())


def a_walk(mark):
    with glim.Tape() as tape:
        w = glim.Var.leaf(X)
        walk = tape.walk((w * w).sum())
        tape.hook("*", lambda g: (mark, walk, None)[-1])
        list(walk)


def ops(mark):
    op, w = Square(), glim.Var.leaf(X)
    with glim.Tape() as tape:
        op.mark, op.tape, op.result = mark, tape, op(w)
        tape.backward(op.result.sum(), create_graph=True)
    ops.result = op.result


def functions_that_are_recomputed(mark):
    w = glim.Var.leaf(X)
    with glim.Tape() as tape:
        y = glim.recomputed(holding(mark, lambda: w * w))
        tape.backward(y.sum())
    functions_that_are_recomputed.y = y


def checked_functions(mark):
    square = holding(mark, lambda x: x * x)
    assert glim.gradcheck(square, holding(mark, lambda dy, x: 2 * dy * x), X)
    assert glim.gradcheck(holding(mark, glim.exp), X)
    op = Square()
    op.mark = mark
    assert glim.gradcheck(op, X)
    with pytest.raises(KeyError):
        glim.gradcheck(square, lambda dy, x: {mark: 0}[0], X)


def checked_functions_of_torch(mark):
    torch = pytest.importorskip("torch")

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, extra):
            ctx.save_for_backward(x)
            ctx.extra = extra
            return x * x

        @staticmethod
        def backward(ctx, dy):
            return 2 * dy * ctx.saved_tensors[0], None
    assert glim.gradcheck(Own, torch.tensor(X), mark)
    assert glim.gradcheck(holding(mark, torch.exp), torch.tensor(X))


def checked_functions_of_jax(mark):
    jax = pytest.importorskip("jax")
    assert glim.gradcheck(holding(mark, jax.numpy.exp), X)


def checked_functions_of_autograd(mark):
    numpy = pytest.importorskip("autograd.numpy")
    assert glim.gradcheck(holding(mark, numpy.exp), X)


def derived_functions(mark):
    derived_functions.found = glim.derive(holding(mark, np.exp), X)


def measurements_of_studies(mark):
    if hasattr(glim._glim, "run_study"):
        glim.study("a claim", holding(mark, lambda seed: {"a": 1.0}), {"a": ("a", 0, 2, "a reason")}, seeds=1)


def modules_in_a_cycle(mark):
    class Own(glim.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.first = glim.Linear(3, 3), glim.Linear(3, 3)
    model = Own()
    model.optimizer, model.mark, model.self = glim.Adam(model), mark, None
    model.__dict__["self"] = model
    assert model.children()


def a_child_that_its_parent_keeps(mark):
    model = glim.TransformerEncoderLayer(8, 2)
    model.attention, model.mark = model.self_attn, mark
    assert model.attention.named_parameters()


MAKERS = [losses_of_a_trace, losses_that_reach_their_trace, a_model_that_keeps_its_trace, an_optimizer_that_keeps_its_trace,
          data_of_a_trace, the_rate_of_a_trace, queries, hooks, a_hook_that_raises, a_walk, ops, functions_that_are_recomputed,
          checked_functions, checked_functions_of_torch, checked_functions_of_jax, checked_functions_of_autograd,
          derived_functions, measurements_of_studies, modules_in_a_cycle, a_child_that_its_parent_keeps]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_nothing_is_kept(make):
    mark = Mark()
    reference = weakref.ref(mark)
    make(mark)
    del mark
    gc.collect()
    assert reference() is None


def test_a_child_keeps_its_parent():
    attention = glim.TransformerEncoderLayer(8, 2).self_attn
    gc.collect()
    assert all(np.isfinite(p.numpy()).all() for p in attention.parameters())
