"""torch's encoder and decoder layers and stacks: PyTorch's values and gradients, names, layouts, masks."""
import copy

import numpy as np
import pytest

import glim
from reference import below, read

CASES, TENSORS = read("stacks")
SIZES = {key: CASES[key] for key in ("d_model", "nhead", "dim_feedforward")}


def close(a, b):
    return np.allclose(a, b, rtol=1e-9, atol=1e-11)


def made(name, **more):
    """The module of a case."""
    options = {key: value for key, value in CASES["cases"][name].items() if "causal" not in key}
    last = options.pop("final_norm", None)
    side = "Encoder" if name.startswith("encoder") else "Decoder"
    module = getattr(glim, f"Transformer{side}Layer")(**SIZES, dropout=0, **options, **more)
    if last is not None:
        norm = glim.LayerNorm(SIZES["d_model"]) if last else None
        module = getattr(glim, f"Transformer{side}")(module, CASES["layers"], norm)
    module.to("float64")
    return module


def masks_of(name):
    tensors = below(TENSORS, name + ".")
    masks = {key: value for key, value in tensors.items() if key.endswith(("keep", "bias")) and not key.startswith(("param", "grad"))}
    return masks | {key: value for key, value in CASES["cases"][name].items() if "causal" in key}


@pytest.mark.parametrize("name", CASES["cases"])
def test_layers_and_stacks_equal_torchs(name):
    of = below(TENSORS, name + ".")
    module = made(name)
    parameters = below(of, "param.")
    assert set(module.state_dict()) == set(parameters)
    module.load_state_dict(parameters)
    inputs = [glim.Var.leaf(of[key], key) for key in ("x", "memory") if key in of]
    with glim.Tape() as tape:
        y = module(*inputs, **masks_of(name))
        tape.backward(y, of["dy"])
    assert close(y.numpy(), of["y"])
    for x in inputs:
        assert close(x.grad.numpy(), of["d" + x.name])
    for key, leaf in module.named_parameters():
        assert close(leaf.grad.numpy(), of["grad." + key]), key


@pytest.mark.parametrize("name", ["encoder_layer_pre_keep", "decoder_layer_post_masks", "encoder_pre_no_norm", "decoder_post"])
def test_layouts(name):
    """(T, B, D) unless batch_first, and (T, D) without a batch."""
    of, masks = below(TENSORS, name + "."), masks_of(name)
    inputs = [of[key] for key in ("x", "memory") if key in of]
    first, second = made(name), made(name, batch_first=False)
    for module in first, second:
        module.load_state_dict(below(of, "param."))
    swapped = second(*[np.swapaxes(x, 0, 1) for x in inputs], **masks).numpy()
    assert close(np.swapaxes(swapped, 0, 1), of["y"])
    alone = {key: mask[0] if "key_" in key else mask for key, mask in masks.items() if not isinstance(mask, bool)}
    alone |= {key: mask for key, mask in masks.items() if isinstance(mask, bool)}
    for module in first, second:
        assert close(module(*[x[0] for x in inputs], **alone).numpy(), of["y"][0])


def test_a_stack_has_copies_of_its_layer():
    layer = glim.TransformerEncoderLayer(8, 2, 16)
    layer.to("float64")
    layer.eval()
    stack = glim.TransformerEncoder(layer, 3, glim.LayerNorm(8))
    assert [name for name, _ in stack.named_parameters()][:2] == [
        "layers.0.self_attn.in_proj_weight", "layers.0.self_attn.in_proj_bias"]
    layer.linear1.weight = layer.linear1.weight.numpy() + 1
    first, last = stack.layers[0], stack.layers[2]
    assert first.linear1.weight.dtype == "float64" and first.training  # as the stack is
    assert not copy.deepcopy(layer).training
    assert (first.linear1.weight.numpy() == last.linear1.weight.numpy()).all()
    assert (first.linear1.weight.numpy() + 1 == layer.linear1.weight.numpy()).all()
    assert first.linear1.weight.name == "layers.0.linear1.weight"
    assert type(copy.deepcopy(last)) is glim.TransformerEncoderLayer
    stack.to("float64")
    with glim.Tape() as tape:
        stack(np.ones((1, 2, 8)))
        assert "layers.2.self_attn.linear" in [node.path for node in tape.nodes]


@pytest.mark.parametrize("norm, options, last", [("pre", {}, True), ("pre", {"final_norm": False}, False), ("post", {}, False),
                                                 ("post", {"final_norm": True}, True)])
def test_the_last_norm_of_a_model(norm, options, last):
    model = glim.Transformer(src_vocab=9, tgt_vocab=9, d_model=8, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1,
                             norm=norm, **options)
    names = {name for name, _ in model.named_parameters()}
    assert {"encoder.norm.weight", "decoder.norm.bias"}.issubset(names) == ("encoder.norm.bias" in names) == last


def test_training_drops_and_learns():
    glim.seed(2)
    stack = glim.TransformerDecoder(glim.TransformerDecoderLayer(8, 2, 16, dropout=0.5, norm_first=True), 2)
    x, memory = glim.normal((2, 3, 8)), glim.normal((2, 4, 8))
    assert not np.array_equal(stack(x, memory).numpy(), stack(x, memory).numpy())
    stack.eval()
    assert np.array_equal(stack(x, memory).numpy(), stack(x, memory).numpy())


def test_what_layers_refuse():
    layer, x = glim.TransformerEncoderLayer(4, 2, 8), np.ones((2, 3, 4), np.float32)
    decoder, attention = glim.TransformerDecoderLayer(4, 2, 8), glim.MultiheadAttention(4, 2)
    hidden = np.triu(np.ones((3, 3), bool), 1)
    for call in (lambda: layer(x, src_mask=hidden), lambda: layer(x, is_causal=True),
                 lambda: attention(x, key_padding_mask=hidden), lambda: attention(x, attn_mask=hidden),
                 lambda: decoder(x, x, tgt_mask=hidden), lambda: decoder(x, x, memory_key_padding_mask=hidden),
                 lambda: glim.TransformerEncoder(layer, 2)(x, mask=hidden)):
        with pytest.raises(TypeError, match="unknown argument '(src_mask|is_causal|key_padding_mask|attn_mask|tgt_mask|"
                                            "memory_key_padding_mask|mask)'.*true = may attend.*keep=~mask"):
            call()
    with pytest.raises(TypeError, match="^TransformerDecoderLayer: .* and causal, with tgt_ or memory_ before it"):
        decoder(x, x, keep=~hidden)
    with pytest.raises(glim.ShapeError, match="keep"):
        layer(x, keep=hidden[:2])
    with pytest.raises(glim.DTypeError, match="keep-mask must be bool"):
        layer(x, keep=np.ones((3, 3)))
    with pytest.raises(glim.ShapeError):
        layer(np.ones((2, 3, 5), np.float32))
    with pytest.raises(glim.ValueError, match="3 heads do not divide"):
        glim.TransformerEncoderLayer(4, 3)
    with pytest.raises(glim.ValueError, match="swish.*relu, gelu"):
        glim.TransformerDecoderLayer(4, 2, activation="swish")
    with pytest.raises(TypeError):
        glim.TransformerEncoder(glim.Sequential(glim.ReLU()), 2)
