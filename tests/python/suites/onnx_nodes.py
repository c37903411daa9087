"""ONNX's node tests, and their expansions into other nodes: outputs, and gradients beside differences of the same model."""

import functools
import warnings

import numpy as np

from .count import Skip
from .onnx_graph import Graph, model
from .onnx_ops import NODES

LEAST = {"values": 870, "gradients": 790}


@functools.cache
def models():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases() if case.model is not None}


def unknown(case):
    return {n.op_type for n in case.model.graph.node} - NODES.keys() - {"Constant"}


def names():
    return sorted(name for name, case in models().items() if not unknown(case))


def left_out():
    return {"a node that is no operator of Glim": sum(bool(unknown(case)) for case in models().values())}


def attribute(a):
    from onnx import AttributeProto, helper, numpy_helper

    value = helper.get_attribute_value(a)
    if a.type == AttributeProto.TENSOR:
        return as_float64(numpy_helper.to_array(value))
    return value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, (list, tuple)) else value


def graph_of(model):
    """A model for onnx_graph."""
    from onnx import numpy_helper

    nodes = [(n.op_type, list(n.input), list(n.output), {a.name: attribute(a) for a in n.attribute}) for n in model.graph.node]
    constants = {t.name: as_float64(numpy_helper.to_array(t)) for t in model.graph.initializer}
    return Graph(nodes, constants, [o.name for o in model.graph.output])


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


def prepared(case, k):
    inputs, outputs = case.data_sets[k]
    given = {i.name: as_float64(dense(x)) for i, x in zip(case.model.graph.input, inputs)}
    return graph_of(case.model), given, [as_float64(dense(y)) for y in outputs]


def cases(name):
    case = models()[name]
    for k in range(len(case.data_sets)):
        yield name, model, prepared, case, k
