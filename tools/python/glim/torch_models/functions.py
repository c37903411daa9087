"""Custom autograd.Functions of a model: one op each in the graph, whose backward is the Function's own.

torch.export would look through a Function at its forward, and lose the backward that somebody wrote: a straight-through
estimator, a reversed gradient, a mistake.
"""
import contextlib

import glim
import numpy as np
import torch
from torch.utils import _pytree as pytree

LIBRARY = torch.library.Library("glim_functions", "FRAGMENT")
CALLS = []  # (apply of the Function, its arguments with None for tensors) of the ops call0, call1, ...


def require_no_hooks(module, args, kwargs):
    """A ValueError for hooks that change gradients, which no graph has."""
    hooked = [name or type(m).__name__ for name, m in module.named_modules() if m._backward_hooks or m._backward_pre_hooks]
    own = torch.Tensor.register_hook

    def register_hook(self, hook):
        hooked.append("a tensor within its forward")
        return own(self, hook)
    torch.Tensor.register_hook = register_hook
    try:
        with torch.enable_grad():
            module(*args, **kwargs)
    finally:
        torch.Tensor.register_hook = own
    if hooked:
        raise glim.ValueError(f"from_torch: {hooked[0]} has a hook on its gradient, which Glim does not run: take it out, and use "
                              "tape.hook")


def functions_of(module, args, kwargs):
    """The custom Functions that the pass applies to something that needs a gradient."""
    found, seen = [], set()
    with torch.enable_grad():
        todo = [x.grad_fn for x in pytree.tree_leaves(module(*args, **kwargs)) if isinstance(x, torch.Tensor)]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        cls = getattr(node, "_forward_cls", None)
        if cls and cls not in found:
            found.append(cls)
        todo += [before for before, _ in node.next_functions]
    return found


@contextlib.contextmanager
def replaced(functions, by):
    """Within it, F.apply is by(F, apply, arguments) for each Function F."""
    for cls in functions:
        own = cls.apply
        cls.apply = lambda *given, cls=cls, own=own: by(cls, own, given)
    try:
        yield
    finally:
        for cls in functions:
            del cls.apply


def as_op(cls, apply, given):
    """Records the call as an op of its own."""
    number = len(CALLS)
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    CALLS.append((apply, [None if isinstance(x, torch.Tensor) else x for x in given]))

    def run(xs):
        ys = _applied(number, xs)
        several.append(isinstance(ys, tuple))
        ys = ys if several[-1] else (ys,)
        if len({y.dtype if isinstance(y, torch.Tensor) and y.is_floating_point() else None for y in ys} | {None}) != 2:
            raise glim.ValueError(f"from_torch: {cls.__name__} gives something else than floating tensors of one dtype")
        return [y.clone() for y in ys]
    several = []
    LIBRARY.define(f"call{number}(Tensor[] xs) -> Tensor[]")
    LIBRARY.impl(f"call{number}", run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"glim_functions::call{number}", run, lib=LIBRARY)
    ys = getattr(torch.ops.glim_functions, f"call{number}")(tensors)
    return tuple(ys) if several[-1] else ys[0]


def _applied(number, xs):
    apply, given = CALLS[number]
    xs = iter(xs)
    return apply(*[next(xs) if x is None else x for x in given])


class Function(glim.Op):
    """A Function of PyTorch, forward and backward; several results are one after another in a vector."""

    def __init__(self, number):
        self.number = number

    def _run(self, arrays):
        tensors = [torch.from_numpy(np.array(x)) for x in arrays]
        leaves = [x.requires_grad_() if x.is_floating_point() else x for x in tensors]
        with torch.enable_grad():
            ys = _applied(self.number, leaves)
            return leaves, torch.cat([y.reshape(-1) for y in ys]) if isinstance(ys, tuple) else ys, [
                y.shape for y in ys] if isinstance(ys, tuple) else None

    def forward(self, *arrays):
        _, y, self.shapes = self._run(arrays)
        return y.detach().numpy()

    def gradient(self, dy, *xs):
        leaves, y, _ = self._run([x.numpy() for x in xs])
        floating = [x for x in leaves if x.requires_grad]
        given = iter(torch.autograd.grad(y, floating, torch.from_numpy(np.array(dy.numpy())), allow_unused=True))
        found = [next(given) if x.requires_grad else None for x in leaves]
        return tuple((np.zeros(x.shape, x.detach().numpy().dtype) if d is None else d.numpy()) if x.requires_grad else None
                     for x, d in zip(leaves, found))


def call(name, xs):
    """The op `name` of the graph on Vars and constants."""
    f = Function(int(name.removeprefix("call")))
    y = glim.apply(f, [x if isinstance(x, glim.Var) else x.numpy() for x in xs])
    if f.shapes is None:
        return [y]
    return [part.reshape(tuple(shape)) for part, shape in zip(glim.split(y, 0, [s.numel() for s in f.shapes]), f.shapes)]
