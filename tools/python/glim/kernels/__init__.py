"""Is the backward of a kernel right, as far as its arithmetic can be?

    report = glim.compare_backward(FlashAttention, attention, q, k, v, dy=dy)

The reference, in float64 on the same low-precision inputs, has the true gradients (truth.py). Passes of it that round as
the kernel's contract says show what rounding costs each element (rounding.py). The kernel's gradients are judged in units
of that (scores.py), at the inputs and at others made of them (probes.py); where they are wrong is a box (place.py).
"""

from typing import Any

import torch

from .. import _glim
from ..adapters import name_of
from . import calls
from .judge import Judge
from .recorded import record_inputs  # noqa: F401
from .report import KernelReport  # noqa: F401
from .rounding import BITS
from .truth import as_reference, floating, outputs_of

LOW = (torch.bfloat16, torch.float16, torch.float32)


def compare_backward(kernel: Any, reference: Any, *inputs: Any, dy: Any = None, inside: str | None = "float32",
                     accumulate: str = "float32", batch: Any = None, also: str | None = "float32", seed: int = 0,
                     name: str | None = None) -> KernelReport:
    """Compares the backward of a fused or low-precision kernel with a reference, in units of what rounding costs.

    kernel      a torch.autograd.Function, a function of tensors, a torch.nn.Module, or (forward, backward) with
                backward(dy, *inputs), a gradient for each input, None for integers; forward may be None
    reference   the same function in ops of PyTorch, differentiable; it runs in float64
    inputs      bfloat16, float16 or float32 tensors, and whatever else the function takes. The parameters of a module come
                after them. The kernel runs on their device, the reference on the CPU
    dy          ∂L/∂y, a tuple for several outputs; by default normal numbers
    inside      what the kernel promises to compute in between reading and writing; None: every op in the inputs' dtype
    accumulate  what it promises to sum in
    batch       the axis of the items, or a tuple with one for each input, None for those without: each item alone must
                have the gradient that it has in the batch
    also        the dtype in which the kernel runs on a small shape to name a mistake; None: it runs in no other

    Returns a KernelReport, true if the gradients are right. Exceptions of kernel and reference at the inputs pass through.
    Raises glim.ValueError for a comparison that would decide nothing, glim.DTypeError for dtypes that have no judge.
    """
    called = kernel[-1] if isinstance(kernel, tuple) and len(kernel) == 2 else kernel
    if not callable(called) or not callable(reference):
        raise TypeError("compare_backward: compare_backward(kernel, reference, *inputs): both are functions of PyTorch's tensors, "
                        "and the kernel may be (forward, backward)")
    name = name_of(called) if name is None else str(name)
    count = len(inputs)
    gradients, inputs = calls.kernel(kernel, inputs)
    parameters = [k for k, _ in kernel.named_parameters()] if isinstance(kernel, torch.nn.Module) else None
    f, _ = calls.function(reference, inputs, parameters if isinstance(reference, torch.nn.Module) else None)
    dtype, device = _dtype(inputs)
    contract = (dtype, dtype if inside is None else _option("inside", inside, "float32", "float16", "bfloat16"),
                _option("accumulate", accumulate, "float64", "float32", "float16", "bfloat16"))
    also = also and _option("also", also, "float32", "float64")
    inputs = [_moved(x, "cpu") for x in inputs]
    dys = _upstreams(f, inputs, dy, dtype, seed)

    def on_device(dys, inputs, *number):
        found = gradients([_moved(d, device) for d in dys], [_moved(x, device) for x in inputs], *number)
        return [_moved(g, "cpu") for g in found]
    judge = Judge(on_device, not isinstance(kernel, tuple), f, contract, seed, calls.names(kernel, reference, len(inputs)))
    return judge.judge(name, inputs, dys, _batch_axes(batch, inputs[:count], dys), also)


def _option(option, value, *allowed):
    name = str(value).removeprefix("torch.")
    if name not in allowed:
        raise _glim.ValueError(f"compare_backward: {option} is {value!r}; it is one of {', '.join(allowed)}")
    return getattr(torch, name)


def _moved(x, device):
    return x.to(device) if isinstance(x, torch.Tensor) else x


