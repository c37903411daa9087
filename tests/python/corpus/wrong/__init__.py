"""The corpus of wrong backwards, a file a chapter of a course."""

from ..layer import LAYERS
from . import activations, arithmetic, attention, convolution, fresh, held_out, linear, losses, lookup, norms, recurrent, reductions, second_fresh, special, state


def wrong_backwards():
    return [w for layer in LAYERS for w in layer.wrongs]
