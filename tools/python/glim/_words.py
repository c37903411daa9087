"""Words of NumPy and torch: what to type for a name that Glim lacks."""
import difflib

from . import _glim

_TAPE = "within `with glim.Tape() as tape:` write tape.backward({0})"
_OF_VAR = {
    "backward": _TAPE.format("loss"), "retain_grad": "tape.watch(v) keeps the gradient, tape.grad_of(v) reads it",
    "register_hook": "tape.hook(v, f)", "grad_fn": "tape.nodes lists what was recorded",
    "requires_grad_": "glim.Var.leaf(array) has a gradient", "data": "v.value, or v.numpy()", "values": "v.numpy()",
    "tolist": "v.numpy().tolist()", "cpu": "Glim computes on the CPU alone", "cuda": "Glim computes on the CPU alone",
    "device": "Glim computes on the CPU alone",
    **dict.fromkeys(("copy", "clone"), "no copy is needed, as a Var keeps its value; v.value.clone() has no gradient"),
    "view": "v.reshape(2, 3)", "flatten": "v.reshape(-1)", "ravel": "v.reshape(-1)", "expand": "v.broadcast_to(shape)",
    "swapaxes": "v.transpose(0, 1)", "mm": "v @ w", "bmm": "v @ w", "dot": "v @ w", "norm": "(v * v).sum().sqrt()",
    "std": "np.std(v, axis), or v.var(axis).sqrt() with n - 1", "square": "v * v", "clip": "v.clamp(low, high)",
    "prod": "np.prod(v, axis)", "cumprod": "glim.cumprod(v, axis)", "diagonal": "np.diagonal(v)",
    "trace": "np.trace(v)", "masked_fill": "glim.where(mask, x, v)",
    "masked_fill_": "glim.where(mask, x, v)", "repeat": "glim.concatenate([v, v], axis)", "numel": "v.size",
    "dim": "v.ndim", "element_size": "v.numpy().itemsize",
    **dict.fromkeys(("astype", "to", "type", "float", "double"),
                    'glim.Var.leaf(array.astype("float32")); a module has layer.to("float64")'),
}
_OF_MODULE = {
    **dict.fromkeys(("cuda", "cpu"), "Glim computes on the CPU alone"), "double": 'to("float64")', "float": 'to("float32")',
    "modules": "children(), level by level", "named_modules": "children(), level by level",
    "named_children": "children()", "requires_grad_": 'freeze("*") and unfreeze("*")',
    "register_buffer": "self.mean = glim.Buffer(array) in __init__",
    "register_parameter": "self.weight = glim.Param(array) in __init__",
    "add_module": "self.name = module in __init__", "register_forward_hook": "tape.hook(pattern, f)",
    "forward": "call the module itself, layer(x); one of your own defines forward",
    "register_full_backward_hook": "tape.hook(pattern, f)",
}
_OF_OPTIMIZER = {"param_groups": "optimizer.rate is the learning rate", "lr": "optimizer.rate"}
_OF_TENSOR = {"grad": "glim.Var.leaf(array) has a gradient", "backward": _TAPE.format("loss"),
              "requires_grad": "glim.Var.leaf(array) has a gradient"}
_OF_GLIM = {
    "nn": "layers are in glim itself: glim.Linear", "optim": "optimizers are in glim itself: glim.Adam",
    "functional": "functions are in glim itself: glim.softmax", "cat": "glim.concatenate(parts, axis)",
    "concat": "glim.concatenate(parts, axis)", "vstack": "glim.concatenate(parts, 0)",
    "hstack": "glim.concatenate(parts, 1)", "randn": "glim.normal(shape)", "rand": "glim.uniform(shape)",
    "random": "glim.normal(shape), glim.uniform(shape)", "manual_seed": "glim.seed(1)",
    "from_numpy": "glim.Tensor(array)", "as_tensor": "glim.tensor(values)", "array": "glim.tensor(values)",
    "Parameter": "glim.Param(array)", "einsum": "np.einsum(text, v, w) takes a Var", "prod": "np.prod(v, axis)", "dot": "a @ b",
    "mm": "a @ b", "bmm": "a @ b", "norm": "np.linalg.norm(v)", "square": "v * v", "power": "v ** 2",
    "std": "np.std(v, axis)", "clip": "glim.clamp(v, low, high)", "flatten": "v.reshape(-1)",
    "flip": "glim.index_select(v, axis, ids)", "one_hot": "np.eye(n)[ids]", "grad": "tape.grad(loss, [w])",
    "autograd": "tape.grad(loss, [w]), tape.backward(loss)", "backward": _TAPE.format("loss"),
    "save": "module.save(file)", "float32": 'dtype="float32"', "float64": 'dtype="float64"', "int64": 'dtype="int64"',
    "CrossEntropyLoss": "glim.cross_entropy(logits, target)", "MSELoss": "glim.mse_loss(x, y)",
    "nll_loss": "glim.cross_entropy(logits, target)", "binary_cross_entropy_with_logits":
    "glim.softplus(-x) for target 1, glim.softplus(x) for 0", "RNN": 'glim.Recurrent("tanh", ...)',
    "GRU": 'glim.Recurrent("gru", ...)', "LSTM": 'glim.Recurrent("lstm", ...)', "BatchNorm1d": "glim.BatchNorm",
    "BatchNorm2d": "glim.BatchNorm", "MaxPool2d": 'glim.Pool2d("max", 2)', "AvgPool2d": 'glim.Pool2d("average", 2)',
    "binary_cross_entropy": "-glim.log(p) for target 1, -glim.log(1 - p) for 0",
    "Identity": "glim.Sequential()", "LeakyReLU": "glim.leaky_relu(v, slope)", "ELU": "glim.elu(v)",
    "Flatten": "v.reshape(v.shape[0], -1)", "Sgd": "glim.SGD", "utils": "glim.clip_grad_norm(module, max_norm)",
    "clip_grad_norm_": "glim.clip_grad_norm(module, max_norm)", "set_grad_enabled": "glim.no_grad()",
    "inference_mode": "glim.no_grad()", "cuda": "Glim computes on the CPU alone",
    "device": "Glim computes on the CPU alone",
}


def missing(value, name, table=_OF_MODULE):
    """The text of an AttributeError, with what to type."""
    remedy = f": {table[name]}" if name in table else nearest(name, dir(type(value)))
    return f"'{type(value).__name__}' has no attribute '{name}'{remedy}"


def nearest(name, known):
    """The three known names that are most like `name`, as the end of a message."""
    near = [] if name.startswith("_") else difflib.get_close_matches(name, [k for k in known if k[0] != "_"], 3)
    return f"; nearest: {', '.join(near)}" if near else ""


def __getattr__(name):
    """Of the module glim."""
    if name in _OF_GLIM:
        raise AttributeError(f"module 'glim' has no attribute '{name}': {_OF_GLIM[name]}")
    import glim
    raise AttributeError(f"module 'glim' has no attribute '{name}'{nearest(name, vars(glim))}")


def _with_words(cls, table, otherwise=""):
    def get(self, name):
        text = missing(self, name, table)
        raise AttributeError(text.split(";")[0] + otherwise if otherwise and name not in table else text)
    cls.__getattr__ = get


_with_words(_glim.Var, _OF_VAR)
_with_words(_glim.Tensor, _OF_TENSOR, ": t.numpy() has NumPy's methods, glim.Var(t) those of a Var")
_with_words(_glim.Optimizer, _OF_OPTIMIZER)
_with_words(_glim.Tape, {"gradient": "tape.grad(y, [x])", "zero_grad": "module.zero_grad(), or w.zero_grad()"})
