"""One case of a suite through the importer: glim.from_torch of a function or module beside PyTorch's own run.

Compared are the results, the gradients of Σ dy·y by each leaf (floating arguments and parameters; dy is random), and the
gradients of Σ v·dx by the leaves and by dy. A case that the importer refuses is skipped with its reason.
"""
import re

import glim
import numpy as np
import torch
from glim.torch_models.ops import rule, to
from torch._export import utils
from torch.export import decomp_utils, exported_program
from torch.utils import _pytree as pytree

from .count import Skip

# Most of a small import is PyTorch's tables of all composite ops, which it makes anew each time and patches one by one. Those
# without a rule need no patch: PyTorch decomposes them itself. The resulting graph is the same.
TABLE = dict(torch.export.default_decompositions())
torch.export.default_decompositions = lambda: TABLE
COMPOSITE = {op for op in utils._collect_all_valid_cia_ops() if rule(op)}
for _module in (utils, decomp_utils, exported_program):
    _module._collect_all_valid_cia_ops = lambda: COMPOSITE
exported_program._is_preservable_cia_op = COMPOSITE.__contains__

RTOL = {"float64": 1e-9, "float32": 2e-4}    # of an element
ATOL = {"float64": 1e-10, "float32": 2e-5}   # of the largest element


def evenly(samples, most):
    """At most so many of the samples, from all over the list."""
    samples = list(samples)
    return [samples[k * (len(samples) - 1) // max(1, most - 1)] for k in range(most)] if len(samples) > most else samples


def of_tensors(sample, call):
    """A function of the tensors of an OpInfo's sample, which passes them to `call`, and {number of its leaf: tensor}."""
    leaves, spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = {k: x for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)}

    def function(*values):
        args, kwargs = pytree.tree_unflatten(list({**dict(enumerate(leaves)), **dict(zip(tensors, values))}.values()), spec)
        return call(*args, **kwargs)
    return function, tensors


def close(found, wanted, what):
    wanted = wanted.astype(np.int64) if wanted.dtype.kind in "iu" else wanted  # Glim has no other integers
    assert tuple(found.shape) == tuple(wanted.shape), f"{what} has shape {tuple(found.shape)}, not {tuple(wanted.shape)}"
    assert found.dtype == wanted.dtype, f"{what} is {found.dtype}, not {wanted.dtype}"
    if wanted.dtype.kind == "f":
        largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
        right = np.isclose(found, wanted, RTOL[wanted.dtype.name], ATOL[wanted.dtype.name] * largest, equal_nan=True)
    else:
        right = found == wanted
    if not np.all(right):
        k = tuple(int(i) for i in np.argwhere(~right)[0])
        raise AssertionError(f"{what}{list(k)} is {found[k]}, not {wanted[k]} ({(~right).sum()} of {right.size} differ)")


def array(x):
    """The values of a result; bfloat16 and quantized tensors have none in NumPy."""
    if isinstance(x, (glim.Var, glim.Tensor, torch.Tensor)):
        x = x.detach().resolve_conj().resolve_neg().numpy(force=True) if isinstance(x, torch.Tensor) else x.numpy()
    return np.asarray(x)


def refusal(error):
    """The reason of a refusal without names, shapes and numbers."""
    text = str(error).splitlines()[0].removeprefix("from_torch: ")
    text = re.sub(r" in the model( \([^)]*\))?| in \S+ \(\S+:\d+\)|\(\S+\.py:\d+\)", "", text)
    text = re.sub(r"\. The \d+ that there are.*", "", text)
    return f"refused: {text[:140]}"


def weights(shapes, dtypes, seed):
    """A random tensor of each shape."""
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype) for shape, dtype in zip(shapes, dtypes)]


