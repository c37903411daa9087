"""NumPy's dispatch to functions of Vars (__array_function__): which arguments an implementation gets, and what is refused.

An implementation of NumPy's function has the parameters of it that it reads. Any other parameter has NumPy's default, or
the call is a TypeError. A parameter's annotation converts its argument: `array` to a Var, `arrays` to a list of Vars. A
parameter without annotation is a constant: a Var that needs a gradient is a TypeError there, as in np.asarray(v).
"""
import functools
import inspect

import numpy as np

from . import _glim
from ._words import _OF_GLIM

FUNCTIONS = {}


def implements(function):
    """A decorator for the implementation of NumPy's function."""
    def register(implementation):
        FUNCTIONS[function] = implementation
        return implementation
    return register


def refused(name):
    last = name.rpartition(".")[2]
    remedy = _OF_GLIM.get(last) or (f"glim.{last}" if hasattr(_glim, last) else "use ops of glim (python.md lists them)")
    return TypeError(f"np.{name} takes no Var: {remedy}, or v.numpy() if it is a constant")


def unread(name, option):
    return TypeError(f"np.{name} with {option}= takes no Var: leave it out, or pass v.numpy() if v is a constant")


# ---- arguments ----


def vars_in(x):
    """The Vars in x, which may be lists of lists."""
    if isinstance(x, _glim.Var):
        yield x
    elif isinstance(x, (list, tuple)):
        for y in x:
            yield from vars_in(y)


def array(x, like):
    """A Var of x, which may be a list of Vars; None stays None. Arrays and numbers get the dtype of the Var `like`."""
    if x is None or isinstance(x, _glim.Var):
        return x
    if next(vars_in(x), None) is not None:
        return _glim.stack(arrays(x, like), 0)
    _glim._require_plain(x, "an array beside a Var")
    return _glim.Var(np.asarray(x, float if like is None else like.dtype))


def arrays(xs, like):
    return [array(x, like) for x in xs]


def constant(x, like=None):
    """x with arrays in place of Vars, none of which needs a gradient."""
    if isinstance(x, (_glim.Var, _glim.Tensor)):
        return np.asarray(x)
    return type(x)(map(constant, x)) if isinstance(x, (list, tuple)) else x


def values(x, like=None):
    """x with arrays in place of Vars, for a result that has no gradient."""
    if isinstance(x, (_glim.Var, _glim.Tensor)):
        return x.numpy()
    return type(x)(map(values, x)) if isinstance(x, (list, tuple)) else x


# ---- calls ----


@functools.cache
def _signature(function):
    try:
        return inspect.signature(function)
    except ValueError:  # a function in C, in NumPy 1
        return inspect.signature(FUNCTIONS[function])


def call(function, args, options):
    """The implementation of NumPy's function, called with the arguments that it reads."""
    name, implementation = name_of(function), FUNCTIONS[function]
    parameters, readable = _signature(function).parameters, _signature(implementation).parameters
    try:
        bound = _signature(function).bind(*args, **options).arguments
    except TypeError as error:
        raise TypeError(f"np.{name} of a Var: {error}") from None
    for word, parameter in parameters.items():
        if parameter.kind == parameter.VAR_KEYWORD:
            bound |= bound.pop(word, {})
    like, read = next(vars_in([*bound.values()]), None), {}
    for (word, value), same_place in zip(bound.items(), [*readable, *[None] * len(bound)]):
        default = parameters[word].default if word in parameters else None
        if value is default or isinstance(value, (str, int)) and value == default:
            continue
        if word not in readable and default is inspect.Parameter.empty:  # an array, which has other names in NumPy
            word = same_place
        if word not in readable:
            raise unread(name, word)
        convert = readable[word].annotation
        read[word] = (constant if convert is inspect.Parameter.empty else convert)(value, like)
    return implementation(**read)


def name_of(function):
    return f"{function.__module__}.{function.__name__}".partition(".")[2]


def array_function(self, function, types, args, options):
    if function not in FUNCTIONS:
        raise refused(name_of(function))
    if FUNCTIONS[function] is None:
        return function(*map(values, args), **{word: values(x) for word, x in options.items()})
    return call(function, args, options)
