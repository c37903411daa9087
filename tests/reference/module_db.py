"""A sample of PyTorch's own module database, the inputs of its tests of torch.nn, with values and gradients.

Inputs and keyword arguments are torch's own: masks are true where a query may not attend, classes are axis 1.
"""

import torch

from common import Draw, Reference, representable

SAMPLES = {"TransformerEncoderLayer": 6, "TransformerDecoderLayer": 6, "TransformerEncoder": 3, "Transformer": 3,
           "Conv1d": 4, "Conv2d": 4, "CrossEntropyLoss": 16, "MultiheadAttention": 5}


def plain(value):
    return value.__name__ if callable(value) else value


def constructor(name, given):
    """JSON of the arguments, and those that are tensors."""
    if name == "TransformerEncoder":  # whose argument is a layer
        layer, count = given.args
        attention = layer.self_attn
        return dict(args=[attention.embed_dim, attention.num_heads, layer.linear1.out_features], kwargs=dict(
            dropout=0.0, activation=layer.activation.__name__, batch_first=attention.batch_first,
            norm_first=layer.norm_first, bias=layer.linear1.bias is not None, num_layers=count)), {}
    kwargs = {k: plain(v) for k, v in given.kwargs.items() if k not in ("device", "dtype")}
    tensors = {k: kwargs.pop(k) for k in list(kwargs) if isinstance(kwargs[k], torch.Tensor)}
    args = list(map(plain, given.args))
    return dict(args=args, kwargs=kwargs), tensors


def exact(t):
    return representable(t.detach()).requires_grad_(t.requires_grad) if t.is_floating_point() else t


def make():
    from torch.testing._internal.common_modules import module_db

    ref = Reference("module_db", "Samples of torch's module_db: NAME.0, NAME.1, ... and tensors of keywords, NAME.param.P, "
                                 "NAME.y, NAME.dy, NAME.d0, ..., NAME.grad.P; errors has what torch refuses")
    draw, errors = Draw(151), []
    for info in module_db:
        name = info.module_cls.__name__
        if name not in SAMPLES:
            continue
        torch.manual_seed(0)
        options = dict(device="cpu", dtype=torch.float64, requires_grad=True, training=True)
        samples = info.module_inputs_func(info, **options)
        count = SAMPLES[name]
        for i in sorted({round(k * (len(samples) - 1) / (count - 1)) for k in range(count)}):
            add(ref, draw, f"{name}.{i}", name, info.module_cls, samples[i])
        for k, e in enumerate(info.module_error_inputs_func(info, **options) if info.module_error_inputs_func else []):
            given, tensors = constructor(name, e.module_error_input.constructor_input)
            inputs = {str(j): t for j, t in enumerate(e.module_error_input.forward_input.args)} | tensors
            for key, t in inputs.items():
                ref.put(f"error.{k}.{key}", t)
            errors.append(dict(module=name, **given, torch=f"{e.error_type.__name__}: {e.error_regex}"))
    ref.case["errors"] = errors
    return [ref]


def add(ref, draw, prefix, name, module_cls, sample):
    given, tensors = constructor(name, sample.constructor_input)
    more = {} if name in ("TransformerEncoder", "CrossEntropyLoss") else dict(dtype=torch.float64)
    module = module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs | more)
    if name == "CrossEntropyLoss" and "weight" in tensors:
        tensors["weight"] = module.weight = exact(tensors["weight"])
    draw.fill(module)
    inputs = [exact(t) for t in sample.forward_input.args]
    options = {k: v for k, v in sample.forward_input.kwargs.items() if v is not None}
    y = module(*inputs, **options)
    y = y[0] if isinstance(y, tuple) else y
    dy = draw.normal(*y.shape)
    wanted = {f"d{i}": t for i, t in enumerate(inputs) if t.requires_grad}
    wanted |= {f"grad.{k}": p for k, p in module.named_parameters()}
    tensors |= {k: v for k, v in options.items() if isinstance(v, torch.Tensor)}
    tensors |= {str(i): t for i, t in enumerate(inputs)} | {f"param.{k}": p for k, p in module.named_parameters()}
    tensors |= dict(zip(wanted, torch.autograd.grad(y, list(wanted.values()), dy))) | dict(y=y, dy=dy)
    for key, t in tensors.items():
        ref.put(f"{prefix}.{key}", t)
    flags = {k: v for k, v in options.items() if not isinstance(v, torch.Tensor)}
    ref.case_config(prefix, dict(module=name, desc=sample.desc, **given, call=flags))
