"""torch's list of operators (OpInfo): sample inputs, also not contiguous, in both orders; and inputs that it refuses."""

import inspect

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import glim

from . import torch_nn  # noqa: F401  its entries of OPS
from .count import Count, Skip
from .torch_ops import OPS
from .derivatives import compare
from .with_torch import Arguments, tensors, wanted_of

LEAST = {"values": 2000, "gradients": 1500, "second derivatives": 1200, "refusals": 150}
MOST = 60  # samples of an operator, of each kind

OF_TORCH = {"nn.functional.hardsigmoid": "torch's gradient has a sixth in float32"}
COMPOSED = set("""t t_copy movedim masked_fill narrow hstack fliplr nn.functional.prelu nn.functional.huber_loss nn.functional.l1_loss
    nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.max_pool1d nn.functional.group_norm nn.functional.rms_norm
    nn.functional.embedding""".split())

OPERATORS = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def names():
    return sorted(set(OPS) & set(OPERATORS))


def left_out():
    return {"not an operator of Glim": len(set(OPERATORS) - set(OPS))}


def forward_of(name):
    """The entry of an operator; it skips what it has no arguments for."""

    def forward(*args, **options):
        try:
            inspect.signature(OPS[name]).bind(*args, **options)
        except TypeError as error:
            raise Skip(f"an argument that its entry does not take ({error})") from error
        return OPS[name](*args, **options)

    return forward


def prepared(op, name, sample):
    """(given, wanted)"""
    if name in OF_TORCH:
        raise Skip(OF_TORCH[name])
    given = Arguments(sample.input, *sample.args, **sample.kwargs)
    try:
        y = op.op(sample.input, *sample.args, **sample.kwargs)
    except RuntimeError as error:
        raise Skip("torch refuses it") from error
    if any(t.dtype.is_complex for t in tensors(y)):
        raise Skip("of complex128")
    return given, wanted_of(y, given.tensors, op.supports_gradgrad)


def one(op, name, sample):
    return compare(forward_of(name), *prepared(op, name, sample))


def refused(name, error_input):
    sample = error_input.sample_input
    if name in COMPOSED:
        raise Skip("what is refused, of a function that Glim does not have itself")
    given = Arguments(sample.input, *sample.args, **sample.kwargs)
    if "dtype" in error_input.error_regex or "alpha" in sample.kwargs:
        raise Skip("dtypes that torch refuses to promote")
    try:
        found = forward_of(name)(*given.args, **given.options)
    except (glim.Error, TypeError):
        return ["refusals"]
    if isinstance(found, (int, float, np.ndarray)):
        raise Skip("numbers of Python and arrays alone: no function of Glim is called")
    raise AssertionError(f"torch says {error_input.error_regex!r}; Glim returns {found!r}")


def run(name):
    count, op = Count(), OPERATORS[name]
    torch.manual_seed(0)
    for k, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=op.supports_autograd)):
        if k == MOST:
            break
        count.case(f"{name} sample {k} {sample.summary()[:120]}", one, op, name, sample)
        if tensors(([sample.input], sample.args)):
            count.case(f"{name} sample {k}, not contiguous", one, op, name, sample.noncontiguous())
    if op.error_inputs_func is not None:
        for k, error_input in enumerate(op.error_inputs("cpu")):
            count.case(f"{name} error {k}", refused, name, error_input)
    return count
