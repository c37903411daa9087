"""Custom autograd.Functions of a model: one op each in the graph, whose backward is the Function's own.

torch.export would look through a Function at its forward, and lose the backward that somebody wrote: a straight-through
estimator, a reversed gradient, a mistake. While the model is exported, the forward of a Function records this op; a Function
is recognised however it is called (F.apply, or a name bound to F.apply long before).
"""
import contextlib
import itertools
import weakref

import glim
import numpy as np
import torch
from torch.autograd.function import _is_setup_context_defined

LIBRARY = torch.library.Library("glim_functions", "FRAGMENT")
LIBRARY.define("call(int number, Tensor[] xs) -> Tensor[]")
_NUMBERS = itertools.count()
_TENSOR = object()  # stands for a tensor among the arguments
_CALLS = weakref.WeakValueDictionary()  # a graph keeps its calls


class Call:
    """One call in a model: its Function, and the arguments that are no tensors."""

    def __init__(self, cls, arguments):
        self.cls, self.arguments = cls, [_TENSOR if isinstance(x, torch.Tensor) else x for x in arguments]
        self.number = next(_NUMBERS)
        self.several = False
        _CALLS[self.number] = self

    def __call__(self, xs):
        xs = iter(xs)
        with _unreplaced():
            ys = self.cls.apply(*[next(xs) if x is _TENSOR else x for x in self.arguments])
        self.several = isinstance(ys, tuple)
        return ys if self.several else (ys,)


def _impl(number, xs):
    ys = _CALLS[number](xs)
    if len({y.dtype if isinstance(y, torch.Tensor) and y.is_floating_point() else None for y in ys} | {None}) != 2:
        raise glim.ValueError(f"from_torch: {_CALLS[number].cls.__name__} gives something else than floating tensors of one dtype")
    return [y.clone() for y in ys]


LIBRARY.impl("call", _impl, "CompositeExplicitAutograd")
torch.library.register_fake("glim_functions::call", _impl, lib=LIBRARY)


def functions_of(nodes):
    """The custom Functions among the nodes of PyTorch's graph of a pass."""
    return list(dict.fromkeys(n._forward_cls for n in nodes if hasattr(n, "_forward_cls")))


_REPLACED = [True]


@contextlib.contextmanager
def _unreplaced():
    _REPLACED.append(False)
    try:
        yield
    finally:
        _REPLACED.pop()


@contextlib.contextmanager
def replaced(functions, replacement):
    """Within it, each Function F calls replacement(F, arguments) before its forward, and returns the result unless it is None."""
    saved = [(cls, {k: cls.__dict__[k] for k in ("forward", "setup_context") if k in cls.__dict__}) for cls in functions]
    for cls in functions:
        _replace(cls, replacement)
    try:
        yield
    finally:
        for cls, attributes in saved:
            for name in ("forward", "setup_context"):
                if name in attributes:
                    setattr(cls, name, attributes[name])
                elif name in cls.__dict__:
                    delattr(cls, name)


def _replace(cls, replacement):
    forward, setup, apart = cls.forward, cls.setup_context, _is_setup_context_defined(cls.setup_context)

    def replacing(*args):
        y = replacement(cls, args if apart else args[1:]) if _REPLACED[-1] else None
        done.append(y is not None)
        return y if done[-1] else forward(*args)

    def saving(*args):
        if not done.pop():
            setup(*args)
    done = []
    cls.forward = staticmethod(replacing)
    if apart:
        cls.setup_context = staticmethod(saving)


def recorder(calls):
    """The `replacement` of replaced(): it records an op of its own, and adds the Call to a list, which keeps it."""
    def record(cls, args):
        calls.append(Call(cls, args))
        ys = torch.ops.glim_functions.call(calls[-1].number, [x for x in args if isinstance(x, torch.Tensor)])
        return tuple(ys) if calls[-1].several else ys[0]
    return record


class Function(glim.Op):
    """A Function of PyTorch, forward and backward; several results with a gradient are one after another in a vector.

    PyTorch's graph of the forward pass is kept for backward: forward may draw random numbers.
    """

    def __init__(self, call, xs):
        self.call, self.constants = call, [_TENSOR if isinstance(x, glim.Var) else x for x in xs]

    def forward(self, *arrays):
        self.leaves = [torch.from_numpy(np.array(x)).requires_grad_() for x in arrays]
        leaves = iter(self.leaves)
        with torch.enable_grad():
            self.results = self.call([next(leaves) if x is _TENSOR else x for x in self.constants])
            parts = [y.reshape(-1) for y in self.results if y.requires_grad] or [self.leaves[0].new_zeros(0)]
            self.y = torch.cat(parts) if self.call.several else self.results[0]
        return self.y.detach().numpy()

    def gradient(self, dy, *xs):
        found = torch.autograd.grad(self.y, self.leaves, torch.from_numpy(np.array(dy.numpy())), allow_unused=True, retain_graph=True) \
            if self.y.requires_grad else [None] * len(self.leaves)
        return tuple(np.zeros(x.shape, x.detach().numpy().dtype) if d is None else d.numpy() for x, d in zip(self.leaves, found))


def applied(number, xs):
    """The results of a call in the graph on tensors."""
    return list(_CALLS[number](xs))


def call(number, xs):
    """The results of a call in the graph on Vars and constants."""
    f = Function(_CALLS[number], xs)
    y = glim.apply(f, [x for x in xs if isinstance(x, glim.Var)])
    if not f.call.several:
        return [y]
    parts = iter(glim.split(y, 0, [r.numel() for r in f.results if r.requires_grad] or [0]))
    return [next(parts).reshape(tuple(r.shape)) if r.requires_grad else r for r in f.results]
