"""Arrays of NumPy in and out: the same memory wherever it can be the same."""
import ctypes
import numpy as np
import pytest

import glim


def address(array):
    return array.__array_interface__["data"][0]


MATRIX = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("array", [
    MATRIX, MATRIX.T, np.asfortranarray(MATRIX), MATRIX[::-1], MATRIX[:, ::-2], MATRIX[1:, ::2], MATRIX[0, 0, ...],
    MATRIX.astype(np.float32), np.arange(6).reshape(2, 3), np.array([True, False]),
    np.broadcast_to(MATRIX[0], (5, 4)), np.ones((1, 3, 1))],
    ids=lambda a: f"{a.dtype} {a.shape} {a.strides}")
def test_the_same_memory(array):
    tensor = glim.Tensor(array)
    back = tensor.numpy()
    assert tensor.shape == array.shape and tensor.dtype == array.dtype.name
    assert back.dtype == array.dtype and (back == array).all()
    assert address(back) == address(array)
    assert back.flags.writeable == array.flags.writeable
    assert (tensor.clone().numpy() == array).all()


def test_no_elements():
    for shape in ((0,), (3, 0), (0, 4, 2)):
        assert glim.Tensor(np.zeros(shape)).numpy().shape == shape


def test_memory_is_kept_alive_on_both_sides():
    tensor = glim.Tensor(np.arange(1000.0))
    array = tensor.numpy()
    del tensor
    assert array.sum() == 499500


def test_elements_that_cannot_be_read_in_place_are_copied():
    records = np.zeros(4, dtype=np.dtype([("flag", np.int8), ("x", np.float64)], align=False))
    records["x"] = [1, 2, 3, 4]
    bytes_apart = np.frombuffer(bytes(33), dtype=np.uint8)[1:].view(np.float64)
    for array in (records["x"], records["x"].astype(">f8"), bytes_apart):
        assert glim.Tensor(array).numpy().tolist() == array.tolist()


@pytest.mark.parametrize("array, error, words", [
    (np.ones(3, np.float16), glim.DTypeError, r"float16.*astype"),
    (np.ones(3, np.int32), glim.DTypeError, r"int32.*astype"),
    (np.ones(3, complex), glim.DTypeError, r"complex128"),
    (np.array([None, "a"]), glim.DTypeError, r"object"),
    (np.ones((1,) * 9), glim.ShapeError, r"9"),
    ([1.0, 2.0], TypeError, r"got list; glim.tensor makes one"),
    ("abc", TypeError, r"got str"),
    (None, TypeError, r"got NoneType")])
def test_what_is_no_array_of_glim(array, error, words):
    with pytest.raises(error, match=words):
        glim.Tensor(array)


def test_buffers_without_strides():
    assert glim.Tensor((ctypes.c_double * 3)(1, 2, 3)).numpy().tolist() == [1, 2, 3]
    for date in np.datetime64("2020"), np.timedelta64(1):
        with pytest.raises(glim.DTypeError):
            glim.sum(date)


def test_errors_are_the_types_that_python_has():
    for ours, python in ((glim.ShapeError, ValueError), (glim.DTypeError, TypeError), (glim.IndexError, IndexError),
                         (glim.ValueError, ValueError), (glim.FileError, OSError), (glim.MemoryError, MemoryError),
                         (glim.NonFiniteError, ArithmeticError), (glim.StateError, RuntimeError)):
        assert issubclass(ours, glim.Error) and issubclass(ours, python)
