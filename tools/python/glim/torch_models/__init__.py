"""A model of PyTorch as a module of Glim: from_torch.

torch.export writes the model as a graph of ATen ops with each call's module path and line. A value that depends on a
parameter or on a Var that was handed in is computed by Glim (ops.py), within the module's path. All other values (masks,
positions, ids) are computed by PyTorch, and are constants. Attention that is written out becomes Glim's, by plan.py.
"""
import contextlib
import inspect
import io
import logging
import re
import warnings

import glim
import numpy as np
import torch
from torch.utils import _pytree as pytree

from . import functions, graph, ops
from .plan import plan


class _Part(glim.Module):
    """Parameters under PyTorch's names."""


class TorchModule(glim.Module):
    """What from_torch returns: called with the arguments of the PyTorch model it gives the same values, recorded on the
    open tape. Its parameters have PyTorch's names; they are copies, and to_torch() writes them back.

    Other shapes of the arguments, or other values of those that are no tensors, export the model again.
    """

    def __init__(self, module, args, kwargs):
        super().__init__()
        _require_memory(module)
        self.__dict__["torch_module"] = module
        self.__dict__["_graphs"] = {}
        parts = {"": self}
        for name, p in module.named_parameters():
            self._add(name, p, parts)
        self._graph(args, kwargs)

    def _add(self, name, p, parts):
        path, _, last = name.rpartition(".")
        part = self
        for k, child in enumerate(path.split(".") if path else ()):
            below = ".".join(path.split(".")[:k + 1])
            if below not in parts:
                parts[below] = _Part()
                setattr(part, child, parts[below])
            part = parts[below]
        setattr(part, last, glim.Param(p.detach().numpy().copy()))
        if not p.requires_grad:
            self.freeze(name)

    def _graph(self, args, kwargs):
        if "use_cache" in inspect.signature(self.torch_module.forward).parameters:  # a cache of keys has no gradient to show
            kwargs = {"use_cache": False, **kwargs}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (str(spec), tuple((tuple(x.shape), str(x.dtype)) if hasattr(x, "shape") else repr(x) for x in leaves))
        if key not in self._graphs:
            self._graphs[key] = _Graph(self, *pytree.tree_map(_tensor, (args, kwargs)))
        return self._graphs[key], leaves

    def forward(self, *args, **kwargs):
        recorded, leaves = self._graph(args, kwargs)
        return recorded(leaves)

    def inspect(self, inputs, loss=None, tokens=None, out="page", *, scale=None, data=False, overwrite=False,
                **changes):
        """The page of `glim inspect` for the pass of these inputs into a folder, and with data=True its tensors, too; returns
        the page's path.

        inputs: a dict or tuple of arguments. loss(result) is a Var of one element; without it the module itself gives one.
        tokens: the words of the positions, a list, or (source, target) of two stacks. changes: tape.change.
        """
        tokens = tokens or []
        tokens = tokens if isinstance(tokens, tuple) else (tokens, tokens)
        with self._recorded(inputs, loss, scale, changes) as (tape, y):
            return tape.inspect(y, out, tokens=tuple(map(list, tokens)), data=data,
                                overwrite=overwrite, title=f"{type(self.torch_module).__name__} of PyTorch")

    def step(self, inputs, loss=None, commands="", **changes):
        """The debugger of `glim step` for this pass: its answers to commands, one a line."""
        with self._recorded(inputs, loss, None, changes) as (tape, y):
            return tape.step(y, commands)

    def derive(self, inputs, loss=None, module="", **changes):
        """The pass written out, forward and backward, or that of one module."""
        with self._recorded(inputs, loss, None, changes) as (tape, y):
            return tape.derive(module)

    @contextlib.contextmanager
    def _recorded(self, inputs, loss, scale, changes):
        """A tape with replay, and the loss on it."""
        with glim.Tape(replay=True) as tape, glim.explicit(), ops.scaled(scale):
            if changes:
                tape.change(**changes)
            y = self(**inputs) if hasattr(inputs, "keys") else self(*inputs)
            y = loss(y) if loss else y
            if not isinstance(y, glim.Var) or y.size != 1:
                raise glim.ValueError("the pass has no loss: loss=lambda out: ... gives a Var of one element")
            yield tape, y

    def to_torch(self):
        """Writes the parameters into the PyTorch model, and returns it."""
        with torch.no_grad():
            for name, p in self.torch_module.named_parameters():
                p.copy_(torch.from_numpy(np.array(self.state_dict()[name])))
        return self.torch_module


