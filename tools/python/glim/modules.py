"""Chains of layers, and ops that a user writes in Python."""
import copy

from . import _glim


class Op:
    """An op to derive from; its instances are called with Vars.

        class Cube(glim.Op):
            def forward(self, x):            # NumPy arrays in, an array out
                return x ** 3
            def gradient(self, dy, x):       # Vars in; ∂L/∂x for each input, None where there is none
                return 3 * dy * x * x

        y = Cube()(x)

    A gradient made of ops of Glim can be differentiated again. Check it: glim.gradcheck(op.forward, op.numpy_gradient,
    *arrays).
    """

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def gradient(self, dy, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no gradient")

    def __call__(self, *inputs):
        return _glim.apply(self, list(inputs))

    def numpy_gradient(self, dy, *inputs):
        """gradient as a backward of NumPy arrays."""
        dx = self.gradient(_glim.Var(dy), *[_glim.Var(x) for x in inputs])
        return tuple(None if d is None else _glim.Var(d).numpy() for d in (dx if isinstance(dx, (tuple, list)) else (dx,)))


class Sequential(_glim.Module):
    """Layers one after the other under the names "0", "1", ..."""

    def __init__(self, *layers):
        super().__init__()
        self.__dict__["_layers"] = list(layers)  # no member: the names below are
        for k, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(f"Sequential: argument {k} is a {type(layer).__name__}, expected a layer; of a list, "
                                "Sequential(*layers)")
            setattr(self, str(k), layer)

    def forward(self, x):
        for layer in self._layers:
            x = layer(x)
        return x

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, k):
        return self._layers[k]


class ModuleList(_glim.ListBase):
    """Modules under the names "0", "1", ...; calls through the list add no level to paths."""

    def __init__(self, modules=()):
        super().__init__()
        self._modules = []
        for module in modules:
            self.append(module)

    def append(self, module):
        self._register(str(len(self._modules)), module)
        self._modules.append(module)
        return module

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __getitem__(self, k):
        return self._modules[k]


class _Stack(_glim.Module):
    def __init__(self, layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x, *memory, **masks):
        for layer in self.layers:
            x = layer(x, *memory, **masks)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """num_layers copies of a TransformerEncoderLayer, then norm, if there is one.

    Called as a layer is: encoder(x, keep=..., key_keep=..., causal=...)
    """


class TransformerDecoder(_Stack):
    """num_layers copies of a TransformerDecoderLayer, then norm, if there is one.

    Called as a layer is: decoder(x, memory, tgt_causal=True, memory_key_keep=...)
    """
