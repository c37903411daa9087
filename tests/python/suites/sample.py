"""PyTorch's optimizers in a file, so that their steps are compared where there is no PyTorch.

    python -m suites.sample          writes sample.npz beside this file; it takes PyTorch

`cases` is JSON: [function, name, options, message of a refusal]; `after` has the parameters after each step, end to end. Ops and
modules have no sample: their cases go through the importer, which needs PyTorch.
"""
import json
import pathlib

import numpy as np

from . import optimizers

FILE = pathlib.Path(__file__).parent / "sample.npz"


def cases():
    """(function, its arguments)"""
    with np.load(FILE) as file:
        values, texts = file["after"], json.loads(file["cases"].tobytes())
    shapes = [p.shape for p in optimizers.parameters()]
    for function, name, options, message in texts:
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        if function == "refused":
            yield optimizers.refused, (name, None, options, message)
            continue
        after = []
        for _ in range(optimizers.STEPS):
            after.append([])
            for shape in shapes:
                size = int(np.prod(shape))
                after[-1].append(values[:size].reshape(shape))
                values = values[size:]
        yield optimizers.optimizer, (name, options, after)


def main():
    from . import optim_db
    from .count import Skip

    texts, values = [], []
    for name in optim_db.names():
        for _, check, prepare, *args in optim_db.cases(name):
            try:
                parts = prepare(*args)
                check(*parts)
                options = json.loads(json.dumps(parts[1 if check is optimizers.optimizer else 2]))
            except (Skip, TypeError):
                continue  # TypeError: options that JSON does not have
            if check is optimizers.optimizer:
                texts.append(["optimizer", name, options, ""])
                values += [p.ravel() for step in parts[2] for p in step]
            elif parts[1] is None:
                texts.append(["refused", name, options, parts[3]])
    np.savez_compressed(FILE, cases=np.frombuffer(json.dumps(texts).encode(), np.uint8), after=np.concatenate(values))
    print(f"{len(texts)} cases, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
