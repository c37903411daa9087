"""What is wrong with the gradients of a PyTorch model: diagnose(model, inputs, loss).

    custom Function   its backward, by gradcheck on the arguments that the pass gave it
    not finite        the first value, then the first gradient on the way back: op, module, line, and what the op read
    parameters        without a gradient, or with one of zeros: where it was lost
    attention         queries that may attend to nothing, and saturated rows
    shared memory     two parameters in one storage, which an optimizer updates twice
"""
import pathlib
import traceback
import warnings

import glim
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from . import from_torch, functions, graph, state, verify

SATURATED = 0.999  # a probability above it
FEW = 8            # names that a finding lists


class Finding:
    """One: its kind, a sentence, and the place, "MODULE (FILE:LINE)"."""

    def __init__(self, kind, text, place="", first=True):
        self.kind, self.text, self.place = kind, text, place
        self.first = first  # False: of a value that was made of infinities

    def __str__(self):
        return f"{self.kind}: {self.text}" + (f"\n    at {self.place}" if self.place else "")


class Diagnosis:
    """What was found, the worst first. A Diagnosis without findings is true."""

    def __init__(self, findings):
        self.findings = findings

    def __bool__(self):
        return not self.findings

    def __str__(self):
        return "\n".join(map(str, self.findings)) or "nothing found: values and gradients are finite, and every parameter gets one"

    __repr__ = __str__


def diagnose(model, inputs, loss=None):
    """What is wrong with the gradients of a PyTorch model in one pass: see glim.diagnose."""
    args, kwargs = ((), dict(inputs)) if hasattr(inputs, "keys") else (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {})
    module = _WithLoss(model, loss)
    findings = _shared(model)
    loss, calls, gradients, failure = _in_torch(module, args, kwargs)
    findings += _functions(calls)
    first = _first_in_torch(module, args, kwargs)
    if failure:
        return Diagnosis(findings + ([first] if first else []) + [failure])
    try:
        g = from_torch(module, args, kwargs, hooks=True, verify=False)
    except glim.Error:
        if first:
            return Diagnosis(findings + [first])
        raise
    with glim.Tape(replay=True) as tape, glim.explicit():
        y = g(*args, **kwargs)
        if not isinstance(y, glim.Var) or y.size != 1:
            raise glim.ValueError("diagnose: the pass has no loss: loss=lambda out: ... gives a tensor of one element")
        if tape.node_of(y) < 0:
            lost = Finding("no gradient", "the loss depends on no parameter that has a gradient", _lost(g, args, kwargs, None))
            return Diagnosis(findings + ([first] if first else []) + [lost])
        if not np.allclose(y.numpy(), loss.numpy(), 1e-3, equal_nan=True):
            findings.append(Finding("another value", f"PyTorch's loss is {loss.item():.6g}, that of the import is {y.item():.6g}: "
                                    "glim.from_torch says where they part"))
        backward = _Backward(tape, y)
        not_finite, attention = backward.not_finite(), backward.attention()
        # A value that the tape does not have, as that of a constant. A mask that hides all keys explains its NaN.
        if first and not any(f.kind == "mask" or f.kind == "value" and f.first for f in not_finite + attention):
            not_finite = [first]
        findings += attention + not_finite
        findings += _parameters(g, model, gradients, backward, args, kwargs)
    return Diagnosis(findings)


class _WithLoss(torch.nn.Module):
    def __init__(self, model, loss):
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *args, **kwargs):
        y = self.model(*args, **kwargs)
        return self.loss(y) if self.loss else y


# ---- in PyTorch ----

