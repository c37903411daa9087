"""Right backwards of JAX: functions, pytrees, jit, custom_vjp."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

UNARY = """exp expm1 exp2 log+ log1p log2+ sqrt+ square sin cos tan sinh cosh tanh arcsin arctan arcsinh arctanh negative
reciprocal+ cbrt+ sinc abs sigmoid softplus relu6 silu gelu elu selu celu leaky_relu hard_tanh hard_sigmoid log_sigmoid
soft_sign squareplus mish erf digamma+ lgamma+""".split()

AXIS = {
    "softmax": lambda x, a: nn.softmax(x, a),
    "log_softmax": lambda x, a: nn.log_softmax(x, a),
    "logsumexp": lambda x, a: nn.logsumexp(x, a),
    "standardize": lambda x, a: nn.standardize(x, a),
    "sum": lambda x, a: x.sum(a),
    "mean": lambda x, a: x.mean(a),
    "var": lambda x, a: x.var(a),
    "max": lambda x, a: x.max(a),
    "prod": lambda x, a: x.prod(a),
    "cumsum": lambda x, a: jnp.cumsum(x, a),
    "cumprod": lambda x, a: jnp.cumprod(x, a),
    "sort": lambda x, a: jnp.sort(x, a),
    "flip": lambda x, a: jnp.flip(x, a),
    "roll": lambda x, a: jnp.roll(x, 1, a),
    "norm": lambda x, a: jnp.linalg.norm(x, axis=a),
    "median": lambda x, a: jnp.median(x, a),
    "diff": lambda x, a: jnp.diff(x, axis=a),
}

OTHERS = {
    "matmul": (jnp.matmul, (2, 3), (3, 2)),
    "matmul in batches": (jnp.matmul, (2, 2, 3), (3, 2)),
    "einsum": (lambda a, b: jnp.einsum("bij,kj->bik", a, b), (2, 2, 3), (2, 3)),
    "jit": (jax.jit(lambda x, w: jnp.tanh(x @ w)), (2, 3), (3, 2)),
    "vmap": (jax.vmap(lambda x, w: jnp.dot(jnp.sin(x), w), (0, None)), (3, 2), (2,)),
    "scan": (lambda x, w: lax.scan(lambda h, v: (jnp.tanh(h @ w + v),) * 2, jnp.zeros(2), x)[1], (3, 2), (2, 2)),
    "cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (4,)),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, y: y * jnp.sin(x), x), (4,)),
    "convolution": (lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), (1, 2, 3, 3), (2, 2, 2, 2)),
    "inv": (lambda x: jnp.linalg.inv(x + 4 * jnp.eye(3)), (3, 3)),
    "det": (jnp.linalg.det, (3, 3)),
    "solve": (lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(3), b), (3, 3), (3,)),
    "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(3)), (3, 3)),
    "gather": (lambda x: x[jnp.array([2, 0, 2])], (3, 2)),
    "scatter": (lambda x, v: x.at[jnp.array([1, 1])].add(v), (4,), (2,)),
    "where": (lambda a, b: jnp.where(a > b, a * b, a - b), (3, 3), (3, 3)),
    "attention": (lambda q, k, v: nn.softmax(q @ k.T / 2) @ v, (3, 4), (3, 4), (3, 4)),
    "checkpoint": (jax.checkpoint(lambda x: jnp.sin(jnp.exp(x))), (4,)),
    "several outputs": (lambda a, b: (a * b, a.sum(), jnp.argmax(b)), (3,), (3,)),
    "interp": (lambda x: jnp.interp(x, jnp.linspace(-2, 2, 5), jnp.arange(5.0) ** 2), (4,)),
    "fft": (lambda x: jnp.abs(jnp.fft.rfft(x)), (6,)),
    "outer": (jnp.outer, (3,), (2,)),
    "kron": (jnp.kron, (2, 2), (2, 2)),
    "logaddexp": (jnp.logaddexp, (3,), (2, 3)),
    "arctan2": (jnp.arctan2, (3,), (2, 3)),
    "hypot": (jnp.hypot, (3,), (2, 1)),
    "layer norm": (lambda x, g, b: nn.standardize(x) * g + b, (3, 4), (4,), (4,)),
    "cross entropy": (lambda x: -jnp.mean(nn.log_softmax(x)[jnp.arange(3), jnp.array([1, 0, 2])]), (3, 4)),
    "linear of a dict": (lambda p: jnp.tanh(p["x"] @ p["w"] + p["b"]), {"x": (2, 3), "w": (3, 2), "b": (2,)}),
}


@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0)


softplus.defvjp(lambda x: (softplus(x), x), lambda x, dy: (dy * jax.nn.sigmoid(x),))


def draw(shape, seed=0, low=-0.95, high=0.95, dtype=np.float64):
    if isinstance(shape, dict):
        return {k: draw(s, seed) for k, s in shape.items()}
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(dtype)


def cases():
    for text in UNARY:
        name = text.rstrip("+")
        f = next(getattr(m, name) for m in (jnp, nn, jax.scipy.special, lax) if hasattr(m, name))
        low = 0.2 if text[-1] == "+" else -0.95
        for shape in [(5,), (2, 3)]:
            yield f"jax {name} {shape}", (f, draw(shape, low=low)), {}
        yield f"jax {name}, float32", (f, draw((3, 2), low=low, dtype=np.float32)), {}
    for name, f in AXIS.items():
        for shape, axis in [((3, 4), 0), ((3, 4), 1), ((2, 3, 2), 1)]:
            yield f"jax {name} {shape} along {axis}", (lambda x, f=f, a=axis: f(x, a), jnp.asarray(draw(shape, low=0.1))), {}
    for name, (f, *shapes) in OTHERS.items():
        for seed in range(2):
            yield f"jax {name}, draw {seed}", (f, *(draw(s, seed + 10 * k) for k, s in enumerate(shapes))), {}
    for shape in [(), (3,), (2, 3)]:
        yield f"jax custom_vjp {shape}", (softplus, draw(shape)), {}
