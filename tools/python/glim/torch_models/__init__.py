"""A model of PyTorch as a module of Glim: from_torch.

torch.export writes the model as a graph of ATen ops with each call's module path and line (export.py). A value that depends
on a parameter or on a Var that was handed in is computed by Glim (ops/, exported_graph.py), within the module's path. All
other values (masks, positions, ids) are computed by PyTorch, and are constants. plan.py names the scores and probabilities
of attention that is written out. The result is compared with PyTorch's own run (verify.py).

    from_torch                       refuses what a model cannot be
      TorchModule                      parameters, inspect, step and derive (inspectable.py), and a graph for each set of shapes:
        _Import.graph                    the one of these arguments, or a new one
          _checked_graph                   of a copy of the model:
            _first_pass                      PyTorch's pass: what no graph shows is refused
            ExportedGraph                    program_of: the graph; _require_ops: every op is known; plan: attention
            require_equal                    values and gradients at two points
    g(x)
      ExportedGraph.run                node by node, aten.add for example:
        ops.rule                         its function on Vars, `add` of ops/elementwise.py

exported_graph.py (run, _value), ops/rules.py and ops/elementwise.py are the importer, and export.py makes the graph. The rest
can wait: state.py, hooks.py and _first_pass refuse what no graph shows, functions.py keeps a custom backward, verify.py compares,
plan.py names. self.__dict__[_IMPORT] is the _Import, under a name that no submodule can have.
"""
import collections.abc
import inspect
import re
import types

import glim
import numpy as np
import torch
from torch.utils import _pytree as pytree

from . import functions, graph, hooks as hooks_of, ops, state
from .exported_graph import ExportedGraph, tensor_of
from .inspectable import Inspectable
from .verify import Pass, nodes_of, points, require_equal

_IMPORT = "from_torch."  # PyTorch has no module of this name: a dot is in none


def from_torch(module, args=(), kwargs=None, *, hooks=False, verify=True):
    """A PyTorch module, or a function of tensors, as a glim.Module: the same values, parameters and gradients, on Glim's
    tape.

        g = glim.from_torch(model.eval(), kwargs=dict(input_ids=ids))
        with glim.Tape() as tape:
            out = g(input_ids=ids)
            tape.backward(out.last_hidden_state.sum())
        g.named_parameters()                # with PyTorch's names
        g.inspect(dict(input_ids=ids), loss=lambda out: out.last_hidden_state.sum(), tokens=words)

    args, kwargs: an example of the arguments, (x, mask) or the only one, and a dict. hooks=True: the model may have hooks
    that change gradients, and Glim leaves them out. verify=False: values and gradients are not compared with PyTorch's own
    run. A ValueError, DTypeError or MemoryError says what stands against the model, before Glim hands anything out; g raises
    one at its first call with other shapes.
    """
    if callable(module) and not isinstance(module, torch.nn.Module):
        module = _Function(module)
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    _require_importable(module, args, kwargs, hooks, verify)
    return TorchModule(module, args, dict(kwargs or {}), hooks, verify)


class TorchModule(Inspectable):
    """What from_torch returns: called with the arguments of the PyTorch model it gives the same values, recorded on the
    open tape. Its parameters have PyTorch's names; they are copies, and to_torch() writes them back.

    Other shapes of the arguments, or other values of those that are no tensors, export the model again. A PyTorch model
    that has changed since the import is a StateError.
    """

    def __init__(self, module, args, kwargs, hooks, verify):
        super().__init__()
        self.__dict__[_IMPORT] = _Import(module, hooks, verify)
        parts = {"": self}
        for name, p in module.named_parameters():
            _add(self, name, p, parts)
        for name in {*vars(self)} & {*dir(TorchModule), "torch_module"}:  # a module called `step`: the method keeps the attribute
            self.__dict__[_IMPORT].hidden.append(self.__dict__.pop(name))
        TorchModule._graph_of(self, args, kwargs)

    def __getattr__(self, name):
        return self.__dict__[_IMPORT].module if name == "torch_module" else super().__getattr__(name)

    def _graph_of(self, args, kwargs):
        return self.__dict__[_IMPORT].graph(dict(glim.Module.named_parameters(self)), args, kwargs)

    def forward(self, *args, **kwargs):
        if any(isinstance(x, torch.Tensor) and x.requires_grad for x in pytree.tree_leaves((args, kwargs))):
            raise TypeError("a tensor of PyTorch needs a gradient, and gets none here: pass glim.Var.leaf(x.detach().numpy()), or "
                            "x.detach() if it is a constant")
        exported, leaves = self._graph_of(args, kwargs)
        return exported(leaves, dict(glim.Module.named_parameters(self)))

    def to_torch(self):
        """Writes the parameters into the PyTorch model, and returns it."""
        _write(self.torch_module, dict(glim.Module.named_parameters(self)))
        return self.torch_module


