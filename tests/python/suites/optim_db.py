"""torch's list of optimizers: the parameters after each of a few steps, with every setting that Glim has; and settings that
it refuses."""

import functools
import inspect

import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import glim
from torch.utils import _pytree as pytree

from .count import Skip
from .optimizers import optimizer, parameters, refused, steps

LEAST = {"values": 13, "refusals": 14}

INFOS = {info.optim_cls.__name__: info for info in optim_db}


def names():
    return ["SGD", "Adam", "AdamW"]


def left_out():
    return {"not an optimizer of Glim": len(INFOS) - len(names())}


def options_of(name, given):
    """With torch's default rate."""
    if any(isinstance(v, torch.Tensor) for v in [given.get("lr"), *given.get("betas", ())]):
        raise Skip("a rate that is a tensor")
    return {"lr": inspect.signature(getattr(torch.optim, name)).parameters["lr"].default, **given}


def prepared(name, given):
    theirs = [torch.tensor(p, requires_grad=True) for p in parameters()]
    of_torch = getattr(torch.optim, name)(theirs, **given)

    def step(gradients):
        for p, gradient in zip(theirs, gradients):
            p.grad = None if gradient is None else torch.tensor(gradient)
        of_torch.step()
        return [p.detach().numpy().copy() for p in theirs]

    return name, options_of(name, given), steps(step, parameters())


def refusal(name, error):
    if error.error_on != OptimizerErrorEnum.CONSTRUCTION_ERROR:
        raise Skip("a step with a closure")
    given = error.optimizer_error_input
    if isinstance(given.params, list) and any(isinstance(p, dict) for p in given.params):
        raise Skip("groups of parameters")
    leaf = functools.cache(lambda x: glim.Var.leaf(x.detach().numpy()) if isinstance(x, torch.Tensor) else x)
    leaves = None if given.params is None else pytree.tree_map(leaf, given.params)
    return name, leaves, options_of(name, given.kwargs), error.error_regex


def cases(name):
    info = INFOS[name]
    for k, given in enumerate(info.optim_inputs_func("cpu")):
        yield f"{name} {k} {given.desc}", optimizer, prepared, name, given.kwargs
    for k, error in enumerate(info.optim_error_inputs_func("cpu", torch.float64)):
        yield f"{name} error {k} {error.optimizer_error_input.desc}", refused, refusal, name, error
