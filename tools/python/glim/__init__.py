"""Glim: gradients to check, to watch and to read.

    report = glim.gradcheck(f, backward, *inputs)      # is backward the derivative of f?

    w = glim.Var.leaf(numpy_array)                      # a tape
    with glim.Tape() as tape:
        loss = glim.sum(glim.tanh(x @ w))
        tape.backward(loss)
    w.grad.numpy()
"""
from ._glim import *  # noqa: F403  the ops, Tensor, Var, Tape, layers, models, optimizers and the errors
from ._glim import Tensor
from .gradcheck import Report, gradcheck
from .modules import ModuleList, Op, Sequential
from .trained import Inspection, Model, load, study, train

__version__ = "0.1.0"


def tensor(values, dtype=None):
    """A Tensor of numbers or nested lists: float32 by default, int64 and bool for integers and bools."""
    import numpy
    array = numpy.array(values)
    return Tensor(array.astype(dtype or {"f": "float32", "i": "int64", "b": "bool"}.get(array.dtype.kind, array.dtype)))
