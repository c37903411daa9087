"""Inputs that show what Gaussian ones hide, made of the user's own and in their dtype."""

import torch

from .truth import floating

AS_GIVEN = "as given"


def probes(inputs, dys):
    """(name, inputs, dys)"""

    def changed(change):
        return [change(x.clone()) if floating(x) else x for x in inputs]

    def repeat(x):
        if x.ndim >= 2:
            x[..., 1::2, :] = x[..., :1, :]
        return x

    def shrink(x):  # not zero, where relu has a kink
        if x.ndim >= 2 and x.shape[-2]:
            x[..., -1, :] /= 1024
        return x

    def last(axis):
        kept = [torch.zeros_like(dy) for dy in dys]
        for dy, zeros in zip(dys, kept):
            zeros.select(axis, -1).copy_(dy.select(axis, -1))
        return kept

    yield AS_GIVEN, list(inputs), list(dys)
    yield "times 4", changed(lambda x: x * 4), dys
    yield "times 1/16", changed(lambda x: x / 16), dys
    yield "repeated rows", changed(repeat), dys
    yield "a row near zero", changed(shrink), dys
    yield "all of one sign", changed(torch.abs), [dy.abs() for dy in dys]
    if all(dy.ndim >= 2 and dy.shape[-2] > 1 for dy in dys):
        yield "dy in the last row alone", list(inputs), last(-2)
    if all(dy.ndim >= 1 and dy.shape[0] > 1 for dy in dys):
        yield "dy in the last item alone", list(inputs), last(0)