def expected(ys, leaves, second):
    """PyTorch's gradients of both orders; second: None if there is none."""
    dys = [dy.requires_grad_() for dy in weights([y.shape for y in ys], [y.dtype for y in ys], 1)]
    live = [(y, dy) for y, dy in zip(ys, dys) if y.requires_grad]
    if not leaves or not live:
        return [torch.zeros_like(x) for x in leaves], None
    first = gradients([y for y, _ in live], leaves, [dy for _, dy in live], second)
    if not second or not any(d.requires_grad for d in first):
        return first, None
    total = sum((d * v).sum() for d, v in zip(first, weights([d.shape for d in first], [d.dtype for d in first], 50)))
    try:
        return first, gradients([total], [*leaves, *dys], None, False)
    except (RuntimeError, NotImplementedError):
        return first, None


def gradients(ys, xs, dys, create_graph):
    found = torch.autograd.grad(ys, xs, dys, create_graph=create_graph, allow_unused=True)
    return [torch.zeros_like(x) if d is None else d for x, d in zip(xs, found)]


def total(values, factors):
    """Σ value·factor in float64, or None if there is none."""
    parts = [to(glim.sum(v * f), "float64") for v, f in zip(values, factors) if v.size]
    return sum(parts[1:], parts[0]) if parts else None


def leaf_values(tree):
    """Tensors and numbers of a result, which may have names."""
    tree = list(tree.values()) if isinstance(tree, dict) else tree
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, (glim.Var, torch.Tensor, int, float, bool, complex))]


def compare(function, args, kwargs, second=True):
    """Whatever the importer takes is what PyTorch computes. Returns what was compared."""
    tensors = pytree.tree_leaves((args, kwargs))
    if any(isinstance(x, torch.Tensor) and (x.layout != torch.strided or x.is_quantized) for x in tensors):
        raise Skip("sparse or quantized")
    try:
        ys = leaf_values(function(*args, **kwargs))
    except Exception as error:  # of many types
        raise Skip("PyTorch refuses it") from error
    plain = pytree.tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, (args, kwargs))
    parameters = dict(function.named_parameters()) if isinstance(function, torch.nn.Module) else {}
    try:
        imported = glim.from_torch(function, *plain, verify=False)  # a wrong rule is to be seen
    except (glim.Error, TypeError) as error:
        raise Skip(refusal(error)) from error
    differentiable = list(dict.fromkeys(x for x in tensors if isinstance(x, torch.Tensor) and x.requires_grad))
    ours = {x: glim.Var.leaf(array(x)) for x in differentiable}
    names = dict(imported.named_parameters())
    leaves, vars_ = [*differentiable, *parameters.values()], [*ours.values(), *(names[name] for name in parameters)]
    args, kwargs = pytree.tree_map(lambda x: ours.get(x, x.detach()) if isinstance(x, torch.Tensor) else x, (args, kwargs))
    with glim.Tape() as tape:
        try:
            found = leaf_values(imported(*args, **kwargs))
        except glim.Error as error:
            raise Skip(refusal(error)) from error
        assert len(found) == len(ys), f"{len(found)} results, not {len(ys)}"
        for k, (a, b) in enumerate(zip(found, ys)):
            close(array(a), array(b), f"result {k}")
        floating = [k for k, y in enumerate(ys) if isinstance(y, torch.Tensor) and y.is_floating_point()]
        if not leaves or not floating:
            return ["values"]
        ys, found = [ys[k] for k in floating], [found[k] for k in floating]
        try:
            first, wanted = expected(ys, leaves, second)
        except RuntimeError as error:
            raise Skip("PyTorch has no gradient") from error
        dys = [glim.Var.leaf(dy.numpy()) for dy in weights([y.shape for y in ys], [y.dtype for y in ys], 1)]
        loss = total(found, dys)
        if loss is None:
            return ["values"]
        if not vars_:
            return ["values"]
        dxs = tape.grad(loss, vars_, create_graph=wanted is not None)
        for k, (a, b) in enumerate(zip(dxs, first)):
            close(array(a), array(b), f"gradient {k}")
        if wanted is None:
            return ["values", "gradients"]
        slope = total(dxs, [glim.Var(v.numpy()) for v in weights([d.shape for d in first], [d.dtype for d in first], 50)])
        if slope is not None:
            for k, (a, b) in enumerate(zip(tape.grad(slope, [*vars_, *dys]), wanted)):
                close(array(a), array(b), f"second derivative {k}")
    return ["values", "gradients", "second derivatives"]
