"""Which layer of Glim a module of torch is: MODULES["Linear"](in_features, out_features) is (layer, forward).

The arguments are those of torch's constructor. forward takes what torch's forward takes, or is None for the layer itself.
Modules that are a function alone take its entry of OPS, with the constructor's arguments.
"""

import numpy as np

import glim

from . import torch_nn  # noqa: F401  its entries of OPS
from .count import Skip, g
from .torch_ops import OPS, need

MODULES = {}


def module(name):
    def register(build):
        MODULES[name] = build
        return build

    return register


FUNCTIONS = {
    **{name: "nn.functional." + function for name, function in zip(
        """CELU ELU SELU LeakyReLU ReLU6 Hardtanh Hardswish LogSigmoid Softplus Softshrink Softsign Hardshrink Tanhshrink Threshold Mish
        Softmin PReLU GroupNorm InstanceNorm1d InstanceNorm2d L1Loss SmoothL1Loss HuberLoss SoftMarginLoss BCEWithLogitsLoss
        KLDivLoss NLLLoss CrossEntropyLoss MSELoss MaxPool1d AvgPool1d""".split(),
        """celu elu selu leaky_relu relu6 hardtanh hardswish logsigmoid softplus softshrink softsign hardshrink tanhshrink threshold mish
        softmin prelu group_norm instance_norm instance_norm l1_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy_with_logits
        kl_div nll_loss cross_entropy mse_loss max_pool1d avg_pool1d""".split(), strict=True)},
    **{f"{kind}Pad{n}d": "nn.functional.pad.constant" for kind in ("Constant", "Zero") for n in (1, 2, 3)},
}
PARAMETERS = {"PReLU": ("weight",), "GroupNorm": ("weight", "bias"), "InstanceNorm1d": ("weight", "bias"), "InstanceNorm2d": ("weight", "bias")}


class Function(glim.Module):
    """A function with the parameters that the module of torch has."""

    def __init__(self, name, options, state):
        super().__init__()
        self.of, self.options = OPS[FUNCTIONS[name]], options
        self.names = [n for n in PARAMETERS.get(name, ()) if n in state]
        for n in self.names:
            setattr(self, n, glim.Param(state[n]))

    def forward(self, *args):
        options = {**self.options, **{n: getattr(self, n) for n in self.names}}
        ranks = options.pop("ranks", None)
        if ranks is not None and args[0].ndim < ranks:
            return g.squeeze(self.of(g.unsqueeze(args[0], 0), **options), 0)
        return self.of(*args, **options)


def function(name, options, state):
    if name.endswith("d") and "Pad" in name:
        pad, n = options.pop("padding"), int(name[-2])
        options = {"pad": (pad,) * 2 * n if isinstance(pad, int) else pad, **options}
    if name.startswith("InstanceNorm"):
        need(not options.pop("track_running_stats", False), "statistics of earlier batches")
        options["ranks"] = int(name[-2]) + 2
    if name == "GroupNorm":
        options.pop("num_channels", None)
    for unused in ("inplace", "num_features", "affine", "num_parameters", "init", "bias"):
        options.pop(unused, None)
    return Function(name, options, state)


# ---- plain layers ----
@module("Linear")
def linear(in_features, out_features, bias=True):
    return g.Linear(in_features, out_features, bias), None


