"""A sample of PyTorch's module database (tests/reference/module_db.py): its inputs, values, gradients and errors.

What Glim names otherwise is in `made` and `called`: keep-masks, the classes on the last axis, the padding "same".
"""
import numpy as np
import pytest

import glim
from reference import below, read

FILE, TENSORS = read("module_db")
CASES = FILE["cases"]


class Transformer(glim.Module):
    """torch.nn.Transformer: both stacks, each with a last norm."""

    def __init__(self, num_encoder_layers, num_decoder_layers, **options):
        super().__init__()
        norm = lambda: glim.LayerNorm(options["d_model"], bias=options["bias"])
        self.encoder = glim.TransformerEncoder(glim.TransformerEncoderLayer(**options), num_encoder_layers, norm())
        self.decoder = glim.TransformerDecoder(glim.TransformerDecoderLayer(**options), num_decoder_layers, norm())

    def forward(self, src, tgt, keep=None, key_keep=None, **masks):
        return self.decoder(tgt, self.encoder(src, keep=keep, key_keep=key_keep), **masks)


def made(module, args, kwargs):
    kwargs = dict(kwargs)
    if module.startswith("Conv"):
        if kwargs.pop("padding", None) == "same":  # of a kernel of 3
            kwargs |= {"mode": "same"} if module == "Conv1d" else {"padding": 1}
    else:
        kwargs.setdefault("batch_first", False)  # torch's default
    if module == "Transformer":
        return Transformer(*args, **kwargs)
    if module == "TransformerEncoder":
        layers = kwargs.pop("num_layers")
        return glim.TransformerEncoder(glim.TransformerEncoderLayer(*args, **kwargs), layers)
    return getattr(glim, module)(*args, **kwargs)


def kept(name):
    """The name of a mask of torch's, as a keep-mask."""
    name = {"mask": "keep", "attn_mask": "keep"}.get(name, name)
    return name.removeprefix("src_").replace("key_padding_mask", "key_keep").replace("mask", "keep")


def called(case, module, inputs, tensors):
    """y of a case's module."""
    if case["module"].startswith("Conv") and "no_batch" in case["desc"]:
        return module(inputs[0][None])[0]
    masks = {kept(name): ~mask for name, mask in tensors.items() if "mask" in name}
    y = module(*inputs, **masks)
    return y[0] if isinstance(y, tuple) else y


def classes_last(x):
    return np.moveaxis(x, 1, -1) if x.ndim > 1 else x


def loss_of(case, inputs, tensors):
    """cross_entropy, and its leaves."""
    logits = glim.Var.leaf(classes_last(inputs[0]))
    of_classes = inputs[1].dtype == np.int64
    target = inputs[1] if of_classes else glim.Var.leaf(classes_last(inputs[1]))
    y = glim.cross_entropy(logits, target, tensors.get("weight"), **case["kwargs"])
    return y, [logits] if of_classes else [logits, target]


def close(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_torchs(name):
    case, of = CASES[name], below(TENSORS, name + ".")
    inputs = [of[str(i)] for i in range(3) if str(i) in of]
    with glim.Tape() as tape:
        if case["module"] == "CrossEntropyLoss":
            y, leaves = loss_of(case, inputs, of)
            order, parameters = classes_last, {}
        else:
            module = made(case["module"], case["args"], case["kwargs"])
            module.to("float64")
            module.load_state_dict(below(of, "param."))
            leaves = list(map(glim.Var.leaf, inputs))
            y = called(case, module, leaves, of)
            order, parameters = lambda x: x, dict(module.named_parameters())
        tape.backward(y, of["dy"])
    assert close(y.numpy(), of["y"])
    for i, leaf in enumerate(leaves):
        assert close(leaf.grad.numpy(), order(of[f"d{i}"]))
    assert set(parameters) == set(below(of, "grad."))
    for key, leaf in parameters.items():
        assert close(leaf.grad.numpy(), of["grad." + key]), key


@pytest.mark.parametrize("k", range(len(FILE["errors"])))
def test_what_torch_refuses_glim_refuses(k):
    case, of = FILE["errors"][k], below(TENSORS, f"error.{k}.")
    assert case["module"] == "CrossEntropyLoss"
    with pytest.raises(glim.Error, match="cross_entropy"):
        loss_of(case, [of["0"], of["1"]], of)


def test_the_sample_has_every_kind():
    kinds = {case["module"] for case in CASES.values()}
    assert kinds == {"TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder", "Transformer", "Conv1d",
                     "Conv2d", "CrossEntropyLoss", "MultiheadAttention"} and len(FILE["errors"]) == 7
