"""From torch's tensors to Glim's, and a case of a function computed by both."""

import numpy as np
import torch

import glim

from .count import Skip
from .derivatives import close, derivatives

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


class Arguments:
    """The arguments of a function of torch, for Glim. Tensors that need a gradient are leaves."""

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


def normals(shapes, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(tuple(s)) for s in shapes]


def torch_derivatives(ys, xs, second=True):
    """(dys, vs, first, second) of outputs that torch has computed; vs None if it has no second derivatives."""
    ys = [y for y in ys if y.is_floating_point()]
    dys = normals([y.shape for y in ys], 1)
    with_gradient = [k for k, y in enumerate(ys) if y.requires_grad]
    if not xs or not with_gradient:
        return dys, None, [], []
    ups = [torch.tensor(dy, requires_grad=True) for dy in dys]
    first = torch.autograd.grad([ys[k] for k in with_gradient], xs, [ups[k] for k in with_gradient], create_graph=second, allow_unused=True)
    first = [torch.zeros_like(x) if d is None else d for x, d in zip(xs, first)]
    if not second:
        return dys, None, first, []
    vs = normals([d.shape for d in first], 2)
    total = sum((d * torch.tensor(v)).sum() for d, v in zip(first, vs))
    if total.requires_grad:
        try:
            found = torch.autograd.grad(total, [*xs, *ups], allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return dys, None, first, []
    else:
        found = [None] * (len(xs) + len(ups))
    return dys, vs, first, [torch.zeros_like(x) if d is None else d for x, d in zip([*xs, *ups], found)]


def compare(f, arguments, wanted, call, second=True):
    """Glim's f(arguments) beside the outputs of torch: values, first and second derivatives. Says which there were."""
    wanted = tensors(wanted)
    dys, vs, first, seconds = torch_derivatives(wanted, arguments.tensors, second)
    ys, found, again = derivatives(lambda: call(f, arguments), arguments.leaves if first else [], dys, vs)
    assert len(ys) == len(wanted), f"{len(ys)} outputs, not {len(wanted)}"
    for k, (y, w) in enumerate(zip(ys, wanted)):
        close(y.numpy() if hasattr(y, "numpy") else y, array(w), f"output {k}")
    for k, (d, w) in enumerate(zip(found, first)):
        close(d.numpy(), array(w), f"the gradient of input {k}")
    for k, (d, w) in enumerate(zip(again, seconds)):
        close(d.numpy(), array(w), f"the second derivative by {'input' if k < len(first) else 'dy'} {k % len(first)}")
    return ["values"] + ["gradients"] * bool(first) + ["second derivatives"] * bool(seconds)
