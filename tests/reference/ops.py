"""Ops of autograd/ops.hpp as torch computes them: values, gradients, and gradients of the gradients."""

import torch
import torch.nn.functional as F

from common import Draw, Reference, representable

INF, NAN = float("inf"), float("nan")
IDS, BACK = torch.tensor([2, 0, 0, 1]), torch.tensor([-1, 0, -1])
MASK = torch.tensor([[True, False, True], [True, False, True]])


def cases(draw):
    """(name, function, inputs, whether torch's second derivatives are those of the function)"""
    x, y, cube = draw.normal(3, 4), draw.normal(3, 4), draw.normal(2, 3, 4)
    kinked = representable([-40, -3, -0.5, -1e-10, 0, 1e-10, 0.5, 3, 40])
    zeros = representable([[2, 0, 3, 0.5], [0, 0, 1, -2], [1.5, -1, 2, 0]])
    far = representable([[-900, 0, 700, 701], [-INF, -INF, 1, 2], [5, 4, -INF, 3]])
    ties = representable([[1, 3, 3, 2], [0, -1, -1, 4], [2, NAN, 5, NAN]])
    nan = representable([NAN, -1, 0, 1])
    positive = draw.uniform(3, 4, low=0.3, high=2)
    base = representable([0, 0, 0, 0, 0, -2, -2, -2, 2, 0.5])
    exponent = representable([0, 1, 2, 0.5, -1, 3, 2, -1, 0, -3])
    yield "power", torch.pow, [positive, y], True
    yield "power_broadcast", torch.pow, [positive, y[0]], True
    yield "power_of_number", lambda x: 2**x, [x], True
    yield "power_at_0", torch.pow, [base, exponent], False  # 0 for ∂²y/∂a∂b at b = 0, which is 1/a
    yield "power_of_negative", lambda x: torch.pow(x, exponent[5:8]), [base[5:8]], True
    yield "expm1", torch.expm1, [kinked], True
    yield "softplus", F.softplus, [kinked], False  # x above 20
    yield "softplus_3", lambda x: F.softplus(x, 3), [x], True
    yield "elu", F.elu, [kinked], False  # of the two second derivatives at 0 torch has the other
    yield "elu_2", lambda x: F.elu(x, 2), [x], True
    yield "leaky_relu", F.leaky_relu, [kinked], True
    yield "relu_nan", torch.relu, [nan], True
    yield "maximum_nan", torch.maximum, [nan, torch.flip(nan, [0])], True
    yield "cumprod", lambda x: torch.cumprod(x, 1), [x], True
    yield "cumprod_zeros", lambda x: torch.cumprod(x, 0), [zeros], True
    yield "logcumsumexp", lambda x: torch.logcumsumexp(x, 1), [x], True
    yield "logcumsumexp_far", lambda x: torch.logcumsumexp(x, 1), [far], False
    yield "cummax", lambda x: torch.cummax(x, 1), [ties], True
    yield "cummin", lambda x: torch.cummin(x, 1), [ties], True
    yield "pad", lambda x: F.pad(x, (2, -1, 0, 1), value=0.5), [x], True
    yield "index_ids", lambda x: x[IDS] ** 2, [x], True
    yield "index_mask", lambda x: x[MASK] ** 2, [cube], True
    yield "index_two", lambda x: x[:, IDS[:3], BACK] ** 2, [cube], True
    yield "index_apart", lambda x: x[IDS[1:], :, BACK] ** 2, [cube], True
    yield "layer_norm", lambda x, g, b: F.layer_norm(x, (3, 4), g, b), [cube, x, y], True
    yield "rms_norm", lambda x, g: F.rms_norm(x, (3, 4), g, 1e-5), [cube, x], True


def make():
    draw = Draw(74)
    ref = Reference(
        "ops", "NAME.X inputs, NAME.y, NAME.dy, NAME.dX; NAME.vX, and NAME.ddX, the gradients of the sum of vX · dX"
    )
    for name, f, inputs, twice in cases(draw):
        leaves = [t.clone().requires_grad_() for t in inputs]
        y = f(*leaves)
        if isinstance(y, tuple):
            y, indices = y
            ref.put(f"{name}.indices", indices)
        dy = draw.normal(*y.shape)
        grads = torch.autograd.grad(y, leaves, dy, create_graph=twice)
        ref.put(f"{name}.y", y)
        ref.put(f"{name}.dy", dy)
        for k, (x, dx) in enumerate(zip(leaves, grads)):
            ref.put(f"{name}.x{k}", x)
            ref.put(f"{name}.dx{k}", dx)
        ref.case_config(name, {"inputs": len(leaves), "twice": twice})
        if twice:
            v = [draw.normal(*dx.shape) for dx in grads]
            total = sum((a * b).sum() for a, b in zip(v, grads))
            second = torch.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else [None] * len(leaves)
            for k, (a, x, ddx) in enumerate(zip(v, leaves, second)):
                ref.put(f"{name}.v{k}", a)
                ref.put(f"{name}.ddx{k}", torch.zeros_like(x) if ddx is None else ddx)
    return [ref]
