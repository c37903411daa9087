"""HIPS/autograd: a function written with autograd.numpy."""

import numpy as np
from autograd import make_vjp
from autograd.builtins import tuple as traced_tuple

from . import Adapted, floating_arguments, leaves, upstreams_of, wanted_dtype, with_leaves


def adapt(function, args, second_order=False):
    operands, labels, where = floating_arguments(function, args, lambda x: isinstance(x, np.ndarray) and x.dtype.kind == "f")
    random = np.random.get_state()

    def of_inputs(*arrays):
        now = list(operands)
        for i, array in zip(where, arrays):
            now[i] = array
        np.random.set_state(random)
        return traced_tuple(leaves(function(*with_leaves(list(args), iter(now)))))

    value = of_inputs

    def second(*arrays):
        dy, x = arrays[:upstreams], arrays[upstreams:]
        return make_vjp(of_inputs, tuple(range(len(x))))(*x)[0](traced_tuple(dy))

    def f(*arrays):
        return tuple(np.array(y) for y in value(*arrays))

    def backward(dy, *arrays, others=None):
        vjp, _ = make_vjp(value, tuple(range(len(arrays))))(*arrays)
        if others is not None:
            make_vjp(value, tuple(range(len(others))))(*others)
        return tuple(np.array(d) for d in vjp(dy if isinstance(dy, tuple) else (dy,)))

    dtype = wanted_dtype(args)
    inputs = tuple(np.array(operands[i], dtype=dtype) for i in where)
    f(*inputs)
    notes = []
    if not _same_state(random, np.random.get_state()):
        notes.append("The function draws random numbers from numpy.random: each run starts from the same state.")
    names = [labels[i] for i in where]
    if second_order:
        first, first_names = upstreams_of(f(*inputs))
        value, upstreams = second, len(first)
        inputs, names = (*first, *inputs), [*first_names, *names]
    return Adapted(f, backward, inputs, tuple(names), tuple(notes))


def _same_state(a, b):
    return a[0] == b[0] and np.array_equal(a[1], b[1]) and a[2:] == b[2:]
