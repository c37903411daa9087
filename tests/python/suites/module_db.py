"""PyTorch's list of modules through the importer: values and the gradients of inputs and parameters, in training and after
it, in float64 and float32."""
import torch
from torch.testing._internal.common_modules import module_db

from .imported import compare, evenly

LEAST = {"values": 1, "gradients": 1, "second derivatives": 1}
MOST = {torch.float64: 2, torch.float32: 1}
MODULES = {info.name: info for info in module_db}


def names():
    return sorted(MODULES)


def left_out():
    return {}


def given(info, sample, dtype, training):
    torch.manual_seed(0)
    module = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).to(dtype).train(training)
    return module, sample.forward_input.args, sample.forward_input.kwargs, info.supports_gradgrad


def cases(name):
    info = MODULES[name]
    for dtype, most in MOST.items():
        for training in (True, False):
            torch.manual_seed(0)
            samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
            for k, sample in enumerate(evenly((s for s in samples if s.forward_input is not None), most)):
                yield (f"{name} {str(dtype)[6:]} {'train' if training else 'eval'} {k} {sample.desc}", compare, given, info, sample,
                       dtype, training)