def from_torch(module, args=(), kwargs=None, *, hooks=False):
    """A PyTorch module, or a function of tensors, as a glim.Module: the same values, parameters and gradients, on Glim's
    tape.

        g = glim.from_torch(model.eval(), kwargs=dict(input_ids=ids))
        with glim.Tape() as tape:
            out = g(input_ids=ids)
            tape.backward(out.last_hidden_state.sum())
        g.named_parameters()                # with PyTorch's names
        g.inspect(dict(input_ids=ids), loss=lambda out: out.last_hidden_state.sum(), tokens=words)

    args, kwargs: an example of the arguments. hooks=True: the model may have hooks that change gradients, and Glim leaves them
    out. A ValueError, DTypeError or MemoryError says what stands against it, before Glim computes anything.
    """
    kwargs = dict(kwargs or {})
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if not isinstance(module, torch.nn.Module):
        if not callable(module):
            raise TypeError(f"from_torch: a {type(module).__name__} is neither a torch.nn.Module nor a function of tensors")
        module = _Function(module)
        if any(getattr(x, "requires_grad", False) for x in pytree.tree_leaves(module(*args, **kwargs))):
            raise glim.ValueError("from_torch: the function uses a parameter that is none of its own: give a torch.nn.Module "
                                  "that has it, and arguments that need no gradient")
    for name, x in [*module.named_parameters(), *module.named_buffers(),
                    *((f"argument {k}", x) for k, x in enumerate(pytree.tree_leaves((args, kwargs))))]:
        if isinstance(x, torch.Tensor):
            if x.device.type != "cpu":
                raise glim.ValueError(f"from_torch: {name} is on {x.device}: Glim computes on the CPU, move it with .cpu()")
            if x.is_floating_point() and x.dtype not in (torch.float32, torch.float64) or x.is_complex():
                raise glim.DTypeError(f"from_torch: {name} is {ops.name_of(x.dtype)}; Glim has float32 and float64: "
                                      "model.float() or .double() converts")
    if not hooks:
        try:
            functions.require_no_hooks(module, args, kwargs)
        except RuntimeError as error:
            raise glim.ValueError(f"from_torch: the model refuses its arguments: {str(error).splitlines()[0]}") from error
    return TorchModule(module, args, kwargs)


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def _require_memory(module):
    wanted = 2 * sum(p.numel() * p.element_size() for p in module.parameters())
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = 1024 * int(re.search(r"MemAvailable: *(\d+)", file.read())[1])
    except (OSError, TypeError):  # no such file, or an older Linux
        return
    if wanted > free:
        raise glim.MemoryError(f"from_torch: the copy of the parameters and their gradients take {wanted / 1e9:.1f} GB, and "
                               f"{free / 1e9:.1f} GB are free")


def _tensor(x):
    """An argument as PyTorch takes it."""
    return torch.from_numpy(np.array(x.numpy())) if isinstance(x, (glim.Var, glim.Tensor)) else \
        torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def _exported(module, args, kwargs):
    try:
        with warnings.catch_warnings(), _silent():
            warnings.simplefilter("ignore")
            with functions.replaced(functions.functions_of(module, args, kwargs), functions.as_op):
                program = torch.export.export(module, args, kwargs, strict=False)
            _cut_no_grad(program.graph_module)
            known = {**torch.export.default_decompositions()}
            for _ in range(4):
                missing = [node.target for node in _calls(program.graph_module) if isinstance(node.target, torch._ops.OpOverload) and
                           ops.rule(node.target) is None and graph.op_name(node) not in _TRAINING and not graph.values_alone(node)]
                both = {**torch._decomp.get_decompositions(missing), **known}
                table = {target: both[target] for target in missing if target in both}
                program = program.run_decompositions(table)
                if not table:
                    break
            return program
    except Exception as error:  # of many types
        text = str(error).strip()
        line = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
        raise glim.ValueError(f"from_torch: torch.export refuses the model: {line[:300]}{_advice(text)}") from error


def _cut_no_grad(graph_module):
    """`with torch.no_grad():` as detach of what it gives."""
    for node in [n for n in _calls(graph_module) if graph.op_name(n) == "wrap_with_set_grad_enabled" and not n.args[0]]:
        for result in list(node.users):
            with node.graph.inserting_after(result):
                cut = node.graph.call_function(torch.ops.aten.detach.default, (result,))
            cut.meta = dict(result.meta)
            result.replace_all_uses_with(cut, delete_user_cb=lambda user, cut=cut: user is not cut)
        graph_module.recompile()


def _advice(text):
    if "data-dependent" in text or "Could not guard" in text:
        return " (its control flow depends on values: give the part of it without the branch)"
    return ""


@contextlib.contextmanager
def _silent():
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


def _calls(graph_module):
    for part in graph_module.modules():
        if isinstance(part, torch.fx.GraphModule):
            yield from (n for n in part.graph.nodes if n.op == "call_function")


