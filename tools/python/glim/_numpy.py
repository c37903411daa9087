"""Functions of NumPy in the form that the checker calls."""
import numpy as np


def pair(f, backward, inputs, cache):
    """(value, gradient, inputs) for _glim.check_function."""
    arrays = [np.asarray(x) for x in inputs]
    named = [(f"x{k}", x, x.dtype.kind == "f") for k, x in enumerate(arrays)]

    def outputs(x):
        y = f(*x)
        y, kept = y if cache else (y, None)
        return [np.asarray(part) for part in (y if isinstance(y, (tuple, list)) else (y,))], kept

    def gradient(x, dy):
        up = dy[0] if len(dy) == 1 else tuple(dy)
        dx = backward(up, outputs(x)[1]) if cache else backward(up, *x)
        dx = dx if isinstance(dx, (tuple, list)) else (dx,)
        return [None if part is None else np.asarray(part) for part in dx]

    return lambda x: outputs(x)[0], gradient, named
