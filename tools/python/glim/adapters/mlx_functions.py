"""MLX: a function of arrays, lists and dicts, with or without mx.custom_function. In float64, on the CPU."""

import mlx.core as mx
import numpy as np

from . import Adapted, floating_arguments, leaves, name_of, wanted_dtype, with_leaves


def adapt(function, args):
    operands, labels, where = floating_arguments(function, args, _is_floating)

    def of_inputs(*arrays):
        now = list(operands)
        for i, array in zip(where, arrays):
            now[i] = array
        y = function(*with_leaves(list(args), iter(now)))
        y = [a for a in leaves([y]) if isinstance(a, mx.array) and mx.issubdtype(a.dtype, mx.floating)]
        if not y:
            raise TypeError(f"gradcheck: {name_of(function)} has no output of a floating dtype")
        return y

    def arrays_of(xs):
        return [mx.array(x, dtype=mx.float32 if x.dtype == np.float32 else mx.float64) for x in map(np.asarray, xs)]

    def f(*arrays):
        with mx.stream(mx.cpu):
            return tuple(np.array(y) for y in of_inputs(*arrays_of(arrays)))

    def backward(dy, *arrays, others=None):
        dy = dy if isinstance(dy, tuple) else (dy,)
        with mx.stream(mx.cpu):
            if others is not None:
                f(*others)
            y, dx = mx.vjp(of_inputs, arrays_of(arrays), arrays_of(dy))
            return tuple(np.array(d) for d in dx)

    dtype = wanted_dtype(args)
    return Adapted(f, backward, tuple(np.array(operands[i]).astype(dtype) for i in where), tuple(labels[i] for i in where), ())


def _is_floating(x):
    return x.dtype.kind == "f" if isinstance(x, np.ndarray) else isinstance(x, mx.array) and mx.issubdtype(x.dtype, mx.floating)
