"""Functions of each element, gated units; rotary positions."""

import math
from functools import partial

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, fixed, formula, normal, sum_in_blocks, through, wide

ROOT = math.sqrt(2 / math.pi)


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(ROOT * (x + 0.044715 * x**3)))


def gelu_tanh_slope(x, tanh=torch.tanh):
    t = tanh(ROOT * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * x * x)


def tanh_in_half(x):
    """The tanh by an exponential in fp16."""
    e = through(torch.float16, torch.exp(2 * x))
    return (e - 1) / (e + 1)


def gelu_erf(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_erf_slope(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def silu(x):
    return x * torch.sigmoid(x)


def silu_slope(x):
    s = torch.sigmoid(x)
    return s * (1 + x * (1 - s))


def gated(name, function, slope, N=24, C=40):
    """function(gate) * up, both halves of one input, recomputed in the backward."""
    def reference(x):
        gate, up = x.chunk(2, -1)
        return function(gate) * up

    def kernel(dy, x, fault=""):
        (gate, up), dY = wide(x).chunk(2, -1), wide(dy)
        halves = dY * up * slope(gate), dY * function(gate)
        if fault == "exchanged":
            halves = halves[::-1]
        elif fault == "slope for up":
            halves = halves[0], dY * slope(gate)
        elif fault == "dy in place":  # the gate's gradient is written over dy before the other reads it
            halves = halves[0], halves[0] * function(gate)
        elif fault == "interleaved":
            return (torch.stack(halves, -1).flatten(-2),)
        return (torch.cat(halves, -1),)

    return Kernel("pointwise", name, reference, kernel, (normal(N, 2 * C),), (0,))


def biased_gelu(name, N=45, C=24, block=16):
    """GELU of x + bias, the gradient of the bias in partial sums of blocks."""
    def reference(x, bias):
        return gelu_tanh(x + bias)

    def kernel(dy, x, bias, fault=""):
        dX = wide(dy) * gelu_tanh_slope(wide(x) if fault == "no bias" else wide(x) + wide(bias))
        rounded = wide(dX.to(x.dtype))  # what a second kernel reads
        covered = len(x) // block * block if fault == "last rows" else None
        return dX, sum_in_blocks(rounded, block, torch.bfloat16 if fault == "bf16" else None, covered)

    return Kernel("pointwise", name, reference, kernel, (normal(N, C), normal(C)), (0, None))


def angles(positions, width, dtype):
    theta = positions[..., None].double() * 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    return theta.cos().to(dtype), theta.sin().to(dtype)


def rotary(name, halves=False, B=2, H=2, T=20, D=16, rotated=None, scaled=1):
    """Pairs of channels are turned by angles that grow with the position; `rotated` channels of D."""
    rotated = rotated or D
    positions = (torch.arange(B)[:, None] * 7 + torch.arange(T)) * scaled

    def split(x):
        return x.chunk(2, -1) if halves else (x[..., 0::2], x[..., 1::2])

    def joined(a, b):
        return torch.cat((a, b), -1) if halves else torch.stack((a, b), -1).flatten(-2)

    def reference(x, positions):
        cos, sin = (t[:, None] for t in angles(positions, rotated, x.dtype))
        (a, b), rest = split(x[..., :rotated]), x[..., rotated:]
        return torch.cat((joined(a * cos - b * sin, b * cos + a * sin), rest), -1)

    def kernel(dy, x, positions, fault=""):
        dY, precise = wide(dy), wide(x).dtype
        positions = positions + (fault == "next position")
        positions = positions[:1].expand_as(positions) if fault == "positions of item 0" else positions
        cos, sin = (t[:, None] for t in angles(positions, rotated, precise))
        if fault == "angles in bf16":
            theta = positions[..., None] * 10000.0 ** (-torch.arange(0, rotated, 2) / rotated)
            theta = through(torch.bfloat16, theta.to(precise))[:, None]
            cos, sin = theta.cos(), theta.sin()
        a, b = split(dY[..., :rotated])
        sin = -sin if fault == "forward" else sin
        if fault == "other pairs":
            a, b = dY[..., 0::2], dY[..., 1::2]
        da, db = a * cos + b * sin, b * cos - a * sin
        rest = torch.zeros_like(dY[..., rotated:]) if fault == "no rest" else dY[..., rotated:]
        return (torch.cat((joined(da, b * cos + a * sin if fault == "a sign" else db), rest), -1),)

    return Kernel("position", name, reference, kernel, (normal(B, H, T, D), fixed(positions)), (0, 0))


swiglu, pairs = gated("SwiGLU", silu, silu_slope), rotary("rotary, pairs")
element = partial(formula, "pointwise")
GELU, TANH, SILU = (lambda dy, x, slope=slope: dy * slope(x) for slope in (gelu_erf_slope, gelu_tanh_slope, silu_slope))

CASES = [
    *element("GELU", gelu_erf, GELU, "bhf",
             ("f", "the slope is that of the tanh formula", TANH),
             ("h", "the slope in fp16 is that of the tanh formula", TANH),
             ("b", "the slope lacks x times the density", lambda dy, x: dy * 0.5 * (1 + torch.erf(x / math.sqrt(2)))),
             ("b", "the last partial block of 256 elements is not written", lambda dy, x: GELU(dy, x).where(
                 torch.arange(x.numel()).view(x.shape) < x.numel() // 256 * 256, 0), {"box": (0, {0: (19, 24)})}),
             ("h", "dy is clipped to 2", lambda dy, x: GELU(dy.clamp(-2, 2), x))),
    *element("GELU by tanh", gelu_tanh, TANH, "bf",
             ("h", "the slope of the cubic lacks its 3", lambda dy, x: TANH(dy, x) - dy * 0.044715 * x**3 * ROOT * (
                 1 - torch.tanh(ROOT * (x + 0.044715 * x**3)) ** 2)),
             ("b", "the tanh is made of an exponential in fp16", lambda dy, x: dy * gelu_tanh_slope(x, tanh_in_half),
              {"only_at": "times 4"}), shape=(64, 64)),
    *element("SiLU", silu, SILU, "bf",
             ("h", "the slope is the sigmoid alone", lambda dy, x: dy * torch.sigmoid(x)),
             ("b", "the sigmoid is exp over 1 + exp in fp16", lambda dy, x: dy * (s := (1 + tanh_in_half(x / 2)) / 2) * (
                 1 + x * (1 - s)), {"only_at": "times 4"}), shape=(64, 64)),
    *element("ReLU squared", lambda x: torch.relu(x).square(), lambda dy, x: dy * 2 * torch.relu(x), "bf",
             ("b", "the slope lacks the 2", lambda dy, x: dy * torch.relu(x)),
             ("h", "the slope is 2 x below 0, too", lambda dy, x: dy * 2 * x)),
    *element("softcap", lambda x: 2 * torch.tanh(x / 2), lambda dy, x: dy * (1 - torch.tanh(x / 2) ** 2), "bf",
             ("b", "the slope lacks the square", lambda dy, x: dy * (1 - torch.tanh(x / 2).abs()))),
    *element("softplus", lambda x: torch.log1p(torch.exp(-x.abs())) + torch.relu(x), lambda dy, x: dy * torch.sigmoid(x), "bf",
             ("h", "the slope is that at -x", lambda dy, x: dy * torch.sigmoid(-x))),
    *cases(Kernel("pointwise", "GELU, torch's", gelu_erf, eager(F.gelu), (normal(24, 40),), (0,)), "bhf"),
    *cases(Kernel("pointwise", "SiLU, torch's", silu, eager(F.silu), (normal(24, 40),), (0,)), "b"),
    *cases(swiglu, "bhf",
           ("b", "exchanged", "the halves' gradients are exchanged"),
           ("h", "slope for up", "the second half's gradient has the slope of the gate", {"box": (0, {1: (40, 80)})}),
           ("b", "dy in place", "the first half's gradient is written over dy", {"box": (0, {1: (40, 80)})}),
           ("b", "interleaved", "the halves' gradients are stored in turn")),
    *cases(gated("GeGLU", gelu_erf, gelu_erf_slope), "bhf"),
    *cases(swiglu._replace(name="SwiGLU, eager", backward=eager(swiglu.reference), inside=None), "bhf"),
    *cases(biased_gelu("GELU of a biased x"), "bhf",
           ("b", "no bias", "the slope is that at x without the bias"),
           ("h", "last rows", "the bias's gradient loses the last partial block", {"box": 1})),
    *cases(biased_gelu("GELU of a biased x, 400 rows", N=400, C=16, block=400), "b",
           ("b", "bf16", "the bias's gradient is summed in bf16", {"box": 1})),
    *cases(pairs, "bh",
           ("b", "forward", "the gradient is turned forward"),
           ("h", "a sign", "a sign of the second channel of each pair is wrong"),
           ("b", "next position", "positions are counted from 1"),
           ("b", "positions of item 0", "the second item has the first item's positions", {"box": (0, {0: (1, 2)})})),
    *cases(rotary("rotary, halves", halves=True), "bhf", ("b", "other pairs", "neighbours are paired, not halves")),
    *cases(rotary("rotary, half of the channels", rotated=8), "bh",
           ("h", "no rest", "channels that are not turned have no gradient", {"box": (0, {3: (8, 16)})})),
    *cases(rotary("rotary, positions up to 3,200", scaled=123, halves=True), "b",
           ("b", "angles in bf16", "angles are computed in bf16")),
]
