"""The bits of every kind of model are those of C++, which tests/models/bits.cpp compares with the same file."""
import pathlib

import numpy as np
import pytest

import glim

IDS = np.array([[1, 4, 5, 6], [1, 5, 2, 0]])
IMAGES = glim.normal((2, 1, 14, 14), key=(5, 0))
SMALL = {"d_model": 16, "heads": 2, "d_ff": 32}
PAIR = {"src_vocab": 9, "tgt_vocab": 9}
STACKS = {"encoder_layers": 1, "decoder_layers": 1}
KINDS = {
    "transformer": (lambda: glim.Transformer(**PAIR, **STACKS, **SMALL), [IDS, IDS]),
    "gpt": (lambda: glim.Gpt(vocab=9, context=8, layers=1, **SMALL), [IDS]),
    "bert": (lambda: glim.Bert(vocab=9, layers=1, **SMALL), [IDS]),
    "vit": (lambda: glim.Vit(height=14, width=14, layers=1, **SMALL), [IMAGES]),
    "cnn": (lambda: glim.Cnn(height=14, width=14, layers=1, d_model=16), [IMAGES]),
    "rnn": (lambda: glim.Seq2SeqRnn(**PAIR, d_embed=8, d_model=16, cell="lstm"), [IDS, IDS]),
    "conv": (lambda: glim.ConvSeq2Seq(**PAIR, **STACKS, d_model=16), [IDS, IDS]),
    "non-autoregressive": (lambda: glim.NonAutoregressive(**PAIR, **STACKS, **SMALL), [IDS, IDS]),
}
EXPECTED = dict(line.split() for line in (pathlib.Path(__file__).parent / "bits.txt").read_text().splitlines())


def hash_of(tensors):
    h = 0xCBF29CE484222325  # FNV-1a
    for tensor in tensors:
        for byte in np.ascontiguousarray(tensor.numpy(), dtype="<f4").tobytes():
            h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_bits(kind, threads):
    before = glim.num_threads()
    glim.set_num_threads(threads)
    glim.seed(3)
    make, inputs = KINDS[kind]
    model = make()
    optimizer = glim.Adam(model)
    for _ in range(2):
        optimizer.zero_grad()
        with glim.Tape() as tape:
            y = model(*inputs)
            tape.backward((y * y).sum())
        seen = [y.value.clone()]
        optimizer.step()
    for leaf in model.parameters():
        seen += ([leaf.grad] if leaf.grad is not None else []) + [leaf.value]
    glim.set_num_threads(before)
    assert hash_of(seen) == EXPECTED[kind]


def test_medium_precision_rounds_operands():
    assert glim.get_float32_matmul_precision() == "highest"
    x = glim.normal((40, 50), key=(5, 1))
    product = lambda: (glim.Var(x) @ glim.Var(x).T).value.numpy()
    rounded = np.frombuffer(
        ((x.numpy().view("<u4") + 0x7FFF + (x.numpy().view("<u4") >> 16 & 1)) & 0xFFFF0000).astype("<u4").tobytes(), "<f4"
    ).reshape(40, 50)
    glim.set_float32_matmul_precision("medium")
    y = product()
    glim.set_float32_matmul_precision("highest")
    np.testing.assert_allclose(y, rounded @ rounded.T, rtol=0, atol=1e-4)
    assert np.abs(y - product()).max() > 1e-3
    with pytest.raises(ValueError, match="'high' is not one of highest, medium"):
        glim.set_float32_matmul_precision("high")


def test_checks_of_float32_refuse_medium_precision():
    x = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    leaf = glim.Var.leaf(x)
    glim.set_float32_matmul_precision("medium")
    try:
        for check in (lambda: glim.gradcheck(glim.tanh, x), lambda: glim.gradcheck(glim.Linear(3, 2), x),
                      lambda: glim.curvature(lambda: (leaf * leaf).sum(), [leaf], 1)):
            with pytest.raises(glim.StateError, match="rounded to bfloat16"):
                check()
        assert glim.gradcheck(glim.tanh, x.astype("float64"))
    finally:
        glim.set_float32_matmul_precision("highest")
