"""RMS norm, convolutions, pooling and positions within attention; the torch call is the lambda."""

import math

import torch
from torch.nn import functional as F

from common import Draw, Reference, record


def rms_norm(ref, draw):
    x, w = draw.normal(2, 3, 6, mean=0.5, scale=2.0), draw.normal(6, mean=1.0, scale=0.2)
    for eps in (None, 1e-3):
        norm = lambda x, weight=None: F.rms_norm(x, (6,), weight, eps)
        tag = "" if eps is None else "_eps1e-3"
        record(ref, draw, f"rms_norm{tag}", norm, {"x": x}, {"weight": w}, dict(eps=eps))
        record(ref, draw, f"rms_norm_no_affine{tag}", norm, {"x": x}, None, dict(eps=eps))


def glu(ref, draw):
    x = draw.normal(2, 4, 6, scale=2.0)
    for axis in (1, -1):
        record(ref, draw, f"glu_axis{axis}", lambda x: F.glu(x, axis), {"x": x}, None, dict(axis=axis))


def convolution(ref, draw, name, x, weight, bias=True, **options):
    call = F.conv1d if len(x) == 3 else F.conv2d
    params = {"weight": draw.normal(*weight)}
    if bias:
        params["bias"] = draw.normal(weight[0])
    record(ref, draw, name, lambda x, weight, bias=None: call(x, weight, bias, **options),
           {"x": draw.normal(*x)}, params, options)


def grouped_convolutions(ref, draw):
    case = lambda *given, **options: convolution(ref, draw, *given, **options)
    case("conv1d_groups", (2, 4, 6), (6, 2, 3), groups=2)
    case("conv1d_depthwise", (2, 3, 7), (6, 1, 3), groups=3, stride=2, padding=2, dilation=2, bias=False)
    case("conv1d_groups_same", (1, 4, 5), (4, 1, 4), groups=4, padding="same")
    case("conv2d_groups", (2, 4, 5, 4), (2, 2, 3, 2), groups=2, stride=(2, 1), padding=(1, 0), dilation=(1, 2))
    case("conv2d_depthwise", (2, 3, 4, 5), (3, 1, 3, 3), groups=3, padding=1)
    case("conv2d_groups_kernel1", (2, 4, 3, 2), (6, 2, 1, 1), groups=2, bias=False)


def convolutions(ref, draw):
    """Keys of config are torch's arguments; kernel is that of the weight."""
    case = lambda *given, **options: convolution(ref, draw, *given, **options)
    case("conv1d", (2, 3, 7), (4, 3, 3))
    case("conv1d_stride", (2, 3, 9), (4, 3, 3), stride=2, padding=1)
    case("conv1d_dilation", (2, 3, 9), (2, 3, 3), dilation=2, padding=3)
    case("conv1d_kernel1", (2, 3, 4), (5, 3, 1))
    case("conv1d_same", (2, 3, 6), (4, 3, 4), padding="same", dilation=1)
    case("conv1d_no_bias", (1, 2, 4), (3, 2, 2), bias=False)
    case("conv2d", (2, 3, 5, 6), (4, 3, 3, 3))
    case("conv2d_padding", (2, 3, 4, 5), (4, 3, 3, 3), padding=1)
    case("conv2d_uneven", (2, 2, 7, 8), (3, 2, 3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2))
    case("conv2d_patches", (2, 3, 8, 8), (5, 3, 4, 4), stride=4)
    case("conv2d_kernel1", (2, 3, 2, 3), (5, 3, 1, 1))
    case("conv2d_kernel1_stride", (2, 3, 4, 5), (5, 3, 1, 1), stride=2)


def pooling(ref, draw):
    def case(name, call, x, **options):
        config = {k: v for k, v in options.items()}
        record(ref, draw, name, lambda x: call(x, **options), {"x": x}, None, config)

    # Rectified, so that many windows hold several zeros: the first of equals gets the gradient.
    ties = lambda *shape: F.relu(draw.normal(*shape))
    case("max_pool2d", F.max_pool2d, draw.normal(2, 3, 5, 6), kernel_size=2)
    case("max_pool2d_ties", F.max_pool2d, ties(2, 3, 6, 6), kernel_size=3, stride=2, padding=1)
    case("max_pool2d_dilation", F.max_pool2d, draw.normal(1, 2, 6, 7), kernel_size=(2, 3), stride=1,
         dilation=2)
    case("avg_pool2d", F.avg_pool2d, draw.normal(2, 3, 5, 6), kernel_size=2)
    for count in (True, False):
        case(f"avg_pool2d_padding_{'counts' if count else 'out'}", F.avg_pool2d,
             draw.normal(2, 3, 5, 6), kernel_size=3, stride=2, padding=1, count_include_pad=count)


def turn(x, offset=0, base=10000.0):
    """Su et al. 2021, equation 15: (x[2i], x[2i+1]) as a complex number, times e^{i m base^(-2i/D)}."""
    t, d = x.shape[-2:]
    angle = torch.outer(torch.arange(offset, offset + t, dtype=torch.float64),
                        base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d))
    turned = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous()) * torch.polar(
        torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2)


def slopes(heads):
    return torch.tensor([2.0 ** (-8.0 * h / heads) for h in range(1, heads + 1)], dtype=torch.float64)


def positions(ref, draw):
    record(ref, draw, "rotary", lambda x: turn(x), {"x": draw.normal(2, 2, 5, 6)}, None,
           dict(offset=0, base=10000.0))
    record(ref, draw, "rotary_offset", lambda x: turn(x, 70, 100.0), {"x": draw.normal(1, 2, 3, 4)},
           None, dict(offset=70, base=100.0))
    for heads in (2, 8, 12):
        ref.put(f"alibi_slopes_{heads}.y", slopes(heads))
        ref.case_config(f"alibi_slopes_{heads}", dict(heads=heads))

    d, heads = 8, 2
    names = {"in_proj_weight": (3 * d, d), "in_proj_bias": (3 * d,), "out_proj.weight": (d, d),
             "out_proj.bias": (d,)}

    def attend(x, causal, kind, **w):
        b, t, _ = x.shape
        q, k, v = (p.unflatten(-1, (heads, d // heads)).transpose(1, 2)
                   for p in F.linear(x, w["in_proj_weight"], w["in_proj_bias"]).chunk(3, -1))
        if kind == "rotary":
            q, k = turn(q), turn(k)
        at = torch.arange(t, dtype=torch.float64)
        bias = -slopes(heads)[:, None, None] * (at[:, None] - at).abs() if kind == "alibi" else 0.0
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // heads) + bias
        if causal:
            scores = scores.masked_fill(torch.ones(t, t).tril() == 0, -torch.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)
        return F.linear(y, w["out_proj.weight"], w["out_proj.bias"])

    for kind in ("rotary", "alibi"):
        for causal in (False, True):
            params = {k: draw.normal(*s, scale=0.5) for k, s in names.items()}
            record(ref, draw, f"attention_{kind}{'_causal' if causal else ''}",
                   lambda x, **w: attend(x, causal, kind, **w), {"x": draw.normal(2, 5, d)}, params,
                   dict(heads=heads, causal=causal, kind=kind))


def make():
    draw = Draw(89)
    ref = Reference(
        "vision",
        "RMS norm, convolutions, pooling, rotary and ALiBi positions, GLU: NAME.x, NAME.param.P, NAME.y, "
        "NAME.dy, NAME.dx, NAME.grad.P; the gradients are those of sum(dy * y).",
    )
    for part in (rms_norm, convolutions, pooling, positions, glu):
        part(ref, draw)
    grouped_convolutions(ref, Draw(97))
    return [ref]
