"""The parameters after each step of an optimizer of Glim, compared; without PyTorch."""
import glim
import numpy as np

from .count import Skip

STEPS = 12
METHODS = {"foreach", "fused", "capturable", "differentiable"}  # PyTorch's ways to compute the same
RTOL, ATOL = 1e-12, 1e-14  # ATOL is relative to the largest element


def made(name, leaves, options):
    options = {k: v for k, v in options.items() if k not in METHODS}
    for off in ("amsgrad", "maximize"):
        if options.pop(off, False):
            raise Skip(f"an option that Glim does not have: {off}")
    return getattr(glim, name)(leaves, **options)


def steps(step_of, parameters):
    """The parameters after each step of an optimizer; step_of(gradients) is one. A gradient may be None."""
    after = []
    for step in range(STEPS):
        gradients = [np.cos(np.arange(p.size) * 1.3 + 5 * step + k).reshape(p.shape) for k, p in enumerate(parameters)]
        gradients = [x * (1000 if step == 6 else 1) for x in gradients]
        after.append(step_of([None if (step, k) == (4, 1) else np.asarray(x) for k, x in enumerate(gradients)]))
    return after


def parameters():
    return [np.sin(np.arange(np.prod(s, dtype=int)) + 1.0).reshape(s) for s in ((3, 4), (5,), ())]


def optimizer(name, options, wanted):
    """wanted: the parameters after each step."""
    leaves = [glim.Var.leaf(p) for p in parameters()]
    of_glim = made(name, leaves, options)

    def step(gradients):
        for leaf, gradient in zip(leaves, gradients):
            leaf.grad = gradient
        of_glim.step()
        return [np.array(leaf.numpy()) for leaf in leaves]

    for k, (found, after) in enumerate(zip(steps(step, leaves), wanted, strict=True)):
        for j, (a, b) in enumerate(zip(found, after, strict=True)):
            right = np.isclose(a, b, RTOL, ATOL * max(1, np.abs(b).max()))
            assert a.shape == np.shape(b) and right.all(), f"parameter {j} after step {k + 1} is {a}, not {b}"
    return ["values"]


def refused(name, leaves, options, message):
    """message: PyTorch's. leaves: None for parameters()."""
    try:
        made(name, [glim.Var.leaf(p) for p in parameters()] if leaves is None else leaves, options)
    except (glim.Error, TypeError):
        return ["refusals"]
    raise AssertionError(f"torch says {message!r}; Glim accepts it")
