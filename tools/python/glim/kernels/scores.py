"""Numbers that are at most about 1 for a right gradient, each in units of what rounding costs."""

import torch

from .rounding import BITS

# Limits were set above the largest numbers of the right kernels of tests/python/kernels, with seeds 0 and 1. Above its
# limit a number is undecided, above FAILED times the limit wrong.
LIMITS = {"element": 12.0, "slice": 4.0, "whole": 2.5, "factor": 4.0}
FAILED = 3.0


def scores(error, true, errors, unit, dtype, factor):
    """{number: (value, where)} of a gradient's error."""
    if not torch.isfinite(error).all():
        return {"finite": (float("inf"), tuple(int(i) for i in (~torch.isfinite(error)).nonzero()[0]))}
    z = (error / unit).abs()
    found = {"element": (z.max().item(), tuple(int(i) for i in torch.unravel_index(z.argmax(), z.shape))),
             "whole": ((error.norm() / unit.norm()).item(), None)}
    for axis in range(true.ndim):
        ratio = slice_ratio(error, unit, axis)
        if ratio is not None and ratio.max() > found.get("slice", (0,))[0]:
            found["slice"] = (ratio.max().item(), (axis, int(ratio.argmax())))
    size = (true**2).sum().item()
    if factor and true.numel() > 200 and size > 0:
        along = (errors * true).sum(list(range(1, errors.ndim))) / size
        # 2^-20: what float32 sums may differ by in one direction
        room = along.square().mean().sqrt().item() + 2.0 ** -BITS[dtype] / true.numel() ** 0.5 + 2.0**-20
        found["factor"] = (abs((error * true).sum().item()) / size / room, None)
    return found


def slice_ratio(error, unit, axis):
    """Root mean square of error over unit for each index of an axis; more room where a slice has few elements."""
    others = [a for a in range(error.ndim) if a != axis]
    if error.shape[axis] < 2 or not others:
        return None
    count = error.numel() // error.shape[axis]
    return torch.sqrt((error**2).sum(others) / (unit**2).sum(others)) / (1 + 2 / count**0.5)
