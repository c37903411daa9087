"""tinygrad: a function of Tensors, lists and dicts."""

import numpy as np
from tinygrad import Tensor

from . import Adapted, floating_arguments, leaves, name_of, wanted_dtype, with_leaves


def adapt(function, args):
    operands, labels, where = floating_arguments(function, args, _is_floating)

    def outputs(tensors):
        now = list(operands)
        for i, tensor in zip(where, tensors):
            now[i] = tensor
        y = [t for t in leaves([function(*with_leaves(list(args), iter(now)))]) if isinstance(t, Tensor) and t.is_floating_point()]
        if not y:
            raise TypeError(f"gradcheck: {name_of(function)} has no output of a floating dtype")
        return y

    def tensors_of(arrays):
        return [Tensor(np.ascontiguousarray(a)) for a in arrays]

    def f(*arrays):
        return tuple(y.numpy() for y in outputs(tensors_of(arrays)))

    def backward(dy, *arrays, others=None):
        dy = dy if isinstance(dy, tuple) else (dy,)
        if others is not None:
            f(*others)
        xs = tensors_of(arrays)
        loss = sum((y * Tensor(np.ascontiguousarray(d))).sum() for y, d in zip(outputs(xs), dy))
        return tuple(d.numpy() for d in loss.gradient(*xs))

    dtype = wanted_dtype(args)
    inputs = [(operands[i].numpy() if isinstance(operands[i], Tensor) else operands[i]).astype(dtype) for i in where]
    return Adapted(f, backward, tuple(inputs), tuple(labels[i] for i in where), ())


def _is_floating(x):
    return x.dtype.kind == "f" if isinstance(x, np.ndarray) else isinstance(x, Tensor) and x.is_floating_point()
