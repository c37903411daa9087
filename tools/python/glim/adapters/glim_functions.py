"""Glim itself: an Op, a Module with its parameters, or a function of Vars."""

from __future__ import annotations

import contextlib

import numpy as np

from .. import _glim
from ..modules import Op
from . import Adapted, argument_names, leaf_names, leaves, name_of, no_floating_input, wanted_dtype, with_leaves


def adapt(function, args):
    module = function if isinstance(function, _glim.Module) else None
    call = function.forward if isinstance(function, Op) or hasattr(function, "forward") else function
    args = list(with_leaves(list(args), map(_array, leaves(list(args)))))
    given = list(leaves(args))
    labels = [n for name, x in zip(argument_names(call, len(args)), args) for n in leaf_names(name, x)]
    where = [i for i, x in enumerate(given) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    weights = [(name, p) for name, p in module.named_parameters() if p.requires_grad] if module else []
    if not where and not weights:
        raise no_floating_input(function)
    dtype = wanted_dtype(args)
    inputs = [np.array(x, dtype=dtype) for x in (*(given[i] for i in where), *(p.numpy() for _, p in weights))]

    def with_inputs(values):
        now = list(given)
        for i, x in zip(where, values):
            now[i] = x
        return with_leaves(args, iter(now))

    if isinstance(function, Op):
        def f(*arrays):
            return function.forward(*with_inputs(arrays))

        def backward(dy, *arrays, others=None):
            if others is not None:
                f(*others)
            gradients = function.numpy_gradient(dy, *with_inputs(arrays))
            return tuple(gradients[i] for i in where) if len(gradients) == len(given) else gradients

        return Adapted(f, backward, tuple(inputs), tuple(labels[i] for i in where), ())

    @contextlib.contextmanager
    def prepared(arrays):
        """Leaves for the inputs; the module has the others as its parameters, and meanwhile their dtype."""
        to = arrays[0].dtype.name
        key = _glim.next_key()
        _glim._set_key(start)
        state = {name: x.clone() for name, x in module.state_dict().items()} if module else {}
        held = [(p, p.dtype, p.grad) for p in module.parameters()] if module else []
        try:
            if held:
                module.to(to)
                module.load_state_dict({name: x for (name, _), x in zip(weights, arrays[len(where):])}, strict=False)
            yield [_glim.Var.leaf(x) for x in arrays[:len(where)]] + [p for _, p in weights]
        finally:
            prepared.draws = _glim.next_key() != start
            _glim._set_key(key)
            if held:
                module.to(held[0][1])
                module.load_state_dict(state)
            for p, _, grad in held:
                p.grad = grad

    def run(variables):
        outputs = [y for y in leaves(function(*with_inputs(variables))) if isinstance(y, (_glim.Var, _glim.Tensor))]
        outputs = [_glim.Var(y) for y in outputs if y.dtype in ("float32", "float64")]
        if not outputs:
            raise TypeError(f"gradcheck: {name_of(function)} returns no Var of a floating dtype")
        return outputs

    def f(*arrays):
        with prepared(arrays) as variables, _glim.no_grad():
            return tuple(y.numpy().copy() for y in run(variables))

    def backward(dy, *arrays, others=None):
        with prepared(arrays) as variables:
            with _glim.Tape() as tape:
                outputs = run(variables)
                if others is not None:
                    run([_glim.Var.leaf(x) for x in others[:len(where)]])
                terms = [(y * _glim.Var(d)).sum() for y, d in zip(outputs, dy if isinstance(dy, tuple) else (dy,))
                         if y.requires_grad]
                if terms:
                    tape.backward(sum(terms[1:], terms[0]))
            return tuple(np.zeros_like(x) if v.grad is None else v.grad.numpy().copy() for v, x in zip(variables, arrays))

    start = _glim.next_key()
    f(*inputs)
    notes = ["The function draws random numbers from Glim: each run starts from the same state."] if prepared.draws else []
    return Adapted(f, backward, tuple(inputs), (*(labels[i] for i in where), *(name for name, _ in weights)), tuple(notes),
                   len(weights))


def _array(x):
    return x.numpy() if isinstance(x, (_glim.Var, _glim.Tensor)) else x
