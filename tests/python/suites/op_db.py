"""torch's list of operators (OpInfo): sample inputs, also not contiguous, in both orders; and inputs that it refuses."""

import torch
from torch.testing._internal.common_methods_invocations import op_db

from .computed import OPS, operator, refused_by_operator
from .count import Skip
from .with_torch import Arguments, tensors, wanted_of

LEAST = {"values": 3300, "gradients": 3100, "second derivatives": 3100, "refusals": 105}
MOST = 60  # samples of an operator

OF_TORCH = {"nn.functional.hardsigmoid": "torch's gradient has a sixth in float32"}
COMPOSED = set("""t t_copy movedim masked_fill narrow hstack fliplr nn.functional.prelu nn.functional.huber_loss nn.functional.l1_loss
    nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.max_pool1d nn.functional.group_norm nn.functional.rms_norm
    nn.functional.embedding""".split())

OPERATORS = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def names():
    return sorted(set(OPS) & set(OPERATORS))


def left_out():
    return {"not an operator of Glim": len(set(OPERATORS) - set(OPS))}


def prepared(name, sample):
    if name in OF_TORCH:
        raise Skip(OF_TORCH[name])
    op, given = OPERATORS[name], Arguments(sample.input, *sample.args, **sample.kwargs)
    try:
        y = op.op(sample.input, *sample.args, **sample.kwargs)
    except RuntimeError as error:
        raise Skip("torch refuses it") from error
    if any(t.dtype.is_complex for t in tensors(y)):
        raise Skip("of complex128")
    return name, given, wanted_of(y, given.tensors, op.supports_gradgrad)


def refusal(name, error):
    sample = error.sample_input
    if not error.error_regex or "dtype" in error.error_regex or "alpha" in sample.kwargs:
        raise Skip("convention: torch refuses numbers, and dtypes that it does not promote")
    return name, Arguments(sample.input, *sample.args, **sample.kwargs), name in COMPOSED, error.error_regex


def cases(name):
    op = OPERATORS[name]
    torch.manual_seed(0)
    for k, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)):
        if k == MOST:
            break
        yield f"{name} sample {k} {sample.summary()[:120]}", operator, prepared, name, sample
        if tensors(([sample.input], sample.args)):
            yield f"{name} sample {k}, not contiguous", operator, prepared, name, sample.noncontiguous()
    if op.error_inputs_func is not None:
        for k, error in enumerate(op.error_inputs("cpu")):
            yield f"{name} error {k}", refused_by_operator, refusal, name, error
