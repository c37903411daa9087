"""The user's model and program stay as they are while PyTorch runs and exports a copy, and a later change is noticed."""
import contextlib
import copy
import logging
import random
import threading
import warnings

import glim
import numpy as np
import torch
from torch._subclasses import FakeTensor
from torch.utils import _pytree as pytree

_LOCK = threading.RLock()  # torch.export and functions.replaced change the state of the process


@contextlib.contextmanager
def undisturbed():
    """One import at a time. Generators, logging and warnings of the program are put back."""
    with _LOCK, torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        before = random.getstate(), np.random.get_state(), logging.root.manager.disable
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
            logging.disable(before[2])


def copied(module):
    """A deep copy. Tensors that an earlier pass left in a module are copied without their history."""
    memo = {id(x): x.detach().clone() for x in pytree.tree_leaves([list(vars(m).values()) for m in module.modules()])
            if isinstance(x, torch.Tensor) and (not x.is_leaf or isinstance(x, FakeTensor))}  # a hook may keep an export's
    try:
        return copy.deepcopy(module, memo)
    except Exception as error:  # of any type: __deepcopy__ may be the user's
        raise glim.ValueError(f"from_torch: the model cannot be copied (copy.deepcopy: {str(error).splitlines()[0]}), "
                              "so its state could not be kept") from error


def tensors_of(module):
    """{name: (the tensor, its version, its mode)} of parameters and buffers, which show whether forward changes them."""
    return {name: (x, x._version, x.requires_grad) for name, x in [*module.named_parameters(), *module.named_buffers()]}


def written(module, before):
    """Names of the parameters and buffers that changed since tensors_of(module) gave `before`."""
    after = tensors_of(module)
    return [name for name in {**before, **after} if
            name not in after or name not in before or before[name][0] is not after[name][0] or before[name][1:] != after[name][1:]]


class Fingerprint:
    """Modules, modes, hooks, buffers and plain attributes of a model. Values of parameters are not part of it."""

    def __init__(self, module):
        self.entries = []  # (what it is, a dict, its key, the value at the import)
        visited = set()
        for path, m in module.named_modules():
            for key, value in vars(m).items():
                name = f"{path}.{key}".lstrip(".")
                if key in ("_parameters", "_buffers", "_modules"):
                    self.entries += [(f"{path}.{k}".lstrip("."), value, k, _identity(v)) for k, v in value.items()]
                elif key.endswith("_hooks"):
                    self.entries.append((name, vars(m), key, _identity(value)))
                else:
                    self._attribute(name, vars(m), key, value, visited)

    def _attribute(self, name, owner, key, value, visited):
        if _plain(value):
            self.entries.append((name, owner, key, _identity(value)))
        elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.Tensor, torch.nn.Module)) and not callable(value):
            if id(value) not in visited:  # a configuration, which all modules share
                visited.add(id(value))
                self.entries += [(f"{name}.{k}", vars(value), k, _identity(v)) for k, v in vars(value).items() if _plain(v)]

    def changed(self):
        """Names of what is another than at the import."""
        return [name for name, owner, key, value in self.entries if _identity(owner.get(key)) != value]

    def leave_out(self, names):
        """names: what forward itself changes, as a counter of calls."""
        self.entries = [entry for entry in self.entries if entry[0] not in names]

    def require_same(self):
        for name in self.changed():
            raise glim.StateError(f"from_torch: the PyTorch model has changed since the import, in {name}: import it again")


def _plain(value):
    return value is None or isinstance(value, (bool, int, float, str)) or isinstance(value, (tuple, list)) and all(map(_plain, value))


def _identity(value):
    """What a later value is compared by: the number of writes of a buffer, the extents of a parameter, the names of hooks."""
    if isinstance(value, torch.nn.Parameter):
        return "parameter", tuple(value.shape), value.dtype
    if isinstance(value, torch.Tensor):
        return id(value), value._version
    if isinstance(value, dict):
        return tuple(value)
    if isinstance(value, list):
        return tuple(map(_identity, value))
    return value if _plain(value) else id(value)