class _Part(glim.Module):
    """Parameters under PyTorch's names."""


def _add(root, name, p, parts):
    """A parameter under its name. parts: the modules so far, by path."""
    if any(isinstance(getattr(TorchModule, child, None), property) for child in name.split(".")):
        raise glim.ValueError(f"from_torch: {name}: modules of Glim have a property of this name, so rename it")
    path, _, last = name.rpartition(".")
    part = root
    for k, child in enumerate(path.split(".") if path else ()):
        below = ".".join(path.split(".")[:k + 1])
        if below not in parts:
            parts[below] = _Part()
            setattr(part, child, parts[below])
        part = parts[below]
    setattr(part, last, glim.Param(p.detach().numpy().copy()))
    if not p.requires_grad:
        glim.Module.freeze(root, name)


class _Import:
    """The PyTorch model, and its graphs by the shapes of the arguments."""

    def __init__(self, module, hooks, verify):
        self.module, self.hooks, self.verify = module, hooks, verify
        self.hidden, self.graphs = [], {}
        self.fingerprint = state.Fingerprint(module)

    def graph(self, parameters, args, kwargs):
        """(the graph, the leaves of the arguments)"""
        self.fingerprint.require_same()
        if _has_cache(self.module):  # a cache of keys has no gradient to show
            kwargs = {"use_cache": False, **kwargs}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = _key(leaves, spec)
        if key not in self.graphs:
            with state.undisturbed():
                self.graphs[key] = self._checked_graph(parameters, *pytree.tree_map(tensor_of, (args, kwargs)))
        return self.graphs[key], leaves

    def _checked_graph(self, parameters, args, kwargs):
        # A tensor that was given twice becomes two.
        args, kwargs = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
        copy = self._copy(parameters)
        fingerprint = state.Fingerprint(copy)
        hooked = []
        with hooks_of.left_out(hooked):
            first, custom = _first_pass(copy, args, kwargs, [] if self.hooks else hooked)
            self.fingerprint.leave_out(set(fingerprint.changed()))
            passes = points(first, copy, args, kwargs) if self.verify else []
            exported = ExportedGraph(copy, args, kwargs, custom)
            exported(pytree.tree_leaves((args, kwargs)), parameters)  # rules refuse their arguments here
            require_equal(exported, passes, lambda: self._copy(parameters))
        self.fingerprint.leave_out(set(self.fingerprint.changed()))  # by hooks that refer to the user's own model
        return exported

    def _copy(self, parameters):
        copy = state.copied(self.module)
        _write(copy, parameters)
        if self.hooks:
            hooks_of.remove(copy)
        return copy


def _key(leaves, spec):
    """Arguments of one key have one graph: of one structure, with tensors of the same shapes and dtypes and the same other values."""
    return str(spec), tuple((tuple(x.shape), ops.name_of(x.dtype)) if hasattr(x, "shape") else repr(x) for x in leaves)


