"""The ops of a PyTorch graph by those of Glim.

rule(node.target) computes an ATen op on Vars, numbers, lists, and tensors of PyTorch, which are constants. An op without a
rule is computed by PyTorch where no argument needs a gradient or the result has none (VALUES_ALONE, and all that are not
floating), decomposed by PyTorch into ops that have rules, or refused. An op that has its own formula of a derivative in
PyTorch has a rule if the derivative of its decomposition is another one at a kink or at the end of its domain.
"""
from . import activations, attention, elementwise, indices, layers, reductions, shapes, windows  # noqa: F401  their rules
from .attention import HIDES, SCALE, kept_and_added, scaled
from .dtypes import array, name_of, operands, to, vars_of
from .layers import matmul, softmax, undefined
from .rules import OPS, VALUES_ALONE, draws, rule

__all__ = ["HIDES", "OPS", "SCALE", "VALUES_ALONE", "array", "draws", "kept_and_added", "matmul", "name_of", "operands", "rule",
           "scaled", "softmax", "to", "undefined", "vars_of"]
