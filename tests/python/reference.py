"""Files of tests/reference: what PyTorch computes."""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "reference"


def read(name):
    """The cases of a file, and its tensors."""
    data = (FOLDER / f"{name}.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    cases = json.loads(header.pop("__metadata__")["case"])
    types = {"F64": np.float64, "I64": np.int64, "BOOL": np.bool_}
    return cases, {name: np.frombuffer(data[start + t["data_offsets"][0]:start + t["data_offsets"][1]],
                                       types[t["dtype"]]).reshape(t["shape"]) for name, t in header.items()}


def below(tensors, prefix):
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