@module("LayerNorm")
def layer_norm(normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
    return norm(g.LayerNorm, normalized_shape, eps, elementwise_affine, bias), None


@module("RMSNorm")
def rms_norm(normalized_shape, eps=None, elementwise_affine=True):
    return norm(g.RMSNorm, normalized_shape, eps, elementwise_affine), None


def norm(cls, shape, *options):
    shape = [shape] if isinstance(shape, int) else list(shape)
    if len(shape) == 1:
        return cls(shape[0], *options)
    try:
        return cls(shape, *options)
    except TypeError as error:
        raise Skip(f"not in Glim: {cls.__name__} over several axes") from error


@module("Embedding")
def embedding(num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    need(padding_idx is None and max_norm is None and not scale_grad_by_freq and not sparse, "options of an embedding")
    return g.Embedding(num_embeddings, embedding_dim), None


for name in ("ReLU", "SiLU"):
    MODULES[name] = lambda inplace=False, name=name: (getattr(g, name)(), None)
for name in ("Tanh", "Sigmoid"):
    MODULES[name] = lambda name=name: (getattr(g, name)(), None)


@module("GELU")
def gelu(approximate="none"):
    return g.GELU({"none": "erf"}.get(approximate, approximate)), None


def along(cls):
    def of(dim=None):
        need(dim is not None, "deprecated: an axis that torch chooses")
        layer = getattr(g, cls)(dim)
        return layer, lambda x: layer(x) if x.ndim else need(False, "convention: torch takes axis 0 of a tensor without axes")

    return of


MODULES |= {"Softmax": along("Softmax"), "LogSoftmax": along("LogSoftmax")}
MODULES["GLU"] = lambda dim=-1: (g.GLU(dim), None)


# ---- images ----
def batched(layer, rank):
    """The layer for an input without a batch, too."""
    return lambda x: layer(x) if x.ndim == rank else g.squeeze(layer(g.unsqueeze(x, 0)), 0)


def conv(cls, rank):
    def of(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros"):
        need(padding_mode == "zeros", "padding with other than zeros")
        sizes = [plain(n) for n in (kernel_size, stride, padding, dilation)] if rank == 3 else [kernel_size, stride, padding, dilation]
        need(not isinstance(padding, str), "padding by a word")
        options = {"groups": groups} if groups != 1 else {}
        try:
            layer = getattr(g, cls)(in_channels, out_channels, sizes[0], stride=sizes[1], padding=sizes[2], dilation=sizes[3], bias=bias, **options)
        except TypeError as error:
            need(groups == 1, "not in Glim: groups of a convolution")
            raise error
        return layer, batched(layer, rank)

    return of


def plain(n):
    return n if isinstance(n, (int, str)) else n[0]


MODULES |= {"Conv1d": conv("Conv1d", 3), "Conv2d": conv("Conv2d", 4)}


@module("MaxPool2d")
def max_pool(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
    need(not return_indices and not ceil_mode, "windows that begin inside and end outside, and places")
    layer = g.Pool2d("max", kernel_size, stride=stride or 0, padding=padding, dilation=dilation)
    return layer, batched(layer, 4)


@module("AvgPool2d")
def average_pool(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    need(not ceil_mode and divisor_override is None, "windows that begin inside and end outside, and other divisors")
    layer = g.Pool2d("average", kernel_size, stride=stride or 0, padding=padding, count_include_pad=count_include_pad)
    return layer, batched(layer, 4)


def batch_norm(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
    need(track_running_stats and momentum is not None, "no running statistics, or their plain mean")
    return g.BatchNorm(num_features, eps, momentum, affine), None


MODULES |= dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), batch_norm)


# ---- recurrent ----
def recurrent(cell):
    def of(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0):
        need(proj_size == 0, "projections of an LSTM's state")
        layer = g.Recurrent(cell or nonlinearity, input_size, hidden_size, num_layers, bidirectional, dropout, bias)

        def forward(x, initial=None):
            single = x.ndim == 2
            if isinstance(initial, tuple):
                initial = g.concatenate(list(initial), -1)
            if single:
                x, initial = g.unsqueeze(x, 0), None if initial is None else g.unsqueeze(initial, 1)
            elif not batch_first:
                x = g.transpose(x, 0, 1)
            y, state = layer(x, initial)
            if single:
                y, state = g.squeeze(y, 0), g.squeeze(state, 1)
            elif not batch_first:
                y = g.transpose(y, 0, 1)
            return (y, *g.split(state, -1, [hidden_size] * 2)) if cell == "lstm" else (y, state)

        return layer, forward

    return of


MODULES |= {"RNN": recurrent(""), "GRU": recurrent("gru"), "LSTM": recurrent("lstm")}


def cell(name, kind):
    def of(input_size, hidden_size, bias=True, nonlinearity="tanh"):
        layer, forward = recurrent(kind)(input_size, hidden_size, 1, nonlinearity, bias, True)

        def step(x, state=None):
            def of_one_layer(h):
                return g.unsqueeze(h, 0) if x.ndim == 2 else g.reshape(h, (1, -1))

            state = tuple(map(of_one_layer, state)) if isinstance(state, tuple) else None if state is None else of_one_layer(state)
            _, *states = forward(g.unsqueeze(x, -2), state)
            states = [g.squeeze(s, 0) for s in states]
            return states if name == "LSTMCell" else states[0]

        return layer, step

    MODULES[name] = of


cell("RNNCell", ""), cell("GRUCell", "gru"), cell("LSTMCell", "lstm")


# ---- attention ----
def keep_of(mask):
    """A keep-mask of torch's mask, which is true where attention may not go."""
    return None if mask is None else ~mask


@module("MultiheadAttention")
def attention(embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False):
    layer = g.MultiheadAttention(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first)

    def forward(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        single = query.ndim == 2
        if single:
            query, key, value = (g.unsqueeze(v, 0 if batch_first else 1) for v in (query, key, value))
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = attn_mask.reshape(-1, num_heads, *attn_mask.shape[1:])
        of_keys = None if key_padding_mask is None else np.atleast_2d(keep_of(key_padding_mask))
        y, weights = layer(query, key, value, key_keep=of_keys, keep=keep_of(attn_mask), need_weights=need_weights, average_weights=average_attn_weights)
        if single:
            y, weights = g.squeeze(y, 0 if batch_first else 1), None if weights is None else g.squeeze(weights, 0)
        return (y, weights) if need_weights else y

    return layer, forward


def layer_options(d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                  norm_first=False, bias=True):
    return dict(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward, dropout=dropout,
                activation=getattr(activation, "__name__", activation), layer_norm_eps=layer_norm_eps, batch_first=batch_first,
                norm_first=norm_first, bias=bias)


def masks(prefix, mask, key_padding_mask):
    return {prefix + "keep": keep_of(mask), prefix + "key_keep": keep_of(key_padding_mask)}


def encoder_forward(layer):
    def forward(src, src_mask=None, src_key_padding_mask=None, is_causal=None, mask=None):
        return layer(src, **masks("", mask if src_mask is None else src_mask, src_key_padding_mask))

    return forward


def decoder_forward(layer):
    def forward(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        return layer(tgt, memory, **masks("tgt_", tgt_mask, tgt_key_padding_mask), **masks("memory_", memory_mask, memory_key_padding_mask))

    return forward


@module("TransformerEncoderLayer")
def encoder_layer(*args, **options):
    layer = g.TransformerEncoderLayer(**layer_options(*args, **options))
    return layer, encoder_forward(layer)


@module("TransformerDecoderLayer")
def decoder_layer(*args, **options):
    layer = g.TransformerDecoderLayer(**layer_options(*args, **options))
    return layer, decoder_forward(layer)


@module("TransformerEncoder")
def encoder(encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
    """encoder_layer: the arguments of one."""
    stack = g.TransformerEncoder(g.TransformerEncoderLayer(**layer_options(**encoder_layer)), num_layers, norm)
    return stack, encoder_forward(stack)


@module("Transformer")
def transformer(d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, **options):
    options = layer_options(d_model, nhead, **options)

    class Transformer(glim.Module):
        """Both stacks, each with a last norm."""

        def __init__(self):
            super().__init__()
            norm = dict(eps=options["layer_norm_eps"], bias=options["bias"])
            self.encoder = g.TransformerEncoder(g.TransformerEncoderLayer(**options), num_encoder_layers, g.LayerNorm(d_model, **norm))
            self.decoder = g.TransformerDecoder(g.TransformerDecoderLayer(**options), num_decoder_layers, g.LayerNorm(d_model, **norm))

        def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                    memory_key_padding_mask=None):
            memory = encoder_forward(self.encoder)(src, src_mask, src_key_padding_mask)
            return decoder_forward(self.decoder)(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)

    return Transformer(), None
