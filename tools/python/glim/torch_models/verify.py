"""An imported graph compared with PyTorch's own run of the model: values, and the gradients of a random dy.

    first point    the arguments and parameters of the import
    second point   all floating ones shaken, since zeros and ones hide much

Equal means: |difference| ≤ tolerance · largest element of the tensor, not finite where PyTorch is not finite. A larger
difference is rounding only if it is below LOOSE times the largest element (of a gradient: of all gradients), and PyTorch's
own result moves as much (NOISE times) when parameters and arguments are rounded anew; a gradient's also if it is below SMALL
and ε times the largest of all gradients. Where the model refuses the second point, and one a hundredth as far, a warning
says that one point was compared.
"""
import warnings

import glim
import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from . import functions, graph, ops

TIGHT = {"float64": 1e-9, "float32": 2e-5}
LOOSE = {"float64": 1e-6, "float32": 2e-2}
NOISE = 10
SMALL = 1e-3  # of a gradient that is small beside the largest of all: other orders of summation move it by so much


class Pass:
    """One pass of PyTorch with a copy of the model.

    result: the leaves of what it returned; roots: those with a gradient; dys: random gradients of the roots
    """

    def __init__(self, module, args, kwargs):
        values, spec = pytree.tree_flatten((args, kwargs))
        self.inputs = [x.detach().clone().requires_grad_(floating(x)) if isinstance(x, torch.Tensor) else x for x in values]
        self.parameters = dict(module.named_parameters())
        self.leaves = {name: p for name, p in self.parameters.items() if p.requires_grad}
        self.leaves |= {f"argument {k}": x for k, x in enumerate(self.inputs) if floating(x)}
        torch.manual_seed(0)
        with torch.enable_grad(), _RequiredGradients():  # forward may write its arguments: they are no leaves
            args, kwargs = pytree.tree_unflatten([x.clone() if isinstance(x, torch.Tensor) else x for x in self.inputs], spec)
            self.result = pytree.tree_leaves(module(*args, **kwargs))
        self.roots = {k: y for k, y in enumerate(self.result) if floating(y) and y.requires_grad}
        draw = torch.Generator().manual_seed(1)
        self.dys = {k: torch.randn(y.shape, generator=draw, dtype=y.dtype) for k, y in self.roots.items()}

    def differentiate(self):
        """Sets `gradients`, by the names of leaves; values are those of now, whatever becomes of the module."""
        found = torch.autograd.grad(list(self.roots.values()), list(self.leaves.values()), list(self.dys.values()),
                                    allow_unused=True) if self.roots and self.leaves else [None] * len(self.leaves)
        self.gradients = {name: torch.zeros_like(x) if d is None else d.to_dense() for (name, x), d in zip(self.leaves.items(), found)}
        self.result = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in self.result]
        self.parameters = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in self.parameters.items()}
        return self

    def same_result(self, other):
        return len(self.result) == len(other.result) and all(
            _difference(a, b) <= TIGHT["float32"] for a, b in zip(self.result, other.result))

    def items(self):
        return {**{("result", k): y for k, y in enumerate(self.result)}, **{("gradient", k): d for k, d in self.gradients.items()}}


class _RequiredGradients(TorchFunctionMode):
    """Leaves out `x.requires_grad = True` of a value that requires a gradient already, which PyTorch takes of leaves alone."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function == torch.Tensor.requires_grad.__set__ and args[1] and args[0].requires_grad:
            return None
        return function(*args, **(kwargs or {}))


def floating(x):
    return isinstance(x, torch.Tensor) and x.dtype in (torch.float32, torch.float64)


def nodes_of(roots):
    """The nodes of PyTorch's graph of a pass."""
    todo, visited = [y.grad_fn for y in roots], {}
    while todo:
        node = todo.pop()
        if node is not None and node not in visited:
            visited[node] = True
            todo += [before for before, _ in node.next_functions]
    return list(visited)


class _Ours:
    """The pass of the imported graph at the same leaves, on a tape of its own."""

    def __init__(self, exported, reference):
        parameters = {name: _leaf(p) for name, p in reference.parameters.items()}
        inputs = [_leaf(x) if floating(x) else x for x in reference.inputs]
        named = {**parameters, **{f"argument {k}": x for k, x in enumerate(inputs)}}
        torch.manual_seed(0)  # a custom Function may draw
        with glim.Tape() as tape, ops.scaled(None):
            self.result, self.env = exported.run(inputs, parameters)
            self.extra = [k for k, y in enumerate(self.result) if k not in reference.roots and isinstance(y, glim.Var) and y.requires_grad]
            roots = {k: self.result[k] * 1.0 for k in reference.roots if isinstance(self.result[k], glim.Var)}  # one may be a leaf
            roots = {k: y for k, y in roots.items() if tape.node_of(y) >= 0}
            self.nodes = [n for n, x in self.env.items() if isinstance(x, glim.Var) and tape.node_of(x) >= 0]
            leaves = [named[name] for name in reference.leaves]
            found = tape.grad(list(roots.values()), [*leaves, *(self.env[n] for n in self.nodes)],
                              [glim.Var(reference.dys[k].numpy()) for k in roots]) if roots else [glim.Var(np.zeros_like(x.numpy())) for x in leaves]
        self.gradients = dict(zip(reference.leaves, found))
        self.node_gradients = dict(zip(self.nodes, found[len(leaves):]))

    items = Pass.items


