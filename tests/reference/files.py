"""Sample files of other programs: .safetensors by its own library, arrays as NumPy prints them."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

SPECIAL = [0.0, -0.0, 1.5, -2.25, np.nan, np.inf, -np.inf, 1e-300, 1.7976931348623157e308, 5e-324]


def write_safetensors(tensors, path, metadata=None):
    save_file(tensors, path, metadata=metadata)
    path.chmod(0o644)


def safetensors(folder):
    """safetensors/NAME.safetensors; the values follow from the README."""
    folder = Path(folder) / "safetensors"
    folder.mkdir(exist_ok=True)
    ramp = torch.arange(6).reshape(2, 3)
    four = {
        "float32": (ramp * 0.5 - 1).float(),
        "float64": ramp.double() / 3,
        "int64": ramp - 2**40,
        "bool": ramp % 2 == 0,
        "scalar": torch.tensor(3.25, dtype=torch.float64),
        "empty": torch.zeros(0, 3),
        "special.float64": torch.tensor(SPECIAL, dtype=torch.float64),
        "名前.weight": torch.tensor([1.0, 2.0]),
        'quote"back\\slash': torch.tensor([7]),
    }
    write_safetensors(four, folder / "four_dtypes.safetensors", {"note": "line 1\nline 2 \"ü\" 猫"})
    write_safetensors({"x": ramp}, folder / "no_metadata.safetensors")
    write_safetensors({}, folder / "no_tensors.safetensors")
    for dtype in ("float16", "bfloat16", "int32", "uint8"):
        write_safetensors({"x": ramp.to(getattr(torch, dtype))}, folder / f"unsupported_{dtype}.safetensors")


def ramp(name, dtype, shape, start, step):
    """An entry whose values are start + i * step: too many to list."""
    values = (start + step * np.arange(np.prod(shape))).astype(dtype).reshape(shape)
    return name, values, {"start": start, "step": step}


def printed():
    """(name, array, how to make its values); the text is np.array2string(array) with defaults."""
    f4, f8, i8, b1 = "float32", "float64", "int64", "bool"
    nan, inf = np.nan, np.inf
    draw = np.random.Generator(np.random.PCG64(97))
    normal = lambda *shape: draw.standard_normal(shape).astype(f4)
    listed = {
        "scalar float64": np.array(2.5, f8),
        "scalar float32": np.array(0.1, f4),
        "scalar int64": np.array(-7, i8),
        "scalar bool": np.array(True),
        "scalar nan": np.array(nan, f8),
        "whole numbers float64": np.array([1, 2, 3], f8),
        "whole numbers float32": np.array([[1, -20], [300, 4]], f4),
        "fractions": np.array([0.5, 1.25, -3.125], f8),
        "thirds float64": np.array([1 / 3, 2 / 3, 1.0], f8),
        "thirds float32": np.array([1 / 3, 2 / 3, 1.0], f4),
        "tenths float32": np.array([0.1, 0.2, 0.3], f4),
        "tenths float64": np.array([0.1, 0.2, 0.1 + 0.2], f8),
        "normal float32": normal(3, 4),
        "normal float64": draw.standard_normal((3, 4)),
        "normal 3-D": normal(2, 2, 3),
        "normal 4-D": normal(2, 1, 2, 2),
        "wide rows wrap": normal(2, 13),
        "long row of integers wraps": np.arange(60),
        "nan and inf": np.array([nan, inf, -inf, 1.5], f8),
        "nan and inf with whole numbers": np.array([[1, nan], [-inf, 100]], f4),
        "all nan": np.array([nan, nan], f8),
        "nan and inf alone": np.array([nan, inf], f4),
        "inf and -inf alone": np.array([-inf, inf], f8),
        "negative zero": np.array([-0.0, 0.0, 1.0], f8),
        "zeros": np.zeros((2, 3), f8),
        "zeros float32": np.zeros(4, f4),
        "large: exponent": np.array([1e8, 1.0], f8),
        "just below: no exponent": np.array([99999999.0, 123456.0], f8),
        "small: exponent": np.array([1e-5, 1.0], f8),
        "smallest without exponent": np.array([1e-4, 2e-4], f8),
        "ratio over 1000: exponent": np.array([0.001, 1.5, 1000.5], f8),
        "ratio of exactly 1000": np.array([0.001, 1.0], f8),
        "exponent float32": np.array([1e-10, 3.14159, 1e10], f4),
        "exponent, negative": np.array([-1e-10, 2.5e10], f8),
        "exponent with nan and inf": np.array([1e-10, nan, -inf, 1e10], f8),
        "exponent of three digits": np.array([1e-300, 1.5e300, 1.0], f8),
        "largest and least double": np.array([1.7976931348623157e308, 5e-324], f8),
        "largest and least float": np.array([3.4028234663852886e38, 1e-45], f4),
        "precision 8 rounds": np.array([3.141592653589793, 2.718281828459045], f8),
        "rounds up to a whole number": np.array([0.9999999999, 1.5], f8),
        "different lengths": np.array([1.5, 22.25, -333.125], f8),
        "integers": np.array([[1, -2], [30, 400]], i8),
        "large integers": np.array([2**62, -(2**62), 0], i8),
        "least integer": np.array([-(2**63), 2**63 - 1], i8),
        "booleans": np.array([[True, False], [False, False]], b1),
        "booleans all true": np.array([True, True], b1),
        "one element": np.array([1.5], f8),
        "one element 3-D": np.array([[[2]]], i8),
        "empty": np.zeros(0, f8),
        "empty rows": np.zeros((2, 0, 3), f4),
        "empty integers": np.zeros((0, 3), i8),
        "column": np.array([[1.5], [2.5], [3.5]], f8),
    }
    for name, array in listed.items():
        yield name, array, None
    yield ramp("999 integers, all shown", i8, (37, 27), 0, 1)
    yield ramp("1000 integers, all shown", i8, (1000,), 0, 1)
    yield ramp("1001 integers, summarised", i8, (1001,), 0, 1)
    yield ramp("summarised float64", f8, (2000,), -1.0, 0.001953125)
    yield ramp("summarised 2-D", f4, (40, 40), 0, 1)
    yield ramp("summarised 2-D, few rows", f8, (5, 300), 0, 0.5)
    yield ramp("summarised 2-D, few columns", i8, (500, 3), -700, 1)
    yield ramp("summarised 3-D", i8, (11, 10, 10), 0, 1)
    yield ramp("summarised 4-D", f4, (7, 2, 8, 10), -100, 1)
    yield ramp("summarised column", f8, (1001, 1), 0, 0.25)
    yield ramp("summarised with 6 and 7 columns", i8, (200, 6), 0, 1)
    yield ramp("summarised 7 columns", i8, (200, 7), 0, 1)
    yield ramp("summarised with an exponent", f8, (1200,), 0, 1e6)


def numpy_print(folder):
    """numpy_print.json: name, dtype, shape, text, and `values` (strings) or `ramp`."""
    entries = []
    for name, array, values in printed():
        entry = dict(name=name, dtype=str(array.dtype), shape=list(array.shape))
        if values:
            entry["ramp"] = values
        elif array.dtype.kind == "f":  # JSON has no NaN; repr of a double is exact
            entry["values"] = [repr(float(v)) for v in array.reshape(-1)]
        else:
            entry["values"] = [str(int(v)) for v in array.reshape(-1)]
        entry["text"] = np.array2string(array)
        entries.append(entry)
    case = dict(description="np.array2string(array) with default options", numpy=np.__version__,
                arrays=entries)
    text = json.dumps(case, indent=1, ensure_ascii=False)
    (Path(folder) / "numpy_print.json").write_text(text + "\n", encoding="utf-8")


def write(folder):
    safetensors(folder)
    numpy_print(folder)
