"""Numbers among options: True is an int of Python, and no number here."""
import numbers


def is_number(x):
    return isinstance(x, numbers.Real) and not isinstance(x, bool)


def is_whole(x):
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)