def _dtype(inputs):
    """The lowest dtype of the inputs, which the kernel reads and writes, and their device."""
    found = [x for x in inputs if floating(x)]
    for x in (x for x in inputs if isinstance(x, torch.Tensor)):
        if x.is_complex() or x.is_quantized or x.layout != torch.strided or floating(x) and x.dtype not in LOW:
            advice = "; glim.gradcheck checks float64" if x.dtype == torch.float64 else ""
            raise _glim.DTypeError(f"compare_backward: an input is {_word(x.dtype)}, {_word(x.layout)}; the judge has models of "
                                   f"dense bfloat16, float16 and float32{advice}")
    if not found:
        raise _glim.DTypeError("compare_backward: no input is a floating tensor of PyTorch")
    return min((x.dtype for x in found), key=BITS.get), found[0].device


def _word(x):
    return str(x).removeprefix("torch.")


def _upstreams(reference, inputs, dy, dtype, seed):
    """dy for each output of the reference."""
    with torch.no_grad(), as_reference():
        runs = [outputs_of(reference(*(x.double() if floating(x) else x for x in inputs))) for _ in range(2)]
    if not runs[0]:
        raise TypeError("compare_backward: the reference returns no floating tensor; write it in ops of PyTorch")
    if not all(torch.equal(a, b) or a.isnan().any() for a, b in zip(*runs)):
        raise _glim.ValueError("compare_backward: the reference gives another output the second time; pass its random numbers "
                               "as an input, as a mask")
    generator = torch.Generator().manual_seed(seed)
    if dy is None:
        return [(torch.randn(y.shape, generator=generator) if y.numel() > 1 else torch.ones(y.shape)).to(dtype) for y in runs[0]]
    dys = list(dy) if isinstance(dy, (tuple, list)) else [dy]
    if not all(map(floating, dys)):
        raise TypeError("compare_backward: dy is a floating tensor of PyTorch, or a tuple with one for each output")
    if [tuple(d.shape) for d in dys] != [tuple(y.shape) for y in runs[0]]:
        raise _glim.ShapeError(f"compare_backward: dy is {', '.join(str(tuple(d.shape)) for d in dys)}, the reference's output "
                               f"{', '.join(str(tuple(y.shape)) for y in runs[0])}")
    if any(d.numel() > 1 for d in dys) and all(torch.equal(d, d.flatten()[:1].expand_as(d.flatten()).view_as(d)) for d in dys):
        raise _glim.ValueError("compare_backward: every element of dy is the same, as after y.sum(): such a dy hides mistakes; "
                               "pass torch.randn_like(y)")
    return [d.detach().cpu() for d in dys]


def _batch_axes(batch, inputs, dys):
    """The axis of the items of each input, or None; [] without items. A number is that of all inputs that have as many
    axes as the first, and of integers and bools with as many items."""
    if batch is None:
        return []
    if isinstance(batch, (tuple, list)):
        axes = list(batch)
        if len(axes) != len(inputs):
            raise _glim.ValueError(f"compare_backward: batch has {len(axes)} axes for {len(inputs)} inputs")
    else:
        first = next(x for x in inputs if floating(x))
        if not 0 <= batch < first.ndim:
            raise _glim.ValueError(f"compare_backward: batch is {batch}; the first input has {first.ndim} axes")
        axes = [batch if isinstance(x, torch.Tensor) and x.ndim > batch and x.shape[batch] == first.shape[batch]
                and (x.ndim == first.ndim or not floating(x)) else None for x in inputs]
    if any(a is not None and not (isinstance(x, torch.Tensor) and 0 <= a < x.ndim) for x, a in zip(inputs, axes)):
        raise _glim.ValueError("compare_backward: batch has an axis that its input lacks")
    sizes = {(x.shape[a], a) for x, a in zip(inputs, axes) if a is not None}
    if len({size for size, _ in sizes}) != 1:
        raise _glim.ValueError(f"compare_backward: batch: the inputs have {', '.join(str(n) for n, _ in sorted(sizes)) or 'no'} items")
    size, axis = next((x.shape[a], a) for x, a in zip(inputs, axes) if a is not None)
    if any(dy.ndim <= axis or dy.shape[axis] != size for dy in dys):
        raise _glim.ValueError(f"compare_backward: batch: dy has not {size} items along axis {axis}; leave batch out for a sum over "
                               "items")
    return axes
