"""What each check says of a backward: Glim's judge, and the rules that authors of kernels use."""

import torch
import torch.nn.functional as F

import glim
from glim.kernels.calls import outputs_of
from glim.kernels.truth import floating, reference_gradients


def drawn(case, seed):
    """Inputs and dy of a case."""
    generator = torch.Generator().manual_seed(seed)
    inputs = case.draw(generator)
    y = outputs_of(case.reference(*(x.double() if floating(x) else x for x in inputs)))[0]
    return inputs, torch.randn(y.shape, generator=generator).to(case.dtype) if y.numel() > 1 else torch.ones(y.shape, dtype=case.dtype)


def judged(case, inputs, dy, seed=0):
    return glim.compare_backward((None, case.backward), case.reference, *inputs, dy=dy, inside=case.inside, batch=case.batch,
                                 accumulate=case.accumulate, also=None, seed=seed, name=case.name)


def rules(case, inputs, dy):
    """{rule: whether it passes the backward}"""
    _, true = reference_gradients(case.reference, inputs, [dy])
    true = [t for t in true if t is not None]
    leaves = [x.clone().requires_grad_() if floating(x) else x for x in inputs]
    y = outputs_of(case.reference(*leaves))[0]
    eager = torch.autograd.grad(y, [x for x in leaves if floating(x)], dy.to(y.dtype), allow_unused=True)
    found = [g for g, x in zip(case.backward(dy, *inputs), inputs) if floating(x)]
    pairs = [(torch.zeros_like(t) if g is None else g.double(), t, torch.zeros_like(t) if e is None else e.double(), g.dtype)
             for g, t, e in zip(found, true, eager)]
    return {
        "flash-attention's": all((g - t).abs().max() <= 2 * (e - t).abs().max() + 1e-5 for g, t, e, _ in pairs),
        "allclose 1e-2": all(torch.allclose(g, t, rtol=1e-2, atol=1e-2) for g, t, *_ in pairs),
        "allclose 1e-3": all(torch.allclose(g, t, rtol=1e-3, atol=1e-3) for g, t, *_ in pairs),
        "assert_close": all(_close(g.to(d), t.to(d)) for g, t, _, d in pairs),
        "cosine > 0.999": all(F.cosine_similarity(g.flatten(), t.flatten(), 0) > 0.999 for g, t, *_ in pairs if t.any()),
    }


def _close(g, t):
    try:
        torch.testing.assert_close(g, t)
        return True
    except AssertionError:
        return False


def torch_gradcheck(case, inputs):
    """What torch.autograd.gradcheck says of the backward in float64."""
    class Kernel(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.xs = xs
            with torch.no_grad():
                return outputs_of(case.reference(*xs))[0]

        @staticmethod
        def backward(ctx, dy):
            return tuple(case.backward(dy, *(x.detach() if isinstance(x, torch.Tensor) else x for x in ctx.xs)))

    xs = [x.double().requires_grad_() if floating(x) else x for x in inputs]
    return torch.autograd.gradcheck(Kernel.apply, xs, raise_exception=False, fast_mode=False)