def _in_torch(module, args, kwargs):
    """The loss, calls of custom Functions, {Function: arguments}, the gradients by name, and a finding where backward fails."""
    calls, failure, gradients, loss = {}, None, {}, None

    def recorded(cls, arguments):
        calls.setdefault(cls, [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in arguments])
    with state.undisturbed():
        copy, caught = state.copied(module), []
        parameters = {name: p for name, p in copy.named_parameters() if p.requires_grad}
        for name, p in module.named_parameters():  # a copy has none of its hooks
            for hook in (p._backward_hooks or {}).values() if name in parameters else ():
                parameters[name].register_hook(hook)
        try:
            custom = functions.functions_of(verify.nodes_of(verify.Pass(state.copied(module), args, kwargs).roots.values()))
            with warnings.catch_warnings(record=True) as caught, torch.autograd.set_detect_anomaly(True, check_nan=False), \
                    functions.replaced(custom, recorded):
                warnings.simplefilter("always")
                y = copy(*args, **kwargs)
                if isinstance(y, torch.Tensor) and y.numel() == 1:
                    loss = y.detach()
                    if y.requires_grad:
                        gradients = dict(zip(parameters, torch.autograd.grad(y, list(parameters.values()), allow_unused=True)))
        except RuntimeError as error:
            line = graph.line_of("".join(str(w.message) for w in caught))
            failure = Finding("backward fails", str(error).splitlines()[0], f"{line[0]}:{line[1]}" if line else "")
    return loss, calls, gradients, failure


def _first_in_torch(module, args, kwargs):
    """A finding for the first value that is not finite, of an op or a constant, if the loss is not finite."""
    with state.undisturbed(), torch.no_grad():
        copy = state.copied(module)
        y, first = None, _First({id(t): name for name, t in (*copy.named_parameters(), *copy.named_buffers())})
        try:
            with first:
                y = copy(*args, **kwargs)
        except RuntimeError:  # as ops that refuse NaN raise it
            pass
    finite = torch.isfinite(y).all() if isinstance(y, torch.Tensor) else "NaN" not in str(first.finding)
    return None if finite else first.finding


class _First(TorchDispatchMode):
    """The first op that gives a value that is not finite and reads none, or that reads a constant with one.

    An infinity that is written as a number, as in masked_fill, is no fault; what becomes of it may be.
    """

    def __init__(self, names):
        super().__init__()
        self.names, self.made, self.finding = names, [], None

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        read = tree_leaves((args, kwargs or {}))
        before = [(x, _bad_kinds(x)) for x in read]
        y = op(*args, **(kwargs or {}))
        made = [x for x in tree_leaves(y) if isinstance(x, torch.Tensor)]
        if self.finding is None:
            operand_kinds = {kind for _, kinds in before for kind in kinds}
            new = {kind for x in made for kind in _bad_kinds(x)} - operand_kinds
            constant = next((x for x, kinds in before if isinstance(x, torch.Tensor) and "nan" in kinds
                             and not any(x is m for m in self.made)), None)
            if constant is not None:
                text = f"{self.names.get(id(constant), 'a constant')} has {_bad(constant.detach().numpy())}; {op.overloadpacket.__name__} reads it"
            elif new:
                ranges = ", ".join(_range(x.detach().numpy()) for x in read if isinstance(x, torch.Tensor) and x.numel())
                text = f"{op.overloadpacket.__name__} gives {_bad(max(made, key=lambda x: len(_bad_kinds(x))).detach().numpy())}; it read {ranges or 'nothing'}"
            if constant is not None or new:
                self.finding = Finding("value", text, _line_outside())
            self.made += made
        return y


def _bad_kinds(x):
    if isinstance(x, float):
        x = torch.tensor(x)
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        return set()
    return {kind for kind, bad in (("nan", x.isnan()), ("inf", x.isinf())) if bad.any()}


def _line_outside():
    """FILE:LINE of the innermost frame that belongs neither to PyTorch nor to this file."""
    library = pathlib.Path(torch.__file__).parent
    for frame in reversed(traceback.extract_stack()):
        if frame.filename != __file__ and library not in pathlib.Path(frame.filename).parents:
            return f"{frame.filename}:{frame.lineno}"
    return ""


def _functions(calls):
    findings = []
    for cls, example in calls.items():
        arguments = [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in example]
        report = glim.gradcheck(cls, *arguments)
        if not report:
            findings.append(Finding("wrong backward", f"{cls.__name__}: {report.mistake or str(report).splitlines()[0]}",
                                    graph.source_of(cls.backward)))
    return findings