def _leaf(x):
    return glim.Var.leaf(x.detach().numpy().copy()) if x.requires_grad else glim.Var(x.detach().numpy().copy())


def points(first, module, args, kwargs):
    """The passes of PyTorch at the two points. first: the pass at the first one. module: its copy, which stays as it is."""
    draw, saved = torch.Generator().manual_seed(2), {name: p.detach().clone() for name, p in module.named_parameters()}

    def shaken(x):
        return x * (1 + size * _normal(x, draw)) + 0.4 * size * _normal(x, draw) if floating(x) else x
    try:
        found = [first.differentiate()]
    except RuntimeError as error:
        raise glim.ValueError(f"from_torch: PyTorch does not differentiate the model: {str(error).splitlines()[0]}") from error
    for size in (0.05, 0.0005):
        _set_parameters(module, {name: shaken(x) for name, x in saved.items()})
        try:
            found.append(Pass(module, *pytree.tree_map(shaken, (args, kwargs))).differentiate())
            break
        except Exception as error:  # of any type: the model refuses such arguments, as probabilities below 0
            refusal = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    else:
        warnings.warn(f"from_torch: compared with PyTorch at one point alone, as the model refuses others ({refusal})", stacklevel=2)
    _set_parameters(module, saved)
    return found


def _set_parameters(module, values):
    with torch.no_grad():
        for name, p in module.named_parameters():
            p.copy_(values[name])


def _normal(x, draw):
    return torch.randn(x.shape, generator=draw, dtype=x.dtype)


def require_equal(exported, points, copy):
    """A ValueError if values or gradients part, naming op, module and line. copy: makes a copy of the model."""
    dtype = "float32" if exported.has_float32() else "float64"
    for reference in points:
        ours = _Ours(exported, reference)
        if ours.extra:
            raise glim.ValueError(f"from_torch: result {ours.extra[0]} has no gradient in PyTorch, and has one in torch.export's graph: "
                                  "return it detached")
        found, theirs = ours.items(), reference.items()
        parted = [key for key in theirs if not _difference(found[key], theirs[key]) <= TIGHT[dtype]]
        parted = parted and _beyond_rounding(parted, found, reference, exported, dtype, copy)
        if parted:
            raise glim.ValueError("from_torch: " + _Parting(parted[0], exported, reference, ours, 100 * TIGHT[dtype], copy).text)


