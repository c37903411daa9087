"""From torch's tensors to Glim's, and torch's values and derivatives."""

import numpy as np
import torch

import glim

from .count import Skip
from .derivatives import Given, Wanted, across, up

KINDS = {torch.float64: "float64", torch.float32: "float32", torch.int64: "int64", torch.bool: "bool"}


def array(x):
    """An array over the memory of a tensor, with its strides."""
    if x.dtype not in KINDS:
        raise Skip(f"of {str(x.dtype).removeprefix('torch.')}")
    if x.layout != torch.strided:
        raise Skip("sparse")
    if x.dim() > 64:
        raise Skip("more axes than NumPy has")
    return (x.new_zeros(x.shape) if x._is_zerotensor() else x).detach().numpy()


class Arguments(Given):
    """The arguments of a function of torch. `tensors` are those that need a gradient."""

    def __init__(self, *args, **options):
        self.tensors, self.leaves = [], []
        self.args = [*(self.operand(self.of(x)) for x in args[:1]), *map(self.of, args[1:])]
        self.options = self.of(options)

    def operand(self, x):
        """The first argument is a Var, of integers and bools, too."""
        if isinstance(x, (list, tuple)):
            return type(x)(map(self.operand, x))
        return glim.Var(x) if isinstance(x, np.ndarray) else x

    def of(self, x):
        if isinstance(x, torch.Tensor):
            a = array(x)
            if a.dtype.kind != "f":
                return a
            if not x.requires_grad:
                return glim.Var(a)
            for known, leaf in zip(self.tensors, self.leaves):
                if known is x:
                    return leaf
            self.tensors.append(x)
            self.leaves.append(glim.Var.leaf(a))
            return self.leaves[-1]
        if isinstance(x, dict):
            return {k: self.of(v) for k, v in x.items()}
        if isinstance(x, torch.Size):
            return tuple(x)
        if isinstance(x, (list, tuple)):
            return type(x)(map(self.of, x))
        if isinstance(x, torch.dtype):
            return KINDS.get(x, str(x))
        if isinstance(x, complex):
            raise Skip("of complex128")
        return x


def tensors(tree):
    """Those of a tree that are tensors, in its order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    return [t for part in tree for t in tensors(part)] if isinstance(tree, (list, tuple, type({}.values()))) else []


def wanted_of(ys, xs, second=True):
    """What torch computes of outputs ys and tensors xs that need a gradient."""
    ys = tensors(ys)
    outputs = [array(y) for y in ys]
    ys = [y for y in ys if y.is_floating_point()]
    dys = [torch.tensor(dy, requires_grad=True) for dy in up([y.shape for y in ys])]
    with_gradient = [k for k, y in enumerate(ys) if y.requires_grad]
    if not xs or not with_gradient:
        return Wanted(outputs, [], [])
    first = gradients([ys[k] for k in with_gradient], xs, [dys[k] for k in with_gradient], second)
    wanted = Wanted(outputs, [array(d) for d in first], [])
    total = sum((d * torch.tensor(v)).sum() for d, v in zip(first, across([d.shape for d in first])))
    if second and total.requires_grad:
        try:
            wanted.second = [array(d) for d in gradients([total], [*xs, *dys], None, False)]
        except (RuntimeError, NotImplementedError):
            pass  # torch has no second derivative
    elif second:
        wanted.second = [np.zeros(x.shape) for x in [*xs, *dys]]
    return wanted


def gradients(ys, xs, dys, create_graph):
    found = torch.autograd.grad(ys, xs, dys, create_graph=create_graph, allow_unused=True)
    return [torch.zeros_like(x) if d is None else d for x, d in zip(xs, found)]
