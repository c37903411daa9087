"""Hooks of PyTorch that change gradients. No exported graph has them: they are refused, or left out on request."""
import collections
import contextlib

import glim
import torch
from torch.nn.modules import module as modules

ON_MODULES = "_backward_hooks", "_backward_pre_hooks"
ON_TENSORS = "_backward_hooks", "_post_accumulate_grad_hooks"
WITHIN_FORWARD = "register_hook", "register_post_accumulate_grad_hook"


def hooked(module, tensors):
    """Names of what has such a hook. tensors: {name: tensor} of the arguments."""
    everywhere = modules._global_backward_hooks or modules._global_backward_pre_hooks
    found = ["every module"] if everywhere else []
    found += [name or type(m).__name__ for name, m in module.named_modules() if any(getattr(m, kind) for kind in ON_MODULES)]
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers()), **tensors}
    return found + [name for name, x in tensors.items() if any(getattr(x, kind, None) for kind in ON_TENSORS)]


@contextlib.contextmanager
def left_out(found):
    """Within it, no hook is registered on a tensor: a name goes to the list `found` instead."""
    before = {name: getattr(torch.Tensor, name) for name in WITHIN_FORWARD}

    def register(self, hook):
        found.append("a tensor within its forward")
        return torch.utils.hooks.RemovableHandle(collections.OrderedDict())
    for name in before:
        setattr(torch.Tensor, name, register)
    try:
        yield
    finally:
        for name, method in before.items():
            setattr(torch.Tensor, name, method)


def remove(module):
    """Takes the hooks out of a copy of a model."""
    for m in module.modules():
        for kind in ON_MODULES:
            getattr(m, kind).clear()


def require_none(found):
    if found:
        raise glim.ValueError(f"from_torch: {found[0]} has a hook on its gradient, which Glim does not run: take it out, and use tape.hook; "
                              "hooks=True leaves it out")
