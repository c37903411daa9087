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
    kind = type(value).__name__
    if name in table:
        return f"'{kind}' has no attribute '{name}': {table[name]}"
    if name == "forward":
        return f"'{kind}' has no attribute 'forward': call the module itself, layer(x); one of your own defines forward"
    return f"'{kind}' has no attribute '{name}'{nearest(name, dir(type(value)))}"


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


def _no_copy(self):
    raise TypeError(f"a {type(self).__name__} is neither copied nor pickled: copy its state, copy.deepcopy(x.state_dict()), "
                    "or save it, module.save(file), and load_state_dict it into another one")


_glim.Module.__reduce__ = _glim.Optimizer.__reduce__ = _no_copy


def _leaf(array, name):
    return _glim.Var.leaf(array, name)


def _parts(self):
    if self.requires_grad and not self.is_leaf:
        raise TypeError("a Var on a tape is neither copied nor pickled: v.detach() is its value")
    return (_leaf, (self.value.numpy(), self.name)) if self.is_leaf else (_glim.Var, (self.value.numpy(),))


_glim.Var.__reduce__ = _parts


def _in_place(operator):
    def update(self, other):
        """w -= step: a leaf is written, as an optimizer does; for other Vars Python calls __sub__."""
        if not self.is_leaf:
            return NotImplemented
        array = self.numpy()
        if not array.flags.writeable:
            raise TypeError("a leaf keeps its value while a tape is open: write w = w + x for a new value, or update the "
                            "leaf after the tape")
        array[...] = getattr(self, operator)(other).numpy()
        return self
    return update


def _set_item(self, index, value):
    raise TypeError("a Var is not written to, as backward reads it: glim.where(mask, new, v) is a new value; outside a tape "
                    "v.numpy()[...] = x writes")


_glim.Var.__setitem__ = _set_item
_glim.Var.__int__ = lambda self: int(self.numpy())
_glim.Var.__format__ = lambda self, spec: format(self.item(), spec) if spec else str(self)
for _name in ("add", "sub", "mul", "truediv"):
    setattr(_glim.Var, f"__i{_name}__", _in_place(f"__{_name}__"))


def _of_numpy(name):
    def first(self, *args, **options):
        from . import _numpy_dispatch, _numpy_einsum, _numpy_ufuncs  # importing glim imports no NumPy
        _glim.Var.__array_function__, _glim.Var.__array_ufunc__ = _numpy_dispatch.array_function, _numpy_ufuncs.array_ufunc
        return getattr(self, name)(*args, **options)
    return first


_glim.Var.__array_ufunc__ = _of_numpy("__array_ufunc__")
_glim.Var.__array_function__ = _of_numpy("__array_function__")
