"""The true gradients, in float64 on the kernel's low-precision values, and what rounding adds to them."""

import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from .rounding import BITS, QUANTUM, Rounding, rounded

PASSES = 12  # of the reference, each with other roundings


def floating(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def outputs_of(y):
    """The floating outputs, a list."""
    return [t for t in (y if isinstance(y, (tuple, list)) else [y]) if floating(t)]


class InFloat64(TorchFunctionMode):
    """A reference that asks for float32, as softmax(s, dtype=torch.float32) or s.float(), stays in float64."""

    CASTS = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}

    def __torch_function__(self, f, types, args=(), kwargs=None):
        def wide(x):
            return torch.float64 if isinstance(x, torch.dtype) and x in QUANTUM else x
        if f in self.CASTS:
            return args[0].double()
        if f is torch.Tensor.to:
            args = tuple(map(wide, args))
        return f(*args, **{k: wide(x) if k == "dtype" else x for k, x in (kwargs or {}).items()})


@contextlib.contextmanager
def as_reference():
    """Autograd in float64, with attention in its parts, whatever the caller has set."""
    with sdpa_kernel(SDPBackend.MATH), torch.autocast("cpu", enabled=False), torch.inference_mode(False), InFloat64():
        yield


def reference_gradients(reference, inputs, dys, mode=None):
    """(outputs, gradients) of float64 inputs; None for inputs that are not floating."""
    xs = [x.detach().clone().double().requires_grad_() if floating(x) else x for x in inputs]
    with as_reference(), torch.enable_grad(), mode(xs) if mode else contextlib.nullcontext():
        ys = outputs_of(reference(*xs))
        targets = [x for x in xs if floating(x)]
        pairs = [(y, dy.to(y.dtype)) for y, dy in zip(ys, dys) if y.requires_grad]
        if not pairs:
            raise TypeError("compare_backward: autograd does not reach the reference's output; write the reference in ops of "
                            "PyTorch")
        found = torch.autograd.grad([y for y, _ in pairs], targets, [dy for _, dy in pairs], allow_unused=True)
    found = iter(torch.zeros_like(x) if g is None else g.detach() for x, g in zip(targets, found))
    return [y.detach() for y in ys], [next(found) if floating(x) else None for x in xs]


def truth(reference, inputs, dys, contract, seed):
    """For each input the true gradient and the errors of PASSES passes that round, or None."""
    _, true = reference_gradients(reference, inputs, dys)
    errors = [[] for _ in true]
    for k in range(1, PASSES + 1):
        mode = lambda xs: Rounding(*contract, seed * 1000 + k, [x for x in [*xs, *dys] if floating(x)])
        for j, g in enumerate(reference_gradients(reference, inputs, dys, mode)[1]):
            if g is not None:
                errors[j].append(rounded(g, inputs[j].dtype, seed * 1000 + 500 + k) - true[j])
    return [None if t is None or not t.numel() else (t, torch.stack(e)) for t, e in zip(true, errors)]


def unit(true, errors, dtype):
    """What an element of the gradient may be off by: the root mean square of the passes' errors and of half a digit.

    PASSES samples estimate a mean square badly. So it is drawn to the product of its means along each axis, or to the
    median of the relative errors, whichever is larger. Zeros that no rounding moves, as behind a mask, must be zeros nearly.
    """
    s2 = (errors**2).mean(0)
    pool = s2.mean()
    if pool > 0:
        for axis in range(s2.ndim):
            others = [a for a in range(s2.ndim) if a != axis]
            pool = pool * (s2.mean(others, keepdim=True) if others else s2) / s2.mean()
        large = true.abs() > 1e-3 * true.abs().max()  # zeros but for digits of float64 have any relative error
        relative = (errors / true).abs()[:, large].median().nan_to_num()
        pool = torch.maximum(pool, (1.5 * relative * true) ** 2)  # 1.5: from a median to a deviation
    zeros = (true == 0) & (s2 == 0)
    half = (true.abs() * 2.0 ** -BITS[dtype]) ** 2 / 3
    floor = (2.0**-22 * true.abs().max()) ** 2  # of float32 accumulators under cancellation
    s2 = (PASSES * s2 + 4 * pool) / (PASSES + 4) + half + floor
    return torch.sqrt(torch.where(zeros, 1e-4 * s2.mean(), s2)) + QUANTUM[dtype]
