"""What Python and NumPy call on a Var: copying, `+=`, an item that is set, a number's text, NumPy's functions."""
from . import _glim


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