def _first_pass(module, args, kwargs, hooked):
    """PyTorch's pass of a copy of the model, and its custom Functions. Refuses what a graph would not show: effects and state
    of forward. hooked: names of tensors within its forward that had a hook."""
    before = state.tensors_of(module)
    try:
        first = Pass(module, args, kwargs)
    except Exception as error:  # of any type
        raise glim.ValueError("from_torch: the model refuses its arguments: "
                              f"{(str(error).splitlines() or [type(error).__name__])[0]}{graph.raised_in(error)}") from error
    hooks_of.require_none(hooked)
    for y in first.result:
        if not isinstance(y, (torch.Tensor, int, float, str, type(None))):
            raise glim.ValueError(f"from_torch: the model returns a {type(y).__name__}: return tensors, numbers, and tuples, "
                                  "lists and dicts of them")
    for name in state.written(module, before):
        owner = name.rpartition(".")[0]
        if name not in dict(module.named_parameters()) and module.get_submodule(owner).training:
            raise glim.ValueError(f"from_torch: {owner or 'the model'} is in train() mode, in which it changes its "
                                  f"statistics, {name}: call model.eval()")
        raise glim.ValueError(f"from_torch: forward writes {name}, which would stand still in Glim: return the new value")
    nodes = nodes_of(first.roots.values())
    leaves = {id(x) for x in [*module.parameters(), *first.leaves.values()]}
    second = Pass(module, args, kwargs)
    again = {id(node.variable) for node in nodes_of(second.roots.values()) if hasattr(node, "variable")}
    for node in nodes:  # a leaf that forward makes is another one in each pass, and a constant
        if hasattr(node, "variable") and id(node.variable) in again - leaves:
            raise glim.ValueError(f"from_torch: the model uses a parameter of shape {tuple(node.variable.shape)} that is "
                                  "none of its own: give a torch.nn.Module that has it")
    if not first.same_result(second):
        raise glim.ValueError("from_torch: forward gives another result when it is called again: it keeps something from the "
                              "call before")
    return first, functions.functions_of(nodes)


def _has_cache(module):
    """Does forward take use_cache, by name or, as its configuration has it, among its further keywords?"""
    parameters = inspect.signature(module.forward).parameters
    config = getattr(module, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    return "use_cache" in parameters or hasattr(config, "use_cache") and any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _write(module, parameters):
    with torch.no_grad():
        for name, p in module.named_parameters():
            p.copy_(torch.from_numpy(np.array(parameters[name].numpy())))


def _require_importable(module, args, kwargs, hooks, verify):
    if not isinstance(kwargs, (collections.abc.Mapping, type(None))):
        raise TypeError("from_torch: kwargs is a dict; several positional arguments are one tuple: from_torch(model, (x, mask))")
    for option, value in (("hooks", hooks), ("verify", verify)):
        if not isinstance(value, bool):
            raise TypeError(f"from_torch: {option} is {value!r}; it is True or False")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"from_torch: a {type(module).__name__} is neither a torch.nn.Module nor a function of tensors")
    for name, m in module.named_modules():
        if isinstance(m, torch.jit.ScriptModule):
            raise glim.ValueError(f"from_torch: {name or 'the model'} is made by torch.jit, which torch.export does "
                                  "not read: give the module that it was made of")
    leaves = enumerate(pytree.tree_leaves((args, dict(kwargs or {}))))
    arguments = {f"argument {k}": x for k, x in leaves if isinstance(x, torch.Tensor)}
    for name, x in [*module.named_parameters(), *module.named_buffers(), *arguments.items()]:
        if x.device.type != "cpu":
            raise glim.ValueError(f"from_torch: {name} is on {x.device}: Glim computes on the CPU, move it with .cpu()")
        if x.is_floating_point() and x.dtype not in (torch.float32, torch.float64) or x.is_complex():
            raise glim.DTypeError(f"from_torch: {name} is {ops.name_of(x.dtype)}; Glim has float32 and float64: "
                                  "model.float() or .double() converts")
    if not hooks:
        hooks_of.require_none(hooks_of.hooked(module, arguments))
    _require_memory(module, verify)


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        if isinstance(function, types.FunctionType):  # PyTorch keeps the lines of functions of this name
            named = types.FunctionType(function.__code__.replace(co_name="forward"), function.__globals__, "forward",
                                       function.__defaults__, function.__closure__)
            named.__kwdefaults__ = function.__kwdefaults__
            function = named
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def _require_memory(module, verify):
    """3 times the parameters: they and their gradients in Glim, and a copy. To verify, as much again for PyTorch's pass."""
    needed = (6 if verify else 3) * sum(p.numel() * p.element_size() for p in module.parameters())
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = 1024 * int(re.search(r"MemAvailable: *(\d+)", file.read())[1])
    except (OSError, TypeError):  # no such file, or an older Linux
        return
    if needed > free:
        raise glim.MemoryError(f"from_torch: copies of the parameters and their gradients take {needed / 1e9:.1f} GB, and "
                               f"{free / 1e9:.1f} GB are free" + ("; verify=False takes half" if verify else ""))
