"""One exported graph of a model, for arguments of certain shapes, and its run by Glim."""
import glim
import numpy as np
import torch
from torch.utils import _pytree as pytree

from . import functions, graph, ops
from .export import TRAINING, program_of
from .plan import plan


class ExportedGraph:
    """module: a copy, whose buffers the graph keeps. custom: the autograd.Functions of the model.

    run() computes the nodes of the graph in turn: those that no parameter reaches by PyTorch, the others by Glim's ops
    (ops.rule), or by what plan() puts in the place of several nodes.
    """

    def __init__(self, module, args, kwargs, custom):
        self.calls = []
        program = program_of(module, args, kwargs, custom, self.calls)
        signature = program.graph_signature
        self.parameter_names, self.tensors = _parameters_and_tensors(module, program)
        self.inputs = [spec.arg.name for spec in signature.input_specs if spec.kind.name == "USER_INPUT"]
        outputs = [spec for spec in signature.output_specs if spec.kind.name in ("USER_OUTPUT", "LOSS_OUTPUT")]
        self.skipped = len(signature.output_specs) - len(outputs)  # written buffers and arguments come first
        self.in_spec, self.out_spec = pytree.tree_structure((args, kwargs)), program.call_spec.out_spec
        self.graph_module = program.graph_module
        self.nodes = list(self.graph_module.graph.nodes)
        for node in self.nodes:
            _require_eval(node)
        depends = self._require_ops()
        self.plan = plan(self.graph_module.graph, {n for n in self.nodes if n not in depends and n.op != "output"})

    def _require_ops(self):
        """The nodes that depend on a parameter or a floating argument, whose ops are known."""
        depends, missing = set(), []
        for node in self.nodes:
            if node.op == "placeholder":
                if node.name in self.parameter_names or node.name not in self.tensors and graph.is_floating(node):
                    depends.add(node)
            elif node.op == "call_function" and depends & set(node.all_input_nodes):
                if graph.values_alone(node):
                    continue
                depends.add(node)
                dtype = getattr(node.meta.get("val"), "dtype", torch.float32)
                if dtype not in (torch.float32, torch.float64):
                    raise glim.DTypeError(f"from_torch: {node.target} in {graph.place(node)} computes in "
                                          f"{ops.name_of(dtype)}; Glim has float32 and float64")
                if not _has_rule(node) and not graph.is_function(node):
                    missing.append(f"{node.target} in {graph.place(node)}")
        if missing:
            raise glim.ValueError(f"from_torch: no op of Glim for {'; '.join(dict.fromkeys(missing))}. The {len(ops.OPS)} that "
                                  "there are: sorted(glim.torch_models.ops.OPS), and what PyTorch makes of them")
        return depends

    def argument(self, node):
        """"argument K" of a placeholder, or None."""
        return f"argument {self.inputs.index(node.name)}" if node.name in self.inputs else None

    def has_float32(self):
        return any(getattr(n.meta.get("val"), "dtype", None) == torch.float32 for n in self.nodes)

    def __call__(self, leaves, parameters):
        result, _ = self.run(leaves, parameters)
        return _rebuilt(result, self.out_spec)

    def run(self, leaves, parameters, evaluate=None):
        """The leaves of the result, and the value of each node. evaluate: computes a node in place of Glim's ops."""
        values, env = iter(leaves), {}
        for node in self.nodes:
            if node.op == "placeholder":
                if node.name in self.parameter_names:
                    env[node] = parameters[self.parameter_names[node.name]]
                elif node.name in self.tensors:
                    env[node] = self.tensors[node.name]
                elif node.name in self.inputs:
                    x = next(values)
                    env[node] = x if evaluate or isinstance(x, glim.Var) and x.requires_grad else tensor_of(x)
            elif node.op == "get_attr":
                env[node] = getattr(self.graph_module, node.target)
            elif node.op == "call_function":
                env[node] = evaluate(node, *_arguments(node, env)) if evaluate else self._value(node, env)
            elif node.op == "output":
                result = torch.fx.node.map_arg(node.args[0], lambda n: env[n])
        return list(result)[self.skipped:], env

    def _value(self, node, env):
        """By PyTorch where no argument is a Var, or the result has no gradient. Else by the step of plan(), a custom
        Function's own backward, or the op's rule."""
        step = self.plan.get(node)
        args, kwargs = ((), {}) if step else _arguments(node, env)
        constant = step is None and not any(isinstance(x, glim.Var) for x in pytree.tree_leaves((args, kwargs)))
        if constant or graph.values_alone(node):
            args, kwargs = pytree.tree_map(tensor_of, (args, kwargs))
            with torch.no_grad():
                return node.target(*args, **kwargs)
        with glim.scope(graph.path(node), line=graph.line(node)):
            try:
                if graph.is_function(node):
                    return functions.call(*args)
                return step(env, node) if step else ops.rule(node.target)(*args, **kwargs)
            except glim.StateError:
                raise  # of the tape
            except Exception as error:  # of any type: a rule does not take these arguments
                text = str(error).removeprefix("from_torch: ")
                kind = type(error) if isinstance(error, glim.Error) else glim.ValueError
                raise kind(f"from_torch: {node.target} in {graph.place(node)}: {text}") from error