def _difference(ours, theirs, scale=0.0):
    """|ours − theirs| over the largest element, or over `scale` if that is larger; inf where they differ in kind."""
    if not isinstance(theirs, torch.Tensor):
        return 0.0 if not isinstance(ours, (glim.Var, torch.Tensor)) and ours == theirs else np.inf
    a, b = _array(ours), _array(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.inf
    if b.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    a, b = a[finite], b[finite]
    size = max(np.abs(b).max(), scale, np.finfo(b.dtype).tiny)
    worst = np.abs(a - b).max()
    return worst / size if worst <= np.inf else np.inf  # NaN is no number


def _beyond_rounding(parted, ours, reference, exported, dtype, copy):
    """Keys of `parted` whose difference PyTorch's own rounding does not explain."""
    theirs = reference.items()
    largest = max((_largest(d) for d in reference.gradients.values()), default=0.0)
    beyond = [key for key in parted if not _difference(ours[key], theirs[key], largest if key[0] == "gradient" else 0.0) <= LOOSE[dtype]]
    if beyond:
        return beyond
    eps = torch.finfo(getattr(torch, dtype)).eps
    parted = [key for key in parted if not (key[0] == "gradient" and _difference(ours[key], theirs[key]) <= SMALL
                                            and _difference(ours[key], theirs[key], largest) <= eps)]
    draw, moved, module = torch.Generator().manual_seed(3), dict.fromkeys(parted, 0.0), copy()

    def rounded(x):
        return x.detach() * (1 + eps * _normal(x, draw)) if floating(x) else x
    for _ in range(3):
        _set_parameters(module, {name: rounded(p) for name, p in reference.parameters.items()})
        again = Pass(module, *pytree.tree_unflatten(list(map(rounded, reference.inputs)), exported.in_spec)).differentiate().items()
        moved = {key: max(moved[key], _difference(again[key], theirs[key])) for key in parted}
        parted = [key for key in parted if not _difference(ours[key], theirs[key]) <= NOISE * moved[key]]
        if not parted:
            break
    return parted


def _array(x):
    return ops.array(x.float() if isinstance(x, torch.Tensor) and x.dtype == torch.bfloat16 else x)


def _largest(x):
    return float(x.abs().nan_to_num(0, 0, 0).max()) if x.numel() else 0.0


# ---- where they part ----

class _Parting:
    """The sentence about the first difference, which is sought in the graph, computed by PyTorch node by node."""

    def __init__(self, key, exported, reference, ours, tolerance, copy):
        self.exported, self.reference, self.ours, self.tolerance = exported, reference, ours, tolerance
        kind, name = key
        self.values, self.gradients = self._in_torch()
        if kind == "gradient":
            what, where = f"the gradient of {name}", self._of_gradient(name)
        else:
            what, where = "the result" if len(reference.result) == 1 else f"result {name}", self._of_value(copy)
        self.text = f"{what} is not PyTorch's: {_shown(ours.items()[key], reference.items()[key])}. {where}"

    def _in_torch(self):
        """PyTorch's values and gradients of the nodes of the graph."""
        reference = self.reference
        with torch.enable_grad():
            result, env = self.exported.run(reference.inputs, reference.parameters, _torch_value)
        nodes = {n: x for n, x in env.items() if floating(x) and x.requires_grad}
        roots = [k for k in reference.roots if floating(result[k]) and result[k].requires_grad]
        found = torch.autograd.grad([result[k] for k in roots], list(nodes.values()), [reference.dys[k] for k in roots],
                                    allow_unused=True) if roots and nodes else []
        return env, {n: torch.zeros_like(x) if d is None else d for (n, x), d in zip(nodes.items(), found)}

    def _differs(self, ours, theirs):
        return isinstance(ours, (glim.Var, torch.Tensor)) and isinstance(theirs, torch.Tensor) and \
            not _difference(ours, theirs) <= self.tolerance

    def _of_value(self, copy):
        for node in self.exported.nodes:
            if self._differs(self.ours.env.get(node), self.values.get(node)):
                return f"They part at {node.target} in {graph.place(node)}"
        return f"torch.export gives another model: they part in {self._first_module(copy())}"

    def _of_gradient(self, name):
        nodes = [n for n in self.exported.nodes if self._differs(self.ours.node_gradients.get(n), self.gradients.get(n))]
        text = "They part at"
        if not nodes:  # PyTorch's gradient of the graph is Glim's
            text = "torch.export's graph has another backward (a hook, or a rule of PyTorch's own), after"
            nodes = [n for n in self.exported.nodes if name in (self.exported.parameter_names.get(n.name), self.exported.argument(n))]
        reader = next((n for node in nodes[-1:] for n in reversed(node.users)), None)
        return f"{text} {reader.target} in {graph.place(reader)}" if reader else text.replace(", after", "")

    def _first_module(self, module):
        """The first module, in order of their ends, of which a result is the value of no node."""
        results, reference = [], self.reference
        for name, m in module.named_modules():
            m.register_forward_hook(lambda _, args, y, name=name: results.append((name, pytree.tree_map(
                lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, y))))
        _set_parameters(module, reference.parameters)
        Pass(module, *pytree.tree_unflatten(reference.inputs, self.exported.in_spec))
        known = [x.detach() for x in self.values.values() if floating(x)]
        for name, result in results:
            for y in filter(floating, pytree.tree_leaves(result)):
                if not any(x.shape == y.shape and _difference(x, y) <= self.tolerance for x in known):
                    return name or "the model"
        return "the model"


def _torch_value(node, args, kwargs):
    if graph.is_function(node):
        return functions.applied(*args)
    if node.target is torch.ops.aten.copy.default:  # without a derivative in PyTorch
        return args[1].to(args[0].dtype).expand(args[0].shape)
    return node.target(*args, **kwargs)


def _shown(ours, theirs):
    if not isinstance(theirs, torch.Tensor):
        return f"{ours!r} for {theirs!r}"
    a, b = _array(ours), _array(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {a.shape} for {b.dtype} {b.shape}"
    with np.errstate(invalid="ignore"):
        wrong = np.where(np.isnan(a) != np.isnan(b), np.inf, np.nan_to_num(np.abs(a.astype(float) - b), nan=0.0, posinf=np.inf))
    k = np.unravel_index(wrong.argmax(), b.shape)
    return f"{a[k]:.6g} for {b[k]:.6g}" + (f" at {tuple(map(int, k))}" if k else "")
