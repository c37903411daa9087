"""torch's list of optimizers: the parameters after each of a few steps, with every setting that Glim has; and settings that
it refuses."""

import inspect

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import glim

from .count import Count, Skip, g
from .derivatives import close
from .with_torch import Arguments

LEAST = {"values": 10, "refusals": 12}
STEPS = 12
HOW = {"foreach", "fused", "capturable", "differentiable"}  # ways to compute the same

INFOS = {info.optim_cls.__name__: info for info in optim_db}
OURS = ["SGD", "Adam", "AdamW"]


def names():
    return OURS


def left_out():
    return {"not an optimizer of Glim": len(INFOS) - len(OURS)}


def optimizer(name, leaves, options):
    """Glim's, with torch's options and torch's defaults."""
    options = {k: v for k, v in options.items() if k not in HOW}
    for off in ("amsgrad", "maximize"):
        if options.pop(off, False):
            raise Skip(f"an option that Glim does not have: {off}")
    if any(isinstance(v, torch.Tensor) for v in [options.get("lr"), *options.get("betas", ())]):
        raise Skip("a rate that is a tensor")
    cls = getattr(g, name)
    lr = inspect.signature(getattr(torch.optim, name)).parameters["lr"].default
    return cls(leaves, **{"lr": lr, **options})


def one(name, options):
    rng = np.random.default_rng(0)
    first = [rng.standard_normal(s) for s in ((3, 4), (5,), ())]
    theirs = [torch.tensor(x, requires_grad=True) for x in first]
    ours = [glim.Var.leaf(np.array(x)) for x in first]
    optimizers = optimizer(name, ours, options), getattr(torch.optim, name)(theirs, **options)
    for step in range(STEPS):
        for k, (a, b) in enumerate(zip(ours, theirs)):
            if (step, k) == (4, 1):  # a parameter without a gradient
                a.grad, b.grad = None, None
                continue
            gradient = np.asarray(rng.standard_normal(a.shape) * (1000 if step == 6 else 1))
            a.grad, b.grad = gradient, torch.tensor(gradient)
        for o in optimizers:
            o.step()
        for k, (a, b) in enumerate(zip(ours, theirs)):
            close(a.numpy(), b.detach().numpy(), f"parameter {k} after step {step + 1}", 1e-12, 1e-14)
    return ["values"]


def refused(name, error):
    if error.error_on != OptimizerErrorEnum.CONSTRUCTION_ERROR:
        raise Skip("a step with a closure")
    given = error.optimizer_error_input
    try:
        if isinstance(given.params, list) and any(isinstance(p, dict) for p in given.params):
            raise Skip("groups of parameters")
        leaves = [glim.Var.leaf(np.zeros(3))] if given.params is None else Arguments(given.params).args[0]
        optimizer(name, leaves, given.kwargs)
    except (glim.Error, TypeError):
        return ["refusals"]
    if "duplicate" in error.error_regex and given.params is None:
        raise Skip("a warning of torch")
    raise AssertionError(f"torch says {error.error_regex!r}; Glim accepts it")


def run(name):
    count, info = Count(), INFOS[name]
    for k, given in enumerate(info.optim_inputs_func("cpu")):
        count.case(f"{name} {k} {given.desc}", one, name, given.kwargs)
    for k, error in enumerate(info.optim_error_inputs_func("cpu", torch.float64)):
        count.case(f"{name} error {k} {error.optimizer_error_input.desc}", refused, name, error)
    return count