def _parameters_and_tensors(module, program):
    """Two dicts from placeholders that are no arguments: to the name of a parameter, and to a tensor (a buffer or a constant)."""
    first_names = {id(p): name for name, p in module.named_parameters()}  # a shared one has its first name
    parameters = dict(module.named_parameters(remove_duplicate=False))
    buffers = {**program.constants, **program.state_dict, **parameters, **dict(module.named_buffers(remove_duplicate=False))}
    specs = program.graph_signature.input_specs
    return ({spec.arg.name: first_names[id(parameters[spec.target])] for spec in specs if spec.kind.name == "PARAMETER"},
            {spec.arg.name: buffers[spec.target] for spec in specs
             if spec.kind.name in ("BUFFER", "CONSTANT_TENSOR") and spec.target in buffers})


def _require_eval(node):
    """ValueError where the node draws numbers, or computes otherwise in train() mode."""
    name, layer = graph.op_name(node), graph.path(node) or "the model"
    if name in TRAINING:
        raise glim.ValueError(f"from_torch: {layer} is in train() mode, in which it {TRAINING[name]}: call model.eval()")
    if node.op != "call_function" or not ops.draws(node):
        return
    if ops.rule(node.target):
        raise glim.ValueError(f"from_torch: {layer} is in train() mode, in which it draws numbers: call model.eval()")
    raise glim.ValueError(f"from_torch: {node.target} in {graph.place(node)} draws numbers: call model.eval(), or hand them "
                          "in as an argument")


def _has_rule(node):
    """Whether an op of Glim computes the node. as_strided of other than a whole tensor reads what is in memory."""
    if graph.op_name(node) == "as_strided":
        x = node.args[0].meta["val"]
        if not x.is_contiguous() or x.storage_offset():
            return False
    return bool(ops.rule(node.target))


def _arguments(node, env):
    return torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda n: env[n])


def tensor_of(x):
    """An argument as PyTorch takes it."""
    if isinstance(x, (glim.Var, glim.Tensor)):
        return torch.from_numpy(np.array(x.numpy()))
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


class Output(dict):
    """A result with names, as `transformers` has them: out["logits"], out.logits."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(f"the result has no '{name}'; it has {', '.join(self)}")


def _rebuilt(values, spec):
    """The structure of the model's result around Glim's values."""
    values = iter([_var(v) if isinstance(v, torch.Tensor) else v for v in values])

    def build(spec):
        if spec.is_leaf():
            return next(values)
        children = [build(child) for child in spec.children()]
        keys = spec.context
        if isinstance(keys, (tuple, list)) and keys and isinstance(keys[0], list):
            keys = keys[0]
        if isinstance(keys, list) and len(keys) == len(children):
            return Output(zip(keys, children))
        return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)
    return build(spec)


def _var(x):
    """A result of PyTorch's, as a constant."""
    if x.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
        x = x.long()
    if ops.name_of(x.dtype) not in ("float32", "float64", "int64", "bool"):
        raise glim.DTypeError(f"from_torch: a result of the model is {ops.name_of(x.dtype)}; Glim has float32, float64, int64 "
                              "and bool")
    return glim.Var(ops.array(x))
