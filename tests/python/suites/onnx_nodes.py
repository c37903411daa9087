"""ONNX's node tests, and their expansions into other nodes: outputs, and gradients beside differences of the same model.

ONNX has outputs in float32. They are compared to RTOL. The model is computed in float64; its gradient by each input is held
against central differences along a few directions. A kink within a step leaves the values alone.
"""

import functools
import inspect
import warnings

import numpy as np

import glim

from .count import Count, Skip
from .derivatives import close, weighted
from .onnx_ops import NODES, is_var

LEAST = {"values": 600, "gradients": 400}
RTOL, ATOL = 1e-4, 1e-6  # of the outputs, which are in float32
STEP, DIRECTIONS = 1e-5, 3
GRADIENT_RTOL, GRADIENT_ATOL = 1e-6, 1e-7


@functools.cache
def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases() if case.model is not None}


def unknown(case):
    return {n.op_type for n in case.model.graph.node} - NODES.keys() - {"Constant"}


def names():
    return sorted(name for name, case in cases().items() if not unknown(case))


def left_out():
    return {"a node that is no operator of Glim": sum(bool(unknown(case)) for case in cases().values())}


def attribute(a):
    from onnx import AttributeProto, helper, numpy_helper

    value = helper.get_attribute_value(a)
    if a.type == AttributeProto.TENSOR:
        return as_float64(numpy_helper.to_array(value))
    return value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, (list, tuple)) else value


def dense(x):
    """An array of a value of a test."""
    from onnx import TensorProto, numpy_helper

    if isinstance(x, TensorProto):
        return numpy_helper.to_array(x)
    if not isinstance(x, np.ndarray | np.generic):
        raise Skip("a sequence, or a value that may be missing")
    return np.asarray(x)


def as_float64(x):
    if x.dtype.kind == "f" and x.dtype.itemsize < 4 or x.dtype.kind not in "fiub":
        raise Skip("of a type of float16 or less, of strings or objects")
    return x.astype("float64") if x.dtype.kind == "f" else x


def computed(model, given):
    """The outputs of a model."""
    from onnx import numpy_helper

    values = dict(given)
    for tensor in model.graph.initializer:
        values.setdefault(tensor.name, as_float64(numpy_helper.to_array(tensor)))
    for n in model.graph.node:
        attributes = {a.name: attribute(a) for a in n.attribute}
        if n.op_type == "Constant":
            [value] = attributes.values()
            found = np.asarray(value)
        else:
            found = call(n, [values[name] if name else None for name in n.input], attributes)
        found = found if isinstance(found, list) else [found]
        if len(found) < len(n.output):
            raise Skip("an output that its entry does not have")
        values |= {name: y for name, y in zip(n.output, found) if name}
    return [values[o.name] for o in model.graph.output]


def call(n, inputs, attributes):
    f = NODES[n.op_type]
    if n.op_type == "Split":
        attributes.setdefault("num_outputs", len(n.output))
    try:
        inspect.signature(f).bind(*inputs, **attributes)
    except TypeError as error:
        raise Skip(f"an attribute that its entry does not take ({error})") from error
    return f(*inputs, **attributes)


def one(case):
    compared = set()
    for inputs, outputs in case.data_sets:
        given = {i.name: as_float64(dense(x)) for i, x in zip(case.model.graph.input, inputs)}
        floats = [name for name, x in given.items() if x.dtype.kind == "f"]
        if not floats:
            raise Skip("integers and bools alone")

        def leaves(shift, direction):
            return given | {n: glim.Var.leaf(np.asarray(given[n] + shift * u)) for n, u in zip(floats, direction)}

        still = [np.zeros(given[n].shape) for n in floats]
        ys = computed(case.model, leaves(0, still))
        for k, (y, wanted) in enumerate(zip(ys, outputs, strict=True)):
            wanted = as_float64(dense(wanted))
            y = y.numpy() if is_var(y) else np.asarray(y)
            close(y.astype(wanted.dtype) if y.dtype.kind in "iu" else y, wanted, f"output {k}", RTOL, ATOL)
        compared.add("values")
        if gradient(case.model, floats, leaves, still):
            compared.add("gradients")
    return compared


def gradient(model, floats, leaves, still):
    """Holds the gradient against differences. Returns whether a direction had any."""
    compared = False
    rng = np.random.default_rng(0)
    dys = []

    def loss(values):
        ys = [y for y in computed(model, values) if is_var(y)]
        if not dys:
            dys.extend(glim.Var(rng.standard_normal(y.shape)) for y in ys)
        return weighted(dys, ys)

    values = leaves(0, still)
    with glim.Tape() as tape:
        total = loss(values)
        if total is None or not total.requires_grad or not np.isfinite(total.item()):
            return False
        dx = [d.numpy() for d in tape.grad(total, [values[n] for n in floats])]
    for _ in range(DIRECTIONS):
        u = [rng.standard_normal(x.shape) for x in still]
        at = {k: loss(leaves(k * STEP, u)).item() for k in (-2, -1, 1, 2)}
        near, far = (at[1] - at[-1]) / (2 * STEP), (at[2] - at[-2]) / (4 * STEP)
        one_sided = [(at[k] - total.item()) / (k * STEP) for k in (-1, 1)]
        size = max(1, *map(abs, at.values()), *(float(np.abs(d * v).sum()) for d, v in zip(dx, u)))
        if abs(near - far) > 1e-6 * size or abs(one_sided[0] - one_sided[1]) > 1e-2 * size:
            continue  # a kink, or too steep
        numeric = (4 * near - far) / 3
        analytic = sum(float((d * v).sum()) for d, v in zip(dx, u))
        error = abs(analytic - numeric)
        assert error <= GRADIENT_ATOL * size + GRADIENT_RTOL * abs(numeric) + abs(near - far), f"the gradient along a direction is {analytic}, not {numeric}"
        compared = True
    return compared


def run(name):
    count = Count()
    with np.errstate(all="ignore"):
        count.case(name, one, cases()[name])
    return count
