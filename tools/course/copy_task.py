"""12. A Transformer of your own parts learns to copy: `glim course check copy_task` checks it.

    python3 copy_task.py

One encoder layer and one decoder layer, two heads, norms after each sublayer. The forward pass is given. You write
copy_task_backward from the backwards of your own files, from the loss to the embedding. Then the model trains with
your adam.py and prints its loss and a receipt: a hash of the words that it says for eight sentences which it has not
seen. Where all of them are right, the receipt is the same on every machine, in NumPy and in C++.

The judge checks copy_task_backward(dy, sentences, *weights), which returns a gradient for each weight in the order of
SHAPES, as the gradient of copy_task(sentences, *weights) at inputs(seed). Then it calls train(), which returns the receipt.
"""
from types import SimpleNamespace

import numpy as np

from adam import adam_step, warm_up
from attention import attention, attention_backward
from heads import multihead_attention, multihead_attention_backward
from label_smoothing import label_smoothing, label_smoothing_backward
from layer_norm import layer_norm, layer_norm_backward
from linear import linear, linear_backward
from masks import masked_attention, masked_attention_backward
from residual import post_norm, post_norm_backward

V, S, D, F = 10, 5, 32, 48  # words, words of a sentence, width of the model and of the feed-forward layers
SHAPES = {
    "embedding": (V, D),  # of the encoder and of the decoder
    "encoder_in": (3 * D, D), "encoder_out": (D, D), "encoder_gamma1": (D,), "encoder_beta1": (D,),
    "encoder_weight1": (F, D), "encoder_weight2": (D, F), "encoder_gamma2": (D,), "encoder_beta2": (D,),
    "self_in": (3 * D, D), "self_in_bias": (3 * D,), "self_out": (D, D), "self_out_bias": (D,),
    "decoder_gamma1": (D,), "decoder_beta1": (D,),
    "query": (D, D), "query_bias": (D,), "key_value": (2 * D, D), "key_value_bias": (2 * D,),
    "cross_out": (D, D), "cross_out_bias": (D,), "decoder_gamma2": (D,), "decoder_beta2": (D,),
    "decoder_weight1": (F, D), "decoder_weight2": (D, F), "decoder_gamma3": (D,), "decoder_beta3": (D,),
    "generator": (V, D), "generator_bias": (V,),
}
ANGLES = np.arange(S)[:, None] / 10000 ** (2 * (np.arange(D) // 2) / D)
POSITIONS = np.where(np.arange(D) % 2, np.cos(ANGLES), np.sin(ANGLES))
HELD_OUT = np.array([[1 + (7 * i + (3 + i) * j) % (V - 1) for j in range(S)] for i in range(8)])  # never trained on
BEGIN = 0  # what the decoder reads first


def split_heads(x):  # (B, S, D) -> (2B, S, D/2): each head is a sentence of its own. Its gradient is merge_heads.
    b, s, d = x.shape
    return x.reshape(b, s, 2, d // 2).swapaxes(1, 2).reshape(2 * b, s, d // 2)


def merge_heads(x):  # (2B, S, D/2) -> (B, S, D). Its gradient is split_heads.
    b, s, d = x.shape
    return x.reshape(b // 2, 2, s, d).swapaxes(1, 2).reshape(b // 2, s, 2 * d)


def forward(w, sentences, words):
    """The values of the forward pass. The decoder reads BEGIN and all words said but the last."""
    s = SimpleNamespace()
    s.read = np.concatenate([np.full((len(words), 1), BEGIN), words[:, :-1]], 1)          # (B, S)
    s.source = np.sqrt(D) * w["embedding"][sentences] + POSITIONS                         # (B, S, D)
    s.source_sum = s.source + multihead_attention(s.source, w["encoder_in"], w["encoder_out"])
    s.source_norm = layer_norm(s.source_sum, w["encoder_gamma1"], w["encoder_beta1"])
    s.memory = post_norm(s.source_norm, w["encoder_weight1"], w["encoder_weight2"], w["encoder_gamma2"],
                         w["encoder_beta2"])

    s.target = np.sqrt(D) * w["embedding"][s.read] + POSITIONS                            # (B, S, D)
    s.self_qkv = [split_heads(x) for x in np.split(linear(s.target, w["self_in"], w["self_in_bias"]), 3, -1)]
    s.keep = np.broadcast_to(np.tri(S, dtype=bool), (2 * len(sentences), S, S))           # no word that comes later
    s.self_context = merge_heads(masked_attention(*s.self_qkv, s.keep))
    s.self_sum = s.target + linear(s.self_context, w["self_out"], w["self_out_bias"])
    s.self_norm = layer_norm(s.self_sum, w["decoder_gamma1"], w["decoder_beta1"])

    s.query = split_heads(linear(s.self_norm, w["query"], w["query_bias"]))
    s.key, s.value = [split_heads(x) for x in np.split(linear(s.memory, w["key_value"], w["key_value_bias"]), 2, -1)]
    s.cross_context = merge_heads(attention(s.query, s.key, s.value))
    s.cross_sum = s.self_norm + linear(s.cross_context, w["cross_out"], w["cross_out_bias"])
    s.cross_norm = layer_norm(s.cross_sum, w["decoder_gamma2"], w["decoder_beta2"])

    s.decoded = post_norm(s.cross_norm, w["decoder_weight1"], w["decoder_weight2"], w["decoder_gamma3"],
                          w["decoder_beta3"])
    s.logits = linear(s.decoded, w["generator"], w["generator_bias"]).reshape(-1, V)      # (B S, V)
    s.loss = label_smoothing(s.logits, sentences.reshape(-1))
    return s


def copy_task(sentences, *weights):
    return forward(dict(zip(SHAPES, weights)), sentences, sentences).loss


def copy_task_backward(dy, sentences, *weights):
    w, d = dict(zip(SHAPES, weights)), {}
    s = forward(w, sentences, sentences)
    # answer: d[NAME], of the weight's shape, for each NAME of SHAPES
    dlogits = label_smoothing_backward(dy, s.logits, sentences.reshape(-1))
    ddecoded, d["generator"], d["generator_bias"] = linear_backward(
        dlogits.reshape(-1, S, V), s.decoded, w["generator"], w["generator_bias"])
    dcross_norm, *gradients = post_norm_backward(
        ddecoded, s.cross_norm, w["decoder_weight1"], w["decoder_weight2"], w["decoder_gamma3"], w["decoder_beta3"])
    d["decoder_weight1"], d["decoder_weight2"], d["decoder_gamma3"], d["decoder_beta3"] = gradients

    dcross_sum, d["decoder_gamma2"], d["decoder_beta2"] = layer_norm_backward(
        dcross_norm, s.cross_sum, w["decoder_gamma2"], w["decoder_beta2"])
    dcontext, d["cross_out"], d["cross_out_bias"] = linear_backward(
        dcross_sum, s.cross_context, w["cross_out"], w["cross_out_bias"])
    dquery, dkey, dvalue = attention_backward(split_heads(dcontext), s.query, s.key, s.value)
    dself_norm, d["query"], d["query_bias"] = linear_backward(
        merge_heads(dquery), s.self_norm, w["query"], w["query_bias"])
    dmemory, d["key_value"], d["key_value_bias"] = linear_backward(
        np.concatenate([merge_heads(dkey), merge_heads(dvalue)], -1), s.memory, w["key_value"], w["key_value_bias"])

    dself_sum, d["decoder_gamma1"], d["decoder_beta1"] = layer_norm_backward(
        dcross_sum + dself_norm, s.self_sum, w["decoder_gamma1"], w["decoder_beta1"])
    dcontext, d["self_out"], d["self_out_bias"] = linear_backward(
        dself_sum, s.self_context, w["self_out"], w["self_out_bias"])
    dqkv = masked_attention_backward(split_heads(dcontext), *s.self_qkv, s.keep)
    dtarget, d["self_in"], d["self_in_bias"] = linear_backward(
        np.concatenate([merge_heads(x) for x in dqkv], -1), s.target, w["self_in"], w["self_in_bias"])
    dtarget = dself_sum + dtarget

    dsource_norm, *gradients = post_norm_backward(
        dmemory, s.source_norm, w["encoder_weight1"], w["encoder_weight2"], w["encoder_gamma2"], w["encoder_beta2"])
    d["encoder_weight1"], d["encoder_weight2"], d["encoder_gamma2"], d["encoder_beta2"] = gradients
    dsource_sum, d["encoder_gamma1"], d["encoder_beta1"] = layer_norm_backward(
        dsource_norm, s.source_sum, w["encoder_gamma1"], w["encoder_beta1"])
    dsource, d["encoder_in"], d["encoder_out"] = multihead_attention_backward(
        dsource_sum, s.source, w["encoder_in"], w["encoder_out"])
    dsource = dsource_sum + dsource

    d["embedding"] = np.zeros((V, D))
    np.add.at(d["embedding"], sentences, np.sqrt(D) * dsource)
    np.add.at(d["embedding"], s.read, np.sqrt(D) * dtarget)
    # end
    return tuple(d[name] for name in SHAPES)


def inputs(seed):
    random = np.random.default_rng(seed)
    return {"sentences": random.integers(1, V, (2, S)),
            **{name: random.normal(0, 0.3, shape) for name, shape in SHAPES.items()}}


def new_weights(random):
    return {name: random.normal(0, 1 / np.sqrt(D), shape) if len(shape) == 2 else
            np.ones(shape) if "gamma" in name else np.zeros(shape) for name, shape in SHAPES.items()}


def say(w, sentences):
    """The words that the model says, one after the other."""
    words = np.full_like(sentences, BEGIN)
    for i in range(S):
        words[:, i] = forward(w, sentences, words).logits.reshape(-1, S, V)[:, i].argmax(-1)
    return words


def train(steps=600, batch=24):
    """Trains until HELD_OUT is copied. Returns the receipt of what the model says."""
    random = np.random.default_rng(1)
    w = new_weights(random)
    m, v = ({name: np.zeros(x.shape) for name, x in w.items()} for _ in range(2))
    for step in range(1, steps + 1):
        sentences = random.integers(1, V, (batch, S))
        sentences = sentences[~(sentences[:, None] == HELD_OUT).all(-1).any(1)]
        d = dict(zip(SHAPES, copy_task_backward(1.0, sentences, *w.values())))
        rate = warm_up(step, D, 100)
        for name in SHAPES:
            w[name], m[name], v[name] = adam_step(w[name], d[name], m[name], v[name], step, rate)
        if step % 50 == 0:
            words = say(w, HELD_OUT)
            right = (words == HELD_OUT).all(1).sum()
            print(f"step {step}  loss {copy_task(sentences, *w.values()):.4f}  copied {right} of {len(HELD_OUT)}")
            if right == len(HELD_OUT):
                break
    receipt = 0xcbf29ce484222325  # FNV-1a, of 64 bits
    for word in words.ravel().tolist():
        receipt = (receipt ^ word) * 0x100000001b3 % 2 ** 64
    print(f"receipt {receipt:016x}")
    return f"{receipt:016x}"


if __name__ == "__main__":
    train()
