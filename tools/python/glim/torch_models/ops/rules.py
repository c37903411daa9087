"""Which function computes an op of PyTorch, and with which of its arguments.

    @op("logcumsumexp")
    def logcumsumexp(x, /, dim): ...

A rule names overloads: max.dim and max.other are two ops. Its parameters before / are the first arguments of the op's
schema; the others have the schema's names. An argument that the rule does not take must have its default (or its NEUTRAL
value), be None, or be one of WITHOUT_INFLUENCE: rule(target) refuses any other value.
"""
import functools
import inspect

import glim
import torch

OPS = {}

# Arguments that change no value and no gradient: where a result is stored, how it is computed, and a momentum of statistics that
# do not change.
WITHOUT_INFLUENCE = {"memory_format", "layout", "device", "pin_memory", "non_blocking", "cudnn_enable", "implicit", "sparse",
                     "sparse_grad", "momentum", "unroll_dim",
                     "compute_mode"}
NEUTRAL = {"half_to_float": False, "rounding_mode": None}  # of arguments that have no default

# Ops of floating numbers whose result has no gradient: PyTorch computes them from the values.
VALUES_ALONE = {
    "sign", "sgn", "floor", "ceil", "round", "trunc", "detach", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros",
    "new_ones", "new_full", "new_empty", "new_empty_strided", "empty_strided", "floor_divide", "sym_size", "heaviside",
    "_assert_tensor_metadata"}


def op(*names):
    def register(f):
        OPS.update((name, f) for name in names)
        return f
    return register


def key_of(target):
    """max.dim of torch.ops.aten.max.dim; max of torch.ops.aten.max.default."""
    if not isinstance(target, torch._ops.OpOverload):
        return getattr(target, "__name__", "")
    name = target._schema.name.split("::")[1]
    return name if target._schema.overload_name == "" else f"{name}.{target._schema.overload_name}"


@functools.cache
def parameters(f):
    """(number of parameters before /, names of the others); builtins of Glim take one operand."""
    try:
        kinds = inspect.signature(f).parameters
    except ValueError:
        return 1, ()
    return (sum(p.kind is p.POSITIONAL_ONLY for p in kinds.values()),
            [name for name, p in kinds.items() if p.kind is not p.POSITIONAL_ONLY])


@functools.cache
def rule(target):
    """The function that computes a call of target on Vars, or None."""
    compute = OPS.get(key_of(target))
    if compute is None or not hasattr(target, "_schema"):
        return compute
    operands, names = parameters(compute)

    def call(*args, **kwargs):
        positional, named = [], {}
        for k, (argument, value) in enumerate(arguments(target, args, kwargs)):
            if k < operands and not argument.kwarg_only:
                positional.append(value)
            elif argument.name in names:
                named[argument.name] = value
            else:
                require_default(target, argument, value)
        return compute(*positional, **named)
    return call


def arguments(target, args, kwargs):
    """(argument of the schema, its value in this call)"""
    values = dict(zip((a.name for a in target._schema.arguments), args), **kwargs)
    return [(a, values.get(a.name, a.default_value)) for a in target._schema.arguments]


def require_default(target, argument, value):
    default = NEUTRAL.get(argument.name, argument.default_value)
    if argument.name in WITHOUT_INFLUENCE or value is None or value is default:
        return
    if isinstance(value, (bool, int, float, str, list)) and value == default:
        return
    raise glim.ValueError(f"from_torch: {target} with {argument.name}={value!r}: Glim has it with {argument.name}={default!r} alone")


def draws(node):
    """A call that draws random numbers. Dropout does unless its rate is 0, or it is not in training."""
    if rule(node.target) is None:
        return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    if not hasattr(node.target, "_schema"):
        return False
    values = {argument.name: value for argument, value in arguments(node.target, node.args, node.kwargs)}
    rate = values.get("dropout_p", values.get("p") if "train" in values else 0)
    return bool(rate) and values.get("train") is not False
