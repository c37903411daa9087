"""Glim: gradients to check, to watch and to read.

    report = glim.gradcheck(f, backward, *inputs)      # is backward the derivative of f?

    w = glim.Var.leaf(numpy_array)                      # a tape
    with glim.Tape() as tape:
        loss = glim.sum(glim.tanh(x @ w))
        tape.backward(loss)
    w.grad.numpy()
"""
from ._glim import *  # noqa: F403  the ops, Tensor, Var, Tape and the errors
from .gradcheck import Report, gradcheck
from .modules import ModuleList, Op, Sequential
from .trained import Inspection, Model, load, study, train

__version__ = "0.1.0"
