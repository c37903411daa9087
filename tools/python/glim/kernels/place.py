"""Where a gradient is wrong: the smallest box of indices outside which all is right, and what is in it."""

import math

import torch

from .scores import LIMITS, slice_ratio


class Box:
    """ranges: (begin, end) for each axis. text: as "[1, 2:4, 32:40, :], the last 8 of 40 along axis 2; 0.5 × the truth"."""

    def __init__(self, gradient, true, unit):
        error = gradient - true
        self.errors = (error / unit).abs() / LIMITS["element"]
        wrong = ~(self.errors <= 0.5)
        self.shape = tuple(true.shape)
        self.indices = [_wrong_indices(wrong, error, unit, axis) for axis in range(true.ndim)]
        self.ranges = tuple((min(i), max(i) + 1) for i in self.indices)
        inside = tuple(slice(*r) for r in self.ranges)
        self.part = math.prod(e - b for b, e in self.ranges) / max(1, true.numel())
        self.everywhere = self.ranges == tuple((0, n) for n in self.shape)
        self.text = "; ".join([self._words(), _factor(gradient[inside], true[inside], unit[inside])])

    def _words(self):
        parts, remarks = [], []
        for axis, (indices, size) in enumerate(zip(self.indices, self.shape)):
            begin, end = min(indices), max(indices) + 1
            steps = {b - a for a, b in zip(indices, indices[1:])}
            if len(indices) == size:
                parts.append(":")
            elif end - begin == 1:
                parts.append(str(begin))
            elif len(steps) == 1 and steps != {1}:
                parts.append(f"{begin}:{end}:{steps.pop()}")
            else:
                parts.append(f"{begin}:{end}")
            if 1 < end - begin < size and end == size:
                remarks.append(f"the last {end - begin} of {size} along axis {axis}")
            elif 1 < end - begin < size and begin == 0:
                remarks.append(f"the first {end} of {size} along axis {axis}")
        return ", ".join(["everywhere" if self.everywhere else f"[{', '.join(parts)}]", *remarks])


def _wrong_indices(wrong, error, unit, axis):
    others = [a for a in range(wrong.ndim) if a != axis]
    found = wrong.any(dim=others) if others else wrong
    ratio = slice_ratio(error, unit, axis)
    if ratio is not None:
        found = found | ~(ratio <= LIMITS["slice"] / 2)
    return found.nonzero().flatten().tolist() or list(range(wrong.shape[axis]))


def _factor(gradient, true, unit):
    """Says how the gradient in the box differs: zero, a multiple of the truth, or by how much."""
    if not torch.isfinite(gradient).all():
        return "not finite"
    if not gradient.any():
        return "zero where the truth is not"
    size = (true**2).sum()
    factor = ((gradient * true).sum() / size).item() if size > 0 else 0.0
    if size > 0 and (gradient - factor * true).norm() <= LIMITS["whole"] * unit.norm() * max(1, abs(factor)):
        return f"{factor:.3g} × the truth"
    if not true.any():
        return "not zero where the truth is"
    return f"off by {((gradient - true).norm() / true.norm()).item():.2g} of the truth's norm"
