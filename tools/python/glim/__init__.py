"""Glim: gradients to check, to watch and to read.

    report = glim.gradcheck(f, backward, *inputs)
"""
from ._glim import (DTypeError, Error, FileError, IndexError, MemoryError, NonFiniteError, ShapeError, StateError,
                    Tensor, ValueError)
from .gradcheck import Report, gradcheck

__version__ = "0.1.0"
