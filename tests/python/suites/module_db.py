"""torch's list of modules: outputs, gradients of inputs and parameters in both orders, in training and after it; and what
they refuse."""

import inspect

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import glim

from .computed import FUNCTIONS, MODULES, module, refused_by_module
from .count import Skip
from .with_torch import Arguments, array, tensors, wanted_of

LEAST = {"values": 1300, "gradients": 1300, "second derivatives": 900, "refusals": 70}

INFOS = {info.module_cls.__name__: info for info in module_db}


def names():
    return sorted((MODULES.keys() | FUNCTIONS.keys()) & INFOS.keys())


def left_out():
    return {"not a module of Glim": len(INFOS.keys() - MODULES.keys() - FUNCTIONS.keys())}


def options_of(cls, given):
    """The arguments of a constructor by name."""
    found = inspect.signature(cls).bind(*given.args, **given.kwargs).arguments
    if "args" in found or "kwargs" in found:  # nn.RNN and its like
        found = {**dict(zip(("input_size", "hidden_size", "num_layers"), found.get("args", ()))), **found.get("kwargs", {})}
    return {k: of_glim(v) for k, v in found.items() if k not in ("device", "dtype")}


def of_glim(x):
    if isinstance(x, torch.nn.TransformerEncoderLayer):  # the arguments of the layer of a stack
        return dict(d_model=x.self_attn.embed_dim, nhead=x.self_attn.num_heads, dim_feedforward=x.linear1.out_features, dropout=x.dropout.p,
                    activation=x.activation.__name__, layer_norm_eps=x.norm1.eps, bias=x.linear1.bias is not None,
                    batch_first=x.self_attn.batch_first, norm_first=x.norm_first)
    if callable(x):
        return x.__name__
    return glim.Var(array(x)) if isinstance(x, torch.Tensor) else x


def arguments(given):
    """forward(input=x) is forward(x)."""
    options = dict(given.kwargs)
    first = [options.pop("input")] if "input" in options else []
    return Arguments(*first, *given.args, **options)


def made(info, sample):
    return info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).to(torch.float64)


def prepared(info, sample, training):
    name = info.module_cls.__name__
    torch.manual_seed(0)
    theirs = made(info, sample).train(training)
    state = {k: array(v).copy() for k, v in theirs.state_dict().items()}
    given = arguments(sample.forward_input)
    if training and name.startswith("BatchNorm") and 0 in sample.forward_input.args[0].shape:
        raise Skip("convention: training on an empty batch")
    y = theirs(*sample.forward_input.args, **sample.forward_input.kwargs)
    wanted = wanted_of(y, given.tensors + list(theirs.parameters()))
    buffers = {k: array(b) for k, b in theirs.named_buffers()}
    return name, training, options_of(info.module_cls, sample.constructor_input), state, given, wanted, buffers


def refusal(info, error):
    sample, name = error.module_error_input, info.module_cls.__name__
    options, state, given = options_of(info.module_cls, sample.constructor_input), {}, None
    if name in FUNCTIONS and name not in ("CrossEntropyLoss", "MSELoss"):
        raise Skip("what is refused, of a module that Glim does not have itself")
    if options.get("eps") == 0.0:
        raise Skip("convention: an epsilon of 0")
    if error.error_on == ModuleErrorEnum.FORWARD_ERROR:
        state = {k: array(v) for k, v in made(info, sample).state_dict().items()}
        given = arguments(sample.forward_input)
    return name, options, state, given, error.error_regex


def cases(name):
    info, where = INFOS[name], dict(device="cpu", dtype=torch.float64, requires_grad=True)
    for training in (True, False):
        torch.manual_seed(0)
        for k, sample in enumerate(info.module_inputs_func(info, training=training, **where)):
            if sample.forward_input is not None and tensors([sample.forward_input.args, sample.forward_input.kwargs]):
                yield f"{name} {'train' if training else 'eval'} {k} {sample.desc}", module, prepared, info, sample, training
    if info.module_error_inputs_func is not None:
        for k, error in enumerate(info.module_error_inputs_func(info, training=False, **where)):
            yield f"{name} error {k}", refused_by_module, refusal, info, error
