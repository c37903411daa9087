"""The peer of `glim_bench step` by JAX, as a server (serving.py): jit with donated parameters.

    peer_jax.py SETTING_JSON [--scan N]    N steps in one lax.scan, as one measurement
"""
import argparse
import json
import math
import os

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))])

import jax
import jax.numpy as jnp
from jax import lax

from serving import serve

jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # draws masks fastest
DROPOUT, SMOOTHING, PAD = 0.1, 0.1, 0


class Keys:
    """A new key for each mask."""

    def __init__(self, key):
        self.key, self.count = key, 0

    def drop(self, x):
        self.count += 1
        kept = jax.random.bernoulli(jax.random.fold_in(self.key, self.count), 1 - DROPOUT, x.shape)
        return jnp.where(kept, x / (1 - DROPOUT), 0)


def weights(shapes, seed=1):
    """Random arrays for a tree of shapes."""
    leaves, tree = jax.tree.flatten(shapes, is_leaf=lambda s: isinstance(s, tuple))
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    return jax.tree.unflatten(tree, [jax.random.normal(k, s) * s[-1] ** -0.5 for k, s in zip(keys, leaves)])


def linear_shapes(inputs, outputs):
    return {"w": (inputs, outputs), "b": (outputs,)}


def linear(p, x):
    return x @ p["w"] + p["b"]


def norm(p, x):
    centered = x - x.mean(-1, keepdims=True)
    return p["w"] * centered * lax.rsqrt((centered ** 2).mean(-1, keepdims=True) + 1e-5) + p["b"]


def attention_shapes(d):
    return {"q": linear_shapes(d, d), "kv": linear_shapes(d, 2 * d), "out": linear_shapes(d, d)}


def attention(p, x, memory, mask, heads, keys):
    split = lambda y: y.reshape(y.shape[0], y.shape[1], heads, -1).transpose(0, 2, 1, 3)
    key, value = jnp.split(linear(p["kv"], memory), 2, -1)
    scores = split(linear(p["q"], x)) @ split(key).swapaxes(2, 3) / math.sqrt(x.shape[-1] // heads)
    probs = jax.nn.softmax(jnp.where(mask, -jnp.inf, scores), -1)
    context = keys.drop(probs) @ split(value)
    return linear(p["out"], context.transpose(0, 2, 1, 3).reshape(x.shape))


def layer_shapes(s, cross):
    d, norm_shape = s["d"], {"w": (s["d"],), "b": (s["d"],)}
    shapes = {"self": attention_shapes(d), "up": linear_shapes(d, s["d_ff"]), "down": linear_shapes(s["d_ff"], d),
              "norm1": norm_shape, "norm2": norm_shape}
    return {**shapes, "cross": attention_shapes(d), "norm3": norm_shape} if cross else shapes


def sinusoids(length, d):
    angle = jnp.arange(length)[:, None] * jnp.exp(jnp.arange(0, d, 2) * (-math.log(10000.0) / d))
    return jnp.stack([jnp.sin(angle), jnp.cos(angle)], -1).reshape(length, d)


def transformer_shapes(s):
    layers = lambda cross: [layer_shapes(s, cross) for _ in range(s["layers"])]
    table = (s["vocab"], s["d"])
    return {"src": table, "tgt": table, "encoder": layers(False), "decoder": layers(True),
            "generator": linear_shapes(s["d"], s["vocab"])}


def transformer(p, source, target, s, keys):
    embed = lambda table, ids: keys.drop(table[ids] * math.sqrt(s["d"]) + sinusoids(ids.shape[1], s["d"]))
    padding = lambda ids: (ids == PAD)[:, None, None, :]
    causal = jnp.triu(jnp.ones((target.shape[1],) * 2, bool), 1)
    feed_forward = lambda l, x: linear(l["down"], keys.drop(jax.nn.relu(linear(l["up"], x))))
    x = embed(p["src"], source)
    for l in p["encoder"]:
        x = norm(l["norm1"], x + keys.drop(attention(l["self"], x, x, padding(source), s["heads"], keys)))
        x = norm(l["norm2"], x + keys.drop(feed_forward(l, x)))
    y = embed(p["tgt"], target)
    for l in p["decoder"]:
        y = norm(l["norm1"], y + keys.drop(attention(l["self"], y, y, causal | padding(target), s["heads"], keys)))
        y = norm(l["norm3"], y + keys.drop(attention(l["cross"], y, x, padding(source), s["heads"], keys)))
        y = norm(l["norm2"], y + keys.drop(feed_forward(l, y)))
    return linear(p["generator"], y)


def gpt_shapes(s):
    return {"wte": (s["vocab"], s["d"]), "wpe": (s["target"], s["d"]), "norm": {"w": (s["d"],), "b": (s["d"],)},
            "layers": [layer_shapes(s, False) for _ in range(s["layers"])]}


def gpt(p, _, ids, s, keys):
    causal = jnp.triu(jnp.ones((ids.shape[1],) * 2, bool), 1)
    x = keys.drop(p["wte"][ids] + p["wpe"])
    for l in p["layers"]:
        h = norm(l["norm1"], x)
        x = x + keys.drop(attention(l["self"], h, h, causal, s["heads"], keys))
        x = x + keys.drop(linear(l["down"], jax.nn.gelu(linear(l["up"], norm(l["norm2"], x)), approximate=False)))
    return norm(p["norm"], x) @ p["wte"].T


def training(s, steps):
    shapes, model = (gpt_shapes, gpt) if s["source"] == 0 else (transformer_shapes, transformer)
    ids = lambda seed, n: jax.random.randint(jax.random.key(seed), (s["batch"], n), 3, s["vocab"])
    source, target = ids(2, max(1, s["source"])), ids(3, s["target"] + 1)

    def loss(p, key):
        log_probs = jax.nn.log_softmax(model(p, source, target[:, :-1], s, Keys(key)), -1)
        right = jnp.take_along_axis(log_probs, target[:, 1:, None], -1)[..., 0]
        smoothed = -(1 - SMOOTHING) * right - SMOOTHING * log_probs.mean(-1)
        return jnp.where(target[:, 1:] == PAD, 0, smoothed).sum() / target[:, 1:].size

    def step(state):
        p, m, v, t = state
        g = jax.grad(loss)(p, jax.random.fold_in(jax.random.key(1), t))
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.98 * v + 0.02 * g * g, v, g)
        rate = 1e-4 * jnp.sqrt(1 - 0.98 ** t) / (1 - 0.9 ** t)
        return jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-9), p, m, v), m, v, t

    p = weights(shapes(s))
    state = [(p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), 0.0)]
    body = step if steps == 1 else lambda state: lax.scan(lambda x, _: (step(x), None), state, length=steps)[0]
    run = jax.jit(body, donate_argnums=0)

    def work():
        state[0] = jax.block_until_ready(run(state[0]))
    return work


parser = argparse.ArgumentParser()
parser.add_argument("setting", type=json.loads)
parser.add_argument("--scan", type=int, default=1)
a = parser.parse_args()
serve(lambda: training(a.setting, a.scan))
