"""PyTorch's list of operators (OpInfo) through the importer: sample inputs in float64 and float32.

A sample is computed on GRIDS, too: kinks and ties, ends of domains, and rows of −∞ for ops that know them (HIDDEN).
"""
import math

import torch
from torch.testing._internal.common_methods_invocations import op_db

from .count import Skip
from .imported import compare, evenly, of_tensors

LEAST = {"values": 1800, "gradients": 1500, "second derivatives": 700}
GRIDS = {"kinks": (0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 6.0, 60.0, -60.0), "ends": (0.0, 0.5, 1.0),
         "hidden": (-math.inf, -math.inf, -math.inf, 0.0, 1.0)}
MOST = {torch.float64: 2, torch.float32: 1}  # samples of an operator: an import takes up to a second
MOST_ON_A_GRID = 1
HIDDEN = ("softmax", "logsumexp", "attention", "max", "min", "where", "masked")
INEXACT = {("nn.functional.hardsigmoid", torch.float64): "PyTorch's gradient in float64 has the 1/6 of float32",
           ("logcumsumexp", torch.float32): "PyTorch's gradient in float32 is off by 2e-3 (from its own float64; Glim's by 1e-7)"}
UNDEFINED = {"empty": "the values are uninitialized memory"}
FIRST_ORDER = {"masked.logaddexp"}  # PyTorch's second derivative is NaN where both are -inf
OPERATORS = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def names():
    return sorted(name for name, op in OPERATORS.items() if torch.float64 in op.dtypes)


def left_out():
    return {"not of float64": len(OPERATORS) - len(names())}


def given(op, sample, grid=None, inexact=None):
    """A function of the sample's tensors, and these; with a grid, floating ones have its values."""
    if inexact or op.name in UNDEFINED:
        raise Skip(inexact or UNDEFINED[op.name])
    function, tensors = of_tensors(sample, op.op)
    tensors = [x if grid is None else on_grid(x, grid, k) for k, x in tensors.items()]
    return function, tensors, {}, op.supports_gradgrad and grid is None and op.name not in FIRST_ORDER


def on_grid(x, grid, seed):
    if not x.is_floating_point():
        return x
    chosen = torch.randint(len(grid), x.shape, generator=torch.Generator().manual_seed(seed))
    return torch.tensor(grid, dtype=x.dtype)[chosen].requires_grad_(x.requires_grad)


def cases(name):
    op = OPERATORS[name]
    for dtype, most in MOST.items():
        if dtype in op.dtypes:
            torch.manual_seed(0)
            for k, sample in enumerate(evenly(op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd), most)):
                yield f"{name} {str(dtype)[6:]} {k} {sample.summary()[:120]}", compare, given, op, sample, None, INEXACT.get((name, dtype))
    if op.supports_autograd:
        torch.manual_seed(0)
        for k, sample in enumerate(evenly(op.sample_inputs("cpu", torch.float64, requires_grad=True), MOST_ON_A_GRID)):
            for title, grid in GRIDS.items():
                if title != "hidden" or any(word in name for word in HIDDEN):
                    yield f"{name} {title} {k} {sample.summary()[:120]}", compare, given, op, sample, grid, INEXACT.get((name, torch.float64))
