# The parts of every NumPy program that `glim derive` writes (numpy.cpp). A part begins at its name. Functions that NumPy
# lacks come along with a program that calls them.
# ==== head
import json
import math
import os
import sys
from types import SimpleNamespace

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit("NumPy is missing: apt-get install python3-numpy, or pip install numpy")


def load(path):  # arrays by name, from .npz or .safetensors
    try:
        if path.endswith(".npz"):
            return dict(np.load(path))
        with open(path, "rb") as file:
            raw = file.read()
        begin = 8 + int.from_bytes(raw[:8], "little")
        dtypes = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "?"}
        arrays = {}
        for name, x in json.loads(raw[8:begin]).items():
            if name != "__metadata__":
                first, last = x["data_offsets"]
                arrays[name] = np.frombuffer(raw[begin + first:begin + last], dtypes[x["dtype"]]).reshape(x["shape"])
        return arrays
    except OSError as e:
        sys.exit(f"{path}: {e.strerror or e}: give the data as the first argument, or write it again with `glim derive`")
    except Exception as e:
        sys.exit(f"{path}: cut or damaged ({type(e).__name__}): write it again with `glim derive`, or give an .npz or a .safetensors")


class Arrays(dict):
    def __init__(self, path, arrays):
        super().__init__(arrays)
        self.path = path

    def __missing__(self, name):
        sys.exit(f"{self.path}: has no '{name}': give the data and the weights of this model")
# ==== load
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "FILE")
arrays = load(path)
batch = Arrays(path, {name[6:]: x for name, x in arrays.items() if name.startswith("batch.")})
if len(sys.argv) > 2:
    path = sys.argv[2]
    arrays = load(path)
known = {name[9:]: x for name, x in arrays.items() if name.startswith("gradient.")}
w = Arrays(path, {name: x.astype(float) for name, x in arrays.items() if not name.startswith(("batch.", "gradient."))})
d = {}  # gradients, by parameter
# ==== report
print(f"loss {float(loss):.15g}")
largest = max([np.abs(g).max() for g in known.values()], default=0)
for name, g in sorted(d.items()):
    off = ""
    if name in known:
        most = np.abs(g - known[name]).max() / max(np.abs(known[name]).max(), 1e-3 * largest)
        off = f"  off by {most:.1e}"
    print(f"{np.linalg.norm(g):<12.6g}{off}  {name}")
# ==== rotate_pairs
def rotate_pairs(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)
# ==== fold
def fold(y, height, width, rows, columns):
    (r, top, bottom), (c, left, right) = windows(height, rows), windows(width, columns)
    x = np.zeros((y.shape[0], height + top + bottom, width + left + right, y.shape[-1]))
    np.add.at(x, (slice(None), r[:, None, :, None], c[None, :, None, :]), y)
    return x[:, top:top + height, left:left + width]
# ==== windows
def windows(size, w):  # places of each window, outside the image too
    kernel, stride, dilation, before, after = w
    count = (size + before + after - dilation * (kernel - 1) - 1) // stride + 1
    return np.arange(count)[:, None] * stride + np.arange(kernel) * dilation, before, after
# ==== unfold
inf = math.inf


def unfold(x, rows, columns, fill):
    (r, top, bottom), (c, left, right) = windows(x.shape[1], rows), windows(x.shape[2], columns)
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    return x[:, r[:, None, :, None], c[None, :, None, :]]
# ==== index_add
def index_add(shape, axis, index, source):
    y = np.zeros(shape)
    np.add.at(np.moveaxis(y, axis, 0), index, np.moveaxis(source, axis, 0))
    return y
# ==== scatter_add
def scatter_add(x, axis, index, source):
    y = np.array(x, float)
    np.add.at(y, tuple(index if i == axis else g for i, g in enumerate(np.indices(index.shape))), source)
    return y
# ==== gather
def gather(x, axis, index):
    return x[tuple(index if i == axis else g for i, g in enumerate(np.indices(index.shape)))]
# ==== unslice
def unslice(x, shape, index):  # zeros, with x at these places
    y = np.zeros(shape)
    y[index] = x
    return y
# ==== linear_recurrence
def linear_recurrence(a, b, axis, reverse=False):  # y[i] = a[i - 1] y[i - 1] + b[i]
    y = np.array(b, float)
    rows, a = np.moveaxis(y, axis, 0), np.moveaxis(a, axis, 0)
    if reverse:
        rows, a = rows[::-1], a[::-1]
    for i in range(1, len(rows)):
        rows[i] += a[i - 1] * rows[i - 1]
    return y
# ==== erf
erf = np.vectorize(math.erf, otypes=[float])
# ==== gelu_tanh
def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
# ==== gelu
def gelu(x):
    return x * (0.5 * (1 + erf(x / np.sqrt(2))))
# ==== sigmoid
def sigmoid(x):
    return np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x)))
# ==== logsumexp
def logsumexp(x, axis, keepdims):
    m = x.max(axis, keepdims=True)
    y = m + np.log(np.exp(x - m).sum(axis, keepdims=True))
    return y if keepdims else y.squeeze(axis)
# ==== log_softmax
def log_softmax(x, axis):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))
# ==== masked_softmax
def masked_softmax(x, keep):  # over the last axis; a row of which nothing is kept is 0
    e = np.where(keep, np.exp(x - np.where(keep, x, -1e300).max(-1, keepdims=True)), 0)
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)
# ==== softmax
def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
