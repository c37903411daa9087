"""torch's list of modules: outputs, gradients of inputs and parameters in both orders, in training and after it; and what
they refuse."""

import inspect

import numpy as np
import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import glim

from .count import Count, Skip
from .derivatives import Given, close, compare
from .torch_modules import FUNCTIONS, MODULES, function
from .with_torch import Arguments, array, tensors, wanted_of

LEAST = {"values": 500, "gradients": 500, "second derivatives": 300, "refusals": 30}

INFOS = {info.module_cls.__name__: info for info in module_db}


def names():
    return sorted((MODULES.keys() | FUNCTIONS.keys()) & INFOS.keys())


def left_out():
    return {"not a module of Glim": len(INFOS.keys() - MODULES.keys() - FUNCTIONS.keys())}


def options_of(cls, given):
    bound = inspect.signature(cls).bind(*given.args, **given.kwargs).arguments
    if "args" in bound or "kwargs" in bound:  # nn.RNN and its like
        names = ("input_size", "hidden_size", "num_layers")
        bound = {**dict(zip(names, bound.get("args", ()))), **bound.get("kwargs", {})}
    return {k: layer_of_a_stack(v) if isinstance(v, torch.nn.TransformerEncoderLayer) else v
            for k, v in bound.items() if k not in ("device", "dtype")}


def layer_of_a_stack(layer):
    """The arguments of a layer that torch takes as a module."""
    return dict(d_model=layer.self_attn.embed_dim, nhead=layer.self_attn.num_heads, dim_feedforward=layer.linear1.out_features,
                dropout=layer.dropout.p, activation=layer.activation, layer_norm_eps=layer.norm1.eps, bias=layer.linear1.bias is not None,
                batch_first=layer.self_attn.batch_first, norm_first=layer.norm_first)


def built(name, options, state, training):
    """(module of Glim, its forward)"""
    if name in FUNCTIONS:
        layer = function(name, dict(options), state)
        return layer, called(layer)
    try:
        inspect.signature(MODULES[name]).bind(**options)
    except TypeError as error:
        raise Skip(f"an argument that its entry does not take ({error})") from error
    layer, forward = MODULES[name](**options)
    layer.to("float64")
    layer.load_state_dict({renamed(name, k): v for k, v in state.items()})
    layer.train(training)
    return layer, called(forward or layer)


def called(forward):
    return lambda *args, input=None, **options: forward(*args, *([] if input is None else [input]), **options)


def renamed(name, key):
    """A cell is a layer of one step."""
    return key + "_l0" if name.endswith("Cell") else key


def prepared(info, sample, training):
    """(options, state, given, wanted, buffers afterwards). The parameters' gradients come after the inputs'."""
    cls, name = info.module_cls, info.module_cls.__name__
    torch.manual_seed(0)
    module = cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).to(torch.float64).train(training)
    state = {k: array(v).copy() for k, v in module.state_dict().items()}
    options = {k: glim.Var(array(v)) if isinstance(v, torch.Tensor) else v for k, v in options_of(cls, sample.constructor_input).items()}
    given = Arguments(*sample.forward_input.args, **sample.forward_input.kwargs)
    if training and name.startswith("BatchNorm") and 0 in sample.forward_input.args[0].shape:
        raise Skip("convention: training on an empty batch")
    wanted = wanted_of(module(*sample.forward_input.args, **sample.forward_input.kwargs), given.tensors + list(module.parameters()))
    return options, state, given, wanted, {k: array(b) for k, b in module.named_buffers()}


def one(name, training, options, state, given, wanted, buffers):
    layer, forward = built(name, options, state, training)
    parameters = dict(layer.named_parameters())
    of = [parameters.pop(renamed(name, key)) for key in state if key not in buffers]
    assert not parameters, f"Glim's has more parameters: {sorted(parameters)}"
    compared = compare(forward, Given(given.args, given.options, given.leaves + of), wanted)
    for key, buffer in layer.named_buffers():
        close(buffer.numpy(), buffers[key], f"{key} afterwards")
    return compared


def refused(info, error):
    sample, name = error.module_error_input, info.module_cls.__name__
    options = options_of(info.module_cls, sample.constructor_input)
    if name in FUNCTIONS and name not in ("CrossEntropyLoss", "MSELoss"):
        raise Skip("what is refused, of a module that Glim does not have itself")
    if options.get("eps") == 0.0:
        raise Skip("convention: an epsilon of 0")
    try:
        state = {}
        if error.error_on != ModuleErrorEnum.CONSTRUCTION_ERROR:
            module = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).to(torch.float64)
            state = {k: array(v) for k, v in module.state_dict().items()}
        layer, forward = built(name, options, state, False)
        if error.error_on == ModuleErrorEnum.FORWARD_ERROR:
            given = Arguments(*sample.forward_input.args, **sample.forward_input.kwargs)
            forward(*given.args, **given.options)
    except (glim.Error, TypeError):
        return ["refusals"]
    raise AssertionError(f"torch says {error.error_regex!r}; Glim accepts it")


def run(name):
    count, info = Count(), INFOS[name]
    for training in (True, False):
        samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
        for k, sample in enumerate(samples):
            if sample.forward_input is not None and tensors([sample.forward_input.args, sample.forward_input.kwargs]):
                count.case(f"{name} {'train' if training else 'eval'} {k} {sample.desc}",
                           lambda: one(name, training, *prepared(info, sample, training)))
    if info.module_error_inputs_func is not None:
        for k, error in enumerate(info.module_error_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=False)):
            count.case(f"{name} error {k}", refused, info, error)
    return count
