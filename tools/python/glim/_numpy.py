"""Functions of NumPy in the form that the checker calls: lists of arrays in, lists of arrays out."""
import numpy as np

from . import _glim


def callbacks(f, backward, inputs, cache, names=None):
    """What _glim.check_function takes: three functions, and (name, array, whether it is checked) of each input.

    value(x)                     the outputs, f(*x)
    gradient(x, dy)              ∂L/∂x for each input, backward(dy, *x) or backward(dy, cache)
    interrupted(x, dy, others)   the same with a run of f at other inputs before backward; None for NumPy without a cache
    """
    adapted = names is not None
    names = names or [f"x{k}" for k in range(len(inputs))]
    arrays = [_array(x, name) for name, x in zip(names, inputs)]
    named = [(name, x, x.dtype.kind == "f") for name, x in zip(names, arrays)]
    if not any(checked for _, _, checked in named):
        kinds = ", ".join(f"{name} {x.dtype}" for name, x, _ in named) or "none"
        raise _glim.DTypeError(f"gradcheck: no input has a gradient: inputs are {kinds}. Pass float64 or float32 "
                               "arrays, such as x.astype(np.float64)")

    def call(x):
        y = f(*x)
        if cache:
            if not isinstance(y, tuple) or len(y) != 2:
                raise _glim.ValueError(f"gradcheck: with cache=True f returns (y, cache), not {_kind(y)}")
            return y
        return y, None

    several = False  # whether f returns a tuple, and so backward gets one

    def value(x):
        nonlocal several
        y, _ = call(x)
        several = isinstance(y, (tuple, list))
        if y is None or (several and any(part is None for part in y)):
            raise _glim.ValueError("gradcheck: f returned None; it returns an array, or a tuple of arrays. Is a return missing?")
        if not several:
            return [_array(y, "the output")]
        return [_array(part, f"output {k}") for k, part in enumerate(y)]

    def gradient(x, dy, others=None):
        dy = tuple(dy) if several else dy[0]
        if cache:
            saved = call(x)[1]
            if others is not None:
                call(others)
            dx = backward(dy, saved)
        else:
            dx = backward(dy, *x, **({"others": others} if others is not None else {}))
        if dx is None:
            raise _glim.ValueError("gradcheck: backward returned None; it returns ∂L/∂x for each input. Is a return missing?")
        if not isinstance(dx, (tuple, list)):
            dx = (dx,)
        return [None if part is None else _array(part, "the gradient of " + (names[k] if k < len(names) else f"x{k}"))
                for k, part in enumerate(dx)]

    return value, gradient, gradient if cache or adapted else None, named


def _kind(x):
    shape = getattr(x, "shape", None)
    return type(x).__name__ if shape is None else f"{type(x).__name__} of shape {tuple(shape)}"


def _array(x, what):
    _glim._require_plain(x, f"gradcheck: {what}")
    try:
        array = np.asarray(x)
    except Exception as error:
        raise _glim.ValueError(f"gradcheck: {what} is no array: {error}") from error
    if array.dtype == object:
        raise _glim.DTypeError(f"gradcheck: {what} is no array of numbers but {_kind(x)}")
    if array.dtype.kind in "iu":  # int32 labels and counts
        return _glim._widened(array, f"gradcheck: {what}")
    if array.dtype.name not in ("float64", "float32", "bool"):
        raise _glim.DTypeError(f"gradcheck: {what} is {array.dtype}; Glim has float64, float32, int64 and bool. Convert "
                               "it, such as with .astype(np.float64)")
    return array
