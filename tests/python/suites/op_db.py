"""PyTorch's list of operators (OpInfo) through the importer: sample inputs in float64 and float32."""
import torch
from torch.testing._internal.common_methods_invocations import op_db

from .imported import compare, evenly

LEAST = {"values": 1, "gradients": 1, "second derivatives": 1}
MOST = {torch.float64: 12, torch.float32: 4}  # samples of an operator: an import takes up to a second
OPERATORS = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def names():
    return sorted(name for name, op in OPERATORS.items() if torch.float64 in op.dtypes)


def left_out():
    return {"not of float64": len(OPERATORS) - len(names())}


def given(op, sample):
    return op.op, (sample.input, *sample.args), sample.kwargs, op.supports_gradgrad


def cases(name):
    op = OPERATORS[name]
    for dtype, most in MOST.items():
        if dtype in op.dtypes:
            torch.manual_seed(0)
            for k, sample in enumerate(evenly(op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd), most)):
                yield f"{name} {str(dtype)[6:]} {k} {sample.summary()[:120]}", compare, given, op, sample