class _Graph:
    """One exported graph, for arguments of certain shapes."""

    def __init__(self, owner, args, kwargs):
        self.owner = owner
        self.program = program = _exported(owner.torch_module, args, kwargs)
        signature = program.graph_signature
        module = owner.torch_module
        names = {id(p): name for name, p in module.named_parameters()}  # a shared one has its first name
        tensors = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
        self.fixed = {}   # of placeholders: the name of a parameter, or a tensor
        for spec in signature.input_specs:
            kind = spec.kind.name
            if kind == "PARAMETER":
                self.fixed[spec.arg.name] = names[id(tensors[spec.target])]
            elif kind == "BUFFER":
                self.fixed[spec.arg.name] = tensors.get(spec.target, program.state_dict.get(spec.target, program.constants.get(spec.target)))
            elif kind == "CONSTANT_TENSOR":
                self.fixed[spec.arg.name] = program.constants[spec.target]
        outputs = [spec for spec in signature.output_specs if spec.kind.name in ("USER_OUTPUT", "LOSS_OUTPUT")]
        self.skipped = len(signature.output_specs) - len(outputs)  # mutated buffers come first
        self.plan = plan(program.graph)
        self._require_ops()

    def _require_ops(self):
        """The ops that depend on a parameter or a floating argument are known."""
        for node in self.program.graph.nodes:
            name = graph.op_name(node)
            if name in _TRAINING:
                raise glim.ValueError(f"from_torch: {graph.path(node) or 'the model'} is in train() mode, in which it "
                                      f"{_TRAINING[name]}: call model.eval()")
            if node.op == "call_function" and ops.draws(node):
                raise glim.ValueError(f"from_torch: {graph.path(node) or 'the model'} is in train() mode, in which it draws numbers: call "
                                      "model.eval()" if ops.rule(node.target) else f"from_torch: {node.target} in {graph.place(node)} "
                                      "draws numbers: call model.eval(), or hand them in as an argument")
        depends, missing = set(), []
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                fixed = self.fixed.get(node.name)
                value = node.meta.get("val")
                if isinstance(fixed, str) or fixed is None and isinstance(value, torch.Tensor) and value.is_floating_point():
                    depends.add(node)
            elif node.op == "call_function" and depends & set(node.all_input_nodes):
                if graph.values_alone(node):
                    continue
                depends.add(node)
                dtype = getattr(node.meta.get("val"), "dtype", torch.float32)
                if dtype not in (torch.float32, torch.float64):
                    raise glim.DTypeError(f"from_torch: {node.target} in {graph.place(node)} computes in {ops.name_of(dtype)}; Glim has "
                                          "float32 and float64")
                view = graph.op_name(node) != "as_strided" or node.args[0].meta["val"].is_contiguous() and not node.args[0].meta[
                    "val"].storage_offset()  # else of what is in memory
                if not (view and ops.rule(node.target)) and not graph.is_function(node):
                    missing.append(f"{node.target} in {graph.place(node)}")
        if missing:
            raise glim.ValueError(f"from_torch: no op of Glim for {'; '.join(dict.fromkeys(missing))}. The {len(ops.OPS)} that there "
                                  "are: sorted(glim.torch_models.ops.OPS), and what PyTorch makes of them")

    def __call__(self, leaves):
        names = [spec.arg.name for spec in self.program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        given = iter(leaves)
        env = {}
        parameters = dict(self.owner.named_parameters())
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                fixed = self.fixed.get(node.name)
                if isinstance(fixed, str):
                    env[node] = parameters[fixed]
                elif fixed is not None:
                    env[node] = fixed
                elif node.name in names:
                    x = next(given)
                    env[node] = x if isinstance(x, glim.Var) and x.requires_grad else _tensor(x)
        out = self._run(self.program.graph_module, env)
        return _rebuilt(list(out)[self.skipped:], self.program.call_spec.out_spec)

    def _run(self, graph_module, env):
        for node in graph_module.graph.nodes:
            if node.op == "get_attr":
                env[node] = getattr(graph_module, node.target)
            elif node.op == "call_function":
                env[node] = self._value(node, env)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda n: env[n])

    def _value(self, node, env):
        name = graph.op_name(node)
        step = self.plan.get(node)
        args, kwargs = ((), {}) if step else torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda n: env[n])
        if step is None and not any(isinstance(x, glim.Var) for x in pytree.tree_leaves((args, kwargs))):
            with torch.no_grad():
                return node.target(*args, **kwargs)
        if graph.values_alone(node):
            args, kwargs = pytree.tree_map(_tensor, (args, kwargs))
            with torch.no_grad():
                return node.target(*args, **kwargs)
        with glim.scope(graph.path(node), line=graph.line(node)):
            if graph.is_function(node):
                return functions.call(name, *args)
            return step(env, node) if step else ops.rule(node.target)(*args, **kwargs)


_TRAINING = {"_native_batch_norm_legit_functional": "changes its statistics"}


class Output(dict):
    """A result with names, as `transformers` has them: out["logits"], out.logits."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"the result has no '{name}'; it has {', '.join(self)}")


def _rebuilt(values, spec):
    """The structure of the model's result around Glim's values."""
    values = iter([glim.Var(ops.array(v)) if isinstance(v, torch.Tensor) else v for v in values])

    def build(spec):
        if spec.is_leaf():
            return next(values)
        children = [build(child) for child in spec.children()]
        if spec.type in (tuple, list):
            return spec.type(children)
        if isinstance(spec.context, list) and len(spec.context) == len(children):
            return Output(zip(spec.context, children))
        if isinstance(spec.context, (tuple, list)) and spec.context and isinstance(spec.context[0], list):
            return Output(zip(spec.context[0], children))
        return children
    return build(spec)