def _shared(model):
    owners, findings = {}, []
    for name, p in model.named_parameters():
        first = owners.setdefault((p.data_ptr(), p.numel()), name)
        if first != name and p.numel():
            findings.append(Finding("shared memory", f"{first} and {name} are two parameters in one storage: an optimizer updates it "
                                    "twice; assign the same Parameter to both"))
    return findings


# ---- on the tape ----

class _Backward:
    """Values, and gradients as the walk hands them on."""

    def __init__(self, tape, y):
        self.tape, self.nodes = tape, tape.nodes
        self.dy, self.flows, self.order = {}, {}, []
        self.readers = {n.number: [] for n in self.nodes}
        for n in self.nodes:
            for i in n.inputs:
                if i >= 0:
                    self.readers[i].append(n.number)
        for node, dy, flows in tape.walk(y, retain=True):
            self.order.append(node.number)
            self.dy[node.number] = None if dy is None else dy.numpy()
            self.flows[node.number] = [(target, None if g is None else g.numpy()) for target, g in flows]

    def place(self, number):
        n = self.nodes[number]
        path = n.path.rpartition(".")[0].removeprefix("model").lstrip(".")
        return f"{path or 'the model'} ({n.line})" if n.line else path

    def not_finite(self):
        for n in self.nodes:
            value = self.tape.value(n.number).numpy()
            operands = [] if n.name == "leaf" else [x.numpy() for x in self.tape.operands(n.number) if x is not None]
            # An infinity that was read, as of a mask, is no fault; what becomes of it may be.
            if any(is_bad(value).any() and not any(is_bad(x).any() for x in operands if x.dtype.kind == "f") for is_bad in (np.isnan, np.isinf)):
                read = self._read(n)
                return [Finding("value", f"{n.name} gives {_bad(value)}; it read {read}" if n.name != "leaf" else f"the parameter {n.path.removeprefix('model.')} has {_bad(value)}",
                                self.place(n.number), not any(np.isinf(x).any() for x in operands if x.dtype.kind == "f"))]
        for number in self.order:
            for target, g in self.flows[number]:
                if g is not None and not np.isfinite(g).all() and np.isfinite(self.dy[number]).all():
                    n = self.nodes[number]
                    return [Finding("gradient", f"backward of {n.name} gives {_bad(g)}; its own gradient is {_range(self.dy[number])}, "
                                    f"and it read {self._read(n)}", self.place(number))]
        return []

    def _read(self, n):
        return ", ".join(_range(x.numpy()) for x in self.tape.operands(n.number) if x is not None) if n.name != "leaf" else "nothing"

    def attention(self):
        findings = []
        for n in self.nodes:
            if n.name not in ("softmax", "masked_softmax"):
                continue
            p = self.tape.value(n.number).numpy()
            if p.ndim < 3 or p.shape[-1] < 2:
                continue
            hidden = (p.sum(-1) == 0).sum()
            if hidden:
                value = "NaN" if n.name == "softmax" else "0"
                findings.append(Finding("mask", f"{hidden} of {p[..., 0].size} queries may attend to nothing: their probabilities "
                                        f"are {value}", self.place(n.number)))
            open_rows = (p > 0).sum(-1) > 1
            share = (p.max(-1)[open_rows] > SATURATED).mean() if open_rows.any() else 0
            if share > 0.5:
                findings.append(Finding("saturated", f"{share:.0%} of the rows of this softmax have a probability above {SATURATED}: their "
                                        "scores get almost no gradient", self.place(n.number)))
        return findings

    def zero_at(self, number):
        """The op that let nothing through on the way to this node: it had a gradient, and sent zeros."""
        todo, visited = [number], set()
        while todo:
            node = todo.pop(0)
            for reader in self.readers[node]:
                if reader in visited:
                    continue
                visited.add(reader)
                dy = self.dy.get(reader)
                if dy is not None and dy.any():
                    return reader
                todo.append(reader)
        return None


