"""Glim itself: an Op, a Module with its parameters, or a function of Vars."""

import contextlib

import numpy as np

from .. import _glim
from ..modules import Op
from . import Adapted, argument_names, leaf_names, leaves, name_of, no_floating_input, upstreams_of, wanted_dtype, with_leaves


def adapt(function, args, second_order=False):
    module = function if isinstance(function, _glim.Module) else None
    call = function.forward if isinstance(function, Op) or hasattr(function, "forward") else function
    args = list(with_leaves(list(args), map(_array, leaves(list(args)))))
    operands = list(leaves(args))
    labels = [n for name, x in zip(argument_names(call, len(args)), args) for n in leaf_names(name, x)]
    where = [i for i, x in enumerate(operands) if isinstance(x, np.ndarray) and x.dtype.kind in "fiub" and (x.dtype.kind == "f" or x.ndim)]
    weights = [(name, p) for name, p in module.named_parameters() if p.requires_grad] if module else []
    if not any(operands[i].dtype.kind == "f" for i in where) and not weights:
        raise no_floating_input(function)
    dtype = wanted_dtype(args)
    inputs = [np.array(x, dtype=dtype if x.dtype.kind == "f" else None)
              for x in (*(operands[i] for i in where), *(p.numpy() for _, p in weights))]

    def with_inputs(values):
        now = list(operands)
        for i, x in zip(where, values):
            now[i] = x
        return with_leaves(args, iter(now))

    if isinstance(function, Op) and not second_order:
        def f(*arrays):
            return function.forward(*with_inputs(arrays))

        def backward(dy, *arrays, others=None):
            if others is not None:
                f(*others)
            gradients = function.numpy_gradient(dy, *with_inputs(arrays))
            return tuple(gradients[i] for i in where) if len(gradients) == len(operands) else gradients

        return Adapted(f, backward, tuple(inputs), tuple(labels[i] for i in where), ())

    upstreams = 0  # of second_order: how many dy come before the inputs

    @contextlib.contextmanager
    def prepared(arrays):
        """Leaves for the inputs; the module has the others as its parameters, and meanwhile their dtype."""
        dtype = next(x for x in arrays if x.dtype.kind == "f").dtype.name
        leaves_of, parameters = arrays[:upstreams + len(where)], arrays[upstreams + len(where):]
        key = _glim.next_key()
        _glim._set_key(start)
        state = {name: x.clone() for name, x in module.state_dict().items()} if module else {}
        held = [(p, p.dtype, p.grad) for p in module.parameters()] if module else []
        try:
            if held:
                module.to(dtype)
                module.load_state_dict({name: x for (name, _), x in zip(weights, parameters)}, strict=False)
            yield [_leaf(x) for x in leaves_of] + [p for _, p in weights]
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

    def outputs_of(variables, tape=None):
        """The outputs, or their gradients if there are `upstreams`."""
        dys, variables = variables[:upstreams], variables[upstreams:]
        outputs = run(variables)
        if not upstreams:
            return outputs
        ys, dys = zip(*[(y, dy) for y, dy in zip(outputs, dys) if y.requires_grad])
        x = [v for v in variables if isinstance(v, _glim.Var)]
        return tape.grad(list(ys), x, list(dys), create_graph=True)

    def f(*arrays):
        with prepared(arrays) as variables:
            with _glim.Tape() if upstreams else _glim.no_grad() as tape:
                return tuple(y.numpy().copy() for y in outputs_of(variables, tape))

    def backward(dy, *arrays, others=None):
        with prepared(arrays) as variables:
            with _glim.Tape() as tape:
                outputs = outputs_of(variables, tape)
                if others is not None:
                    run([_leaf(x) for x in others[upstreams:upstreams + len(where)]] + variables[len(arrays) - len(weights):])
                terms = [(y * _glim.Var(d)).sum() for y, d in zip(outputs, dy if isinstance(dy, tuple) else (dy,))
                         if y.requires_grad]
                if terms:
                    tape.backward(sum(terms[1:], terms[0]))
            return tuple(_gradient(v, x) for v, x in zip(variables, arrays))

    start = _glim.next_key()
    f(*inputs)
    notes = ["The function draws random numbers from Glim: each run starts from the same state."] if prepared.draws else []
    names = [*(labels[i] for i in where), *(name for name, _ in weights)]
    if second_order:
        first, first_names = upstreams_of(f(*inputs))
        inputs, names, upstreams = [*first, *inputs], [*first_names, *names], len(first)
    return Adapted(f, backward, tuple(inputs), tuple(names), tuple(notes), len(weights))


def _leaf(x):
    return _glim.Var.leaf(x) if x.dtype.kind == "f" else x


def _gradient(v, x):
    if x.dtype.kind != "f":
        return None
    return np.zeros_like(x) if v.grad is None else v.grad.numpy().copy()


def _array(x):
    return x.numpy() if isinstance(x, (_glim.Var, _glim.Tensor)) else x
