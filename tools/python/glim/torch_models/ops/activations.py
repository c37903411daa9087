"""Activations, with PyTorch's derivative at their kinks."""
import glim
import numpy as np

from .dtypes import promoted
from .elementwise import chosen
from .rules import op


@op("gelu")
def gelu(x, /, *, approximate):
    return glim.gelu(x, "erf" if approximate == "none" else "tanh")


@op("elu")
def elu(x, /, alpha=1, scale=1, input_scale=1):
    v = x.numpy()
    inside = x if input_scale == 1 else x * input_scale
    y = glim.elu(inside, alpha) if input_scale == 1 else chosen(v > 0, x, glim.elu(inside, alpha))
    return y if scale == 1 else y * scale


@op("celu")
def celu(x, /, alpha=1):
    return elu(x, alpha, 1, 1 / alpha)


@op("leaky_relu")
def leaky_relu(x, /, negative_slope):
    return glim.leaky_relu(x, negative_slope)


@op("softplus")
def softplus(x, /, beta, threshold):
    large = x.numpy() * beta > threshold
    return glim.where(large, x, glim.softplus(x, beta)) if large.any() else glim.softplus(x, beta)


@op("log_sigmoid_forward")
def log_sigmoid(x, /):
    return [-glim.softplus(-x)]


@op("hardtanh")
def hardtanh(x, /, min_val, max_val):
    v = x.numpy()
    return chosen((v <= min_val) | (v >= max_val), np.clip(v, min_val, max_val), x)


@op("hardsigmoid")
def hardsigmoid(x, /):
    v = x.numpy()
    return chosen((v <= -3) | (v >= 3), np.clip(v + 3, 0, 6) / 6, (x + 3) / 6)


@op("hardswish")
def hardswish(x, /):
    v = x.numpy()
    return chosen(v >= 3, x, chosen(v <= -3, 0.0, x * (x + 3) / 6))


@op("hardshrink")
def hardshrink(x, /, lambd):
    return chosen(np.abs(x.numpy()) <= lambd, 0.0, x)


@op("softshrink")
def softshrink(x, /, lambd):
    v = x.numpy()
    return chosen(v > lambd, x - lambd, chosen(v < -lambd, x + lambd, x * 0))


@op("threshold")
def threshold(x, /, threshold, value):
    return chosen(x.numpy() <= threshold, float(value), x)


@op("_prelu_kernel")
def prelu(x, weight, /):
    x, weight = promoted(x, weight)
    return chosen(x.numpy() > 0, x, weight * x)
