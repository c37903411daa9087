"""Kernels and references as functions of tensors."""

import torch

from ..adapters import argument_names
from .truth import floating, outputs_of


def kernel(kernel, inputs):
    """((dys, inputs, number) ↦ a gradient for each input, the inputs with a module's parameters). Where autograd calls the
    kernel, a number is that of the only input that needs a gradient."""
    if isinstance(kernel, tuple):
        backward = kernel[1]

        def gradients(dys, inputs, number=None):
            found = backward(dys[0] if len(dys) == 1 else tuple(dys), *inputs)
            return list(found) if isinstance(found, (tuple, list)) else [found]
        return gradients, list(inputs)

    f, inputs = function(kernel, inputs)

    def gradients(dys, inputs, number=None):
        with torch.enable_grad():
            xs = [x.detach().requires_grad_(number in (None, k)) if floating(x) else x for k, x in enumerate(inputs)]
            ys = outputs_of(f(*xs))
            if len(ys) != len(dys):
                raise TypeError(f"compare_backward: the kernel has {len(ys)} floating outputs, the reference {len(dys)}")
            targets = [x for x in xs if floating(x) and x.requires_grad]
            pairs = [(y, dy.to(y.dtype)) for y, dy in zip(ys, dys) if y.requires_grad]
            if not pairs:
                raise TypeError("compare_backward: no output of the kernel requires a gradient; pass (forward, backward) for a "
                                "kernel outside autograd")
            found = iter(torch.autograd.grad([y for y, _ in pairs], targets, [d for _, d in pairs], allow_unused=True))
        return [next(found) if floating(x) and x.requires_grad else None for x in xs]
    return gradients, inputs


def function(function, inputs, order=None):
    """(a function of the inputs and, if it is a module, of its parameters, these inputs). order: names of the parameters."""
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        return function.apply, list(inputs)
    if not isinstance(function, torch.nn.Module):
        return function, list(inputs)
    parameters = dict(function.named_parameters())
    if order is not None:
        if {*order} != {*parameters}:
            raise TypeError(f"compare_backward: the kernel's parameters are {', '.join(order)}; the reference's are "
                            f"{', '.join(parameters)}")
        parameters = {name: parameters[name] for name in order}

    def call(*xs):
        count = len(xs) - len(parameters)
        dtype = next(x.dtype for x in xs if floating(x))
        buffers = {k: b.to(dtype, copy=True) if floating(b) else b.clone() for k, b in function.named_buffers()}
        return torch.func.functional_call(function, {**dict(zip(parameters, xs[count:])), **buffers}, tuple(xs[:count]))
    return call, [*inputs, *(p.detach() for p in parameters.values())]


def names(kernel, reference, count):
    """The names of the inputs, by the reference's signature, and of a module's parameters."""
    module = next((f for f in (kernel, reference) if isinstance(f, torch.nn.Module)), None)
    parameters = [k for k, _ in module.named_parameters()] if module else []
    f = reference.forward if isinstance(reference, torch.nn.Module) else reference
    return [*argument_names(f, count - len(parameters)), *parameters]
