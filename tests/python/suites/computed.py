"""One case of a suite, computed by Glim and compared. Each function says which kinds of numbers it has compared."""

import inspect

import numpy as np

import glim

from . import torch_nn  # noqa: F401  its entries of OPS
from .count import Skip, g
from .derivatives import Given, close, compare
from .torch_modules import FUNCTIONS, MODULES, function
from .torch_ops import OPS

REFUSED = (glim.Error, TypeError)
STEPS = 12  # of an optimizer
HOW = {"foreach", "fused", "capturable", "differentiable"}  # ways of torch to compute the same


def bound(f, args, options):
    """f(*args, **options); a Skip if f has no such arguments."""
    try:
        inspect.signature(f).bind(*args, **options)
    except TypeError as error:
        raise Skip(f"an argument that its entry does not take ({error})") from error
    return f(*args, **options)


# ---- operators ----
def operator(name, given, wanted):
    return compare(lambda *args, **options: bound(OPS[name], args, options), given, wanted)


def refused_by_operator(name, given, composed, said):
    """composed: the entry is a line of several functions, which take what torch refuses."""
    reason = "what is refused, of a function that Glim does not have itself"
    try:
        found = bound(OPS[name], given.args, given.options)
    except REFUSED:
        return ["refusals"]
    except Exception as error:
        raise (Skip(reason) if composed else error) from None
    if composed:
        raise Skip(reason)
    if isinstance(found, (int, float, np.ndarray)):
        raise Skip("numbers of Python and arrays alone: no function of Glim is called")
    raise AssertionError(f"torch says {said!r}; Glim returns {found!r}")


# ---- modules ----
def built(name, options, state, training):
    """(module of Glim, its forward)"""
    if name in FUNCTIONS:
        layer = function(name, dict(options), state)
        return layer, layer
    layer, forward = bound(MODULES[name], (), options)
    layer.to("float64")
    layer.load_state_dict({renamed(name, k): v for k, v in state.items()})
    layer.train(training)
    return layer, forward or layer


def renamed(name, key):
    """A cell is a layer of one step."""
    return key + "_l0" if name.endswith("Cell") else key


def module(name, training, options, state, given, wanted, buffers):
    """buffers: their values afterwards. The gradients of the parameters come after those of the inputs."""
    layer, forward = built(name, options, state, training)
    parameters = dict(layer.named_parameters())
    of = [parameters.pop(renamed(name, key)) for key in state if key not in buffers]
    assert not parameters, f"Glim's has more parameters: {sorted(parameters)}"
    kinds = compare(forward, Given(given.args, given.options, given.leaves + of), wanted)
    for key, buffer in layer.named_buffers():
        close(buffer.numpy(), buffers[key], f"{key} afterwards")
    return kinds


def refused_by_module(name, options, state, given, said):
    """given: None if the constructor refuses already."""
    try:
        _, forward = built(name, options, state, False)
        if given is not None:
            forward(*given.args, **given.options)
    except REFUSED:
        return ["refusals"]
    raise AssertionError(f"torch says {said!r}; Glim accepts it")


# ---- optimizers ----
def made(name, leaves, options):
    options = {k: v for k, v in options.items() if k not in HOW}
    for off in ("amsgrad", "maximize"):
        if options.pop(off, False):
            raise Skip(f"an option that Glim does not have: {off}")
    return getattr(g, name)(leaves, **options)


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

    for k, (ours, theirs) in enumerate(zip(steps(step, leaves), wanted, strict=True)):
        for j, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            close(a, b, f"parameter {j} after step {k + 1}", 1e-12, 1e-14)
    return ["values"]


def refused_by_optimizer(name, leaves, options, said):
    try:
        made(name, leaves, options)
    except REFUSED:
        return ["refusals"]
    raise AssertionError(f"torch says {said!r}; Glim accepts it")
