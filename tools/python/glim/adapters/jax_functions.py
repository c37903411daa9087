"""JAX: a function of arrays and pytrees, with or without custom_vjp."""

import jax
import numpy as np

from . import Adapted, argument_names, name_of, no_floating_input, upstreams_of, wanted_dtype

_enable_x64 = getattr(jax, "enable_x64", None)
if _enable_x64 is None:  # of an older JAX
    from jax.experimental import enable_x64 as _enable_x64


def adapt(function, args, second_order=False):
    paths, tree = jax.tree_util.tree_flatten_with_path(list(args))
    names = argument_names(function, len(args))
    labels = [names[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in paths]
    operands = [leaf for _, leaf in paths]
    floating = [i for i, x in enumerate(operands) if _is_floating(x, labels[i])]
    if not floating:
        raise no_floating_input(function)
    where = sorted(floating + [i for i, x in enumerate(operands) if _is_integral(x)])

    def of_inputs(*arrays):
        now = list(operands)
        for i, array in zip(where, arrays):
            now[i] = array
        y = jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(tree, now)))
        y = tuple(a for a in y if jax.numpy.issubdtype(jax.numpy.result_type(a), jax.numpy.floating))
        if not y:
            raise TypeError(f"gradcheck: {name_of(function)} has no output of a floating dtype")
        return y

    value = of_inputs

    def second(*arrays):
        dy, x = arrays[:upstreams], arrays[upstreams:]
        dx = jax.vjp(of_inputs, *x)[1](tuple(dy))
        return tuple(d for d, i in zip(dx, where) if i in floating)

    def f(*arrays):
        if any(n < m for a, b in zip(arrays, inputs) for n, m in zip(a.shape, b.shape)):
            raise IndexError("JAX clamps an index that is out of range, so no size is made smaller")
        with _enable_x64(True):
            return tuple(np.array(y) for y in value(*map(jax.numpy.asarray, arrays)))

    last = {}  # the pullback of the last inputs: tracing takes longer than running it

    def backward(dy, *arrays, others=None):
        dy = dy if isinstance(dy, tuple) else (dy,)
        point = [(a.dtype, a.shape, a.tobytes()) for a in map(np.asarray, arrays)]
        with _enable_x64(True):
            if last.get("point") != point:
                last["dtypes"], last["pullback"] = _vjp(value, arrays)
                last["point"] = point
            if others is not None:
                _vjp(value, others)
            dx = last["pullback"](tuple(jax.numpy.asarray(d, dtype=t) for d, t in zip(dy, last["dtypes"])))
            return tuple(None if d.dtype == jax.dtypes.float0 else np.array(d) for d in dx)

    dtype = wanted_dtype(args)
    with _enable_x64(True):
        inputs = [np.array(operands[i]).astype(dtype) if i in floating else np.array(operands[i]) for i in where]
    names = [labels[i] for i in where]
    if second_order:
        first, first_names = upstreams_of(f(*inputs))
        value, upstreams = second, len(first)
        inputs, names = [*first, *inputs], [*first_names, *names]
    return Adapted(f, backward, tuple(inputs), tuple(names), ())


def _vjp(function, arrays):
    y, pullback = jax.vjp(function, *map(jax.numpy.asarray, arrays))
    return [a.dtype for a in y], pullback


def _is_integral(x):
    return isinstance(x, jax.Array) and x.ndim > 0 and x.dtype.kind in "iub"


def _is_floating(x, name):
    if isinstance(x, jax.Array):
        elsewhere = [d for d in x.devices() if d.platform != "cpu"]
        if elsewhere:
            raise TypeError(
                f"gradcheck: {name} is on {elsewhere[0]}; move it to the CPU: jax.device_put({name}, jax.devices('cpu')[0])"
            )
    if not isinstance(x, (jax.Array, np.ndarray)):
        return False
    if jax.numpy.issubdtype(x.dtype, jax.numpy.complexfloating):
        raise TypeError(f"gradcheck: {name} is complex ({x.dtype}); pass its real and its imaginary part")
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.floating))