def _bad(x):
    kinds = [f"{count} {word}" for word, count in (("NaN", np.isnan(x).sum()), ("infinite", np.isinf(x).sum())) if count]
    return f"{' and '.join(kinds)} of {x.size}"


def _range(x):
    if x.dtype == bool:
        return f"bool {x.shape} with {x.sum()} true"
    finite = x[np.isfinite(x)]
    span = f"{finite.min():.3g} to {finite.max():.3g}" if finite.size else "nothing finite"
    return f"{x.shape} from {span}" + ("" if finite.size == x.size else f" and {_bad(x)}")


def _why(backward, number):
    """The reason that an op sends zeros."""
    name, operands = backward.nodes[number].name, [x.numpy() for x in backward.tape.operands(number) if x is not None]
    if name in ("relu", "linear_relu", "clamp") and not backward.tape.value(number).numpy().any():
        return f"{name}: all {operands[0].size} inputs are at most 0, so nothing passes (dead)"
    if name in ("relu", "clamp", "leaky_relu"):
        return f"{name}: the elements that have a gradient are outside its slope"
    if name == "mul" and any(not x.any() for x in operands):
        return "mul: the other operand is 0 everywhere"
    if name in ("where", "masked_softmax"):
        return f"{name}: the mask hides what has a gradient"
    if name == "softmax":
        return "softmax: it is saturated, or its gradient is the same for all of a row"
    if name in ("index_select", "gather", "index"):
        return f"{name}: no index reads an element that has a gradient"
    return f"{name} sends zeros"


def _parameters(g, model, gradients, backward, args, kwargs):
    findings, groups = [], {}
    numbers = {n.path: n.number for n in backward.nodes if n.name == "leaf"}
    exact = all(n.dtype != "float32" for n in backward.nodes)  # a model in float64 may compute norms in float32
    largest = max((float(x.abs().max()) for x in gradients.values() if x is not None and x.numel()), default=0)
    for name, p in model.named_parameters():
        full = f"model.{name}"
        if not p.requires_grad:
            groups.setdefault(("no gradient", "requires_grad is False", ""), []).append(name)
        elif full not in numbers or backward.dy.get(numbers[full]) is None:
            groups.setdefault(("no gradient", *_lost(g, args, kwargs, full)), []).append(name)
        elif not backward.dy[numbers[full]].any():
            source = backward.zero_at(numbers[full])
            reason = ("zero gradient", "every op above has none", "") if source is None else ("zero gradient", _why(backward, source), backward.place(source))
            groups.setdefault(reason, []).append(name)
        elif gradients.get(full) is not None:
            ours, theirs = backward.dy[numbers[full]], gradients[full].numpy()
            # The gradient of a key's bias is 0: what is left of it is rounding.
            size = max(np.abs(theirs).max(), np.abs(ours).max(), 1e-3 * largest)
            if np.isfinite(size) and np.abs(ours - theirs).max() > (1e-8 if exact else 1e-2) * size:
                groups.setdefault(("another gradient", "PyTorch's backward gives another gradient than the derivative of what forward "
                                   "computed, as where a hook changes it", ""), []).append(name)
    for (kind, text, place), names in groups.items():
        listed = ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")
        findings.append(Finding(kind, f"{listed}: {text}", place))
    return findings


def _lost(g, args, kwargs, full):
    """(why, where) a parameter gets no gradient: what reads it, and where the way to the loss is cut."""
    exported, _ = g._graph_of(args, kwargs)
    names = exported.parameter_names
    todo = [n for n in exported.nodes if n.name in names and full in (names[n.name], None)]
    if not any(n.users for n in todo):
        return "this pass does not read it", ""
    visited, last = set(), None
    while todo:
        node = todo.pop(0)
        for reader in node.users:
            if reader in visited or reader.op == "output":
                continue
            visited.add(reader)
            if graph.values_alone(reader):
                last = reader
            else:
                todo.append(reader)
    if last is not None:
        return f"the way to the loss is cut by {graph.op_name(last).replace('detach', 'detach, or torch.no_grad()')}", graph.place(last)
    return "what is made of it does not reach the loss", ""
