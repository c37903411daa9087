"""The operands of a kernel where it is used."""

import contextlib
import inspect
from typing import NamedTuple

import torch

from .truth import outputs_of


class Call(NamedTuple):
    """compare_backward(kernel, reference, *call.inputs, dy=call.dy)"""

    inputs: tuple
    dy: object  # None until backward has come by; a tuple for several outputs


@contextlib.contextmanager
def record_inputs(kernel):
    """Keeps the operands of each call of a torch.nn.Module or torch.autograd.Function, and the dy that reaches it.

        with glim.record_inputs(model.layer[3].attention) as calls:
            model(batch).loss.backward()
        glim.compare_backward(FlashAttention, attention, *calls[0].inputs, dy=calls[0].dy)
    """
    calls = []

    def record(inputs, y):
        index, outputs = len(calls), outputs_of(y)
        dys = [torch.zeros_like(t) for t in outputs]
        calls.append(Call(tuple(x.detach().clone() if isinstance(x, torch.Tensor) else x for x in inputs), None))

        def keep(k):
            def hook(dy):
                dys[k] = dy.detach().clone()
                calls[index] = calls[index]._replace(dy=dys[0] if len(dys) == 1 else tuple(dys))
            return hook
        for k, t in enumerate(outputs):
            if t.requires_grad:
                t.register_hook(keep(k))

    if isinstance(kernel, torch.nn.Module):
        order = inspect.signature(kernel.forward)
        handle = kernel.register_forward_hook(
            lambda module, args, kwargs, y: record(_in_order(order, args, kwargs), y), with_kwargs=True)
        try:
            yield calls
        finally:
            handle.remove()
        return
    if not (isinstance(kernel, type) and issubclass(kernel, torch.autograd.Function)):
        raise TypeError(f"record_inputs: a torch.nn.Module or torch.autograd.Function, not {type(kernel).__name__}")
    apply, defined = kernel.apply, "apply" in vars(kernel)

    def recorded(*inputs):
        y = apply(*inputs)
        record(inputs, y)
        return y
    kernel.apply = recorded
    try:
        yield calls
    finally:
        if defined:
            kernel.apply = apply
        else:
            del kernel.apply


def _in_order(signature, args, kwargs):
    bound = signature.bind(*args, **kwargs)
    alone = [n for n in bound.arguments if signature.parameters[n].kind in (inspect.Parameter.KEYWORD_ONLY,
                                                                              inspect.Parameter.VAR_KEYWORD)]
    if alone:
        raise TypeError(f"record_inputs: {', '.join(alone)}: keywords alone cannot be recorded; wrap the module")
    bound.apply_defaults()
    return bound.args
