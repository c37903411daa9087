"""Convolutions and pooling, of channels first: (B, C, ...)."""
import math

import glim
import torch

from .dtypes import tensor, vars_of
from .indices import gather
from .rules import OPS, op


@op("convolution")
def convolution(x, weight, bias, /, stride, padding, dilation, transposed, output_padding, groups):
    x, weight, bias = vars_of(x, weight, bias)
    axes = weight.ndim - 2
    stride, padding, dilation, output_padding = (list(v) * (axes // len(v)) for v in (stride, padding, dilation, output_padding))
    if axes == 1:
        flat = convolution(glim.unsqueeze(x, -1), glim.unsqueeze(weight, -1), bias, [*stride, 1], [*padding, 0], [*dilation, 1],
                           transposed, [*output_padding, 0], groups)
        return glim.squeeze(flat, -1)
    if axes == 3:
        if transposed:
            raise glim.ValueError("from_torch: conv_transpose3d; there are conv_transpose1d and conv_transpose2d")
        y = _in_depth(x, weight, stride, padding, dilation, groups)
    elif transposed:
        y = _transposed(x, weight, stride, padding, dilation, output_padding, groups)
    else:
        y = _planes(x, weight, stride, padding, dilation, groups)
    return y if bias is None else y + bias.reshape((-1,) + (1,) * axes)


def _planes(x, weight, stride, padding, dilation, groups):
    windows = [glim.Window(k, s, d, p, p) for k, s, d, p in zip(weight.shape[2:], stride, dilation, padding)]
    b, c, out = x.shape[0], x.shape[1], weight.shape[0]
    patches = glim.unfold(glim.permute(x, (0, 2, 3, 1)), *windows)                       # (B, H', W', kh, kw, C)
    height, width = patches.shape[1:3]
    patches = patches.reshape((b, height, width, -1, groups, c // groups))
    patches = glim.permute(patches, (4, 0, 1, 2, 5, 3)).reshape((groups, b * height * width, -1))  # columns: channel, window
    y = patches @ glim.transpose(weight.reshape((groups, out // groups, -1)))
    return glim.permute(y.reshape((groups, b, height, width, -1)), (1, 0, 4, 2, 3)).reshape((b, out, height, width))


def _transposed(x, weight, stride, padding, dilation, output_padding, groups):
    """Every element's window, added up: the adjoint of a convolution. weight: (C, O/groups, kh, kw)."""
    b, c, height, width = x.shape
    kernel, out = weight.shape[2:], weight.shape[1]
    if any(extra >= s for extra, s in zip(output_padding, stride)):
        raise glim.ValueError("from_torch: a transposed convolution whose output_padding is not below its stride")
    lengths = [(n - 1) * s - 2 * p + d * (k - 1) + extra + 1
               for n, s, p, d, k, extra in zip((height, width), stride, padding, dilation, kernel, output_padding)]
    rows = glim.permute(x.reshape((b, groups, c // groups, height, width)), (1, 0, 3, 4, 2)).reshape((groups, -1, c // groups))
    patches = rows @ weight.reshape((groups, c // groups, -1))                           # (groups, B H W, O kh kw)
    patches = patches.reshape((groups, b, height, width, out, *kernel))
    patches = glim.permute(patches, (1, 2, 3, 5, 6, 0, 4)).reshape((b, height, width, *kernel, groups * out))
    windows = [glim.Window(k, s, d, p, p) for k, s, d, p in zip(kernel, stride, dilation, padding)]
    return glim.permute(glim.fold(patches, *lengths, *windows), (0, 3, 1, 2))


def _in_depth(x, weight, stride, padding, dilation, groups):
    """The sum of a convolution of planes for each plane of the kernel."""
    x = glim.pad(x, [(0, 0), (0, 0), (padding[0], padding[0]), (0, 0), (0, 0)], 0)
    b, c, depth, height, width = x.shape
    count = (depth - dilation[0] * (weight.shape[2] - 1) - 1) // stride[0] + 1
    total = None
    for k in range(weight.shape[2]):
        start = k * dilation[0]
        planes = glim.slice(x, 2, start, start + (count - 1) * stride[0] + 1, stride[0])
        planes = glim.permute(planes, (0, 2, 1, 3, 4)).reshape((b * count, c, height, width))
        y = _planes(planes, glim.select(weight, 2, k), stride[1:], padding[1:], dilation[1:], groups)
        total = y if total is None else total + y
    return glim.permute(total.reshape((b, count, *total.shape[1:])), (0, 2, 1, 3, 4))


# ---- pooling ----

def largest(f, axes):
    """The largest of each window: PyTorch chooses it, and the gradient goes to it."""
    def pool(x, *sizes):
        ids = f(tensor(x), *sizes)[1]
        rows = x.reshape((*x.shape[:-axes], math.prod(x.shape[-axes:])))
        return [gather(rows, -1, ids.reshape((*rows.shape[:-1], -1))).reshape(tuple(ids.shape)), ids]
    return pool


@op("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(x, kernel_size, /, stride, padding, dilation, ceil_mode):
    f = torch.ops.aten.max_pool3d_with_indices if len(kernel_size) == 3 else torch.ops.aten.max_pool2d_with_indices
    return largest(f, len(kernel_size))(x, kernel_size, stride, padding, dilation, ceil_mode)


OPS["adaptive_max_pool2d"] = lambda x, size, /: largest(torch.ops.aten.adaptive_max_pool2d, 2)(x, size)
OPS["adaptive_max_pool3d"] = lambda x, size, /: largest(torch.ops.aten.adaptive_max_pool3d, 3)(x, size)
OPS["fractional_max_pool2d"] = lambda x, kernel, size, random, /: largest(torch.ops.aten.fractional_max_pool2d, 2)(
    x, kernel, size, random)


@op("avg_pool2d")
def avg_pool2d(x, kernel_size, /, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """Σ of a window / how many elements PyTorch counts in it."""
    if x.ndim == 3:
        return glim.squeeze(avg_pool2d(glim.unsqueeze(x, 0), kernel_size, stride, padding, ceil_mode, count_include_pad,
                                       divisor_override), 0)
    kernel, stride, padding = ([*v] * (2 // len(v)) for v in (kernel_size, stride or kernel_size, padding))
    ones = torch.ones((1, 1, *x.shape[2:]), dtype=torch.float64)
    inside, means = (torch.ops.aten.avg_pool2d(ones, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
                     for divisor in (1, divisor_override))
    after = [max(0, (n - 1) * s + k - length - p) for n, s, k, length, p in zip(means.shape[2:], stride, kernel, x.shape[2:], padding)]
    windows = [glim.Window(k, s, 1, p, q) for k, s, p, q in zip(kernel, stride, padding, after)]
    total = glim.permute(glim.sum(glim.unfold(glim.permute(x, (0, 2, 3, 1)), *windows), (3, 4)), (0, 3, 1, 2))
    factor = (means / inside).numpy()
    return total * (float(factor.flat[0]) if (factor == factor.flat[0]).all() else glim.Var(factor.astype(x.dtype)))
