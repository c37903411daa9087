"""A pass as one object: of a trained model, of a PyTorch model, of a tape.

    look = model.inspect(sentence="I have a cat")       look = g.inspect(inputs, loss)       look = tape.inspect(loss)
    look                                                in a notebook: the page of `glim inspect`
    look.svg("decoder.layers.0.multihead_attn/head0")   a picture, which shows itself; .save("head.pdf")
    look.why("decoder.layers.0.self_attn:2", 5, 3)      why this query attends to this key
    look.patch(other, ["*.context"])                    the loss with values of another pass
"""
import html
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from functools import cached_property

from . import _glim
from ._words import nearest
from .program import run, write_file


class Picture(str):
    """An SVG that shows itself in a notebook."""

    def _repr_svg_(self):
        return str(self)

    def __repr__(self):
        return f"<picture: {len(self)} characters of SVG>"

    def save(self, path):
        """As .svg, or as .pdf by CairoSVG or rsvg-convert, whichever is installed."""
        path = os.fspath(path)
        if path.endswith(".svg"):
            return write_file(path, self, overwrite=True)
        if not path.endswith(".pdf"):
            raise _glim.ValueError(f"save: {path} is neither .svg nor .pdf")
        try:
            import cairosvg
            cairosvg.svg2pdf(bytestring=self.encode(), write_to=path)
        except ImportError:
            if not shutil.which("rsvg-convert"):
                raise _glim.ValueError(f"save: {path} needs `pip install cairosvg`, or Debian's librsvg2-bin") from None
            subprocess.run(["rsvg-convert", "-f", "pdf", "-o", path], input=self.encode(), check=True)


class _Answer(dict):
    """The JSON of an answer, and its table."""

    def __init__(self, answer):
        numbers, self._table = answer  # or a function that makes it
        super().__init__(json.loads(numbers))

    def __repr__(self):
        return self._table() if callable(self._table) else self._table


class Why(_Answer):
    """Why a query attends to a key: ["parts"][a][b] of ["query_sources"][a] and ["key_sources"][b], which add up to
    ["score"] - ["mean"]. Printed, the largest ones. Of a part: ["splits"], one or two, whose "rows" add up to ["part"]."""


class Patch(_Answer):
    """["rows"], one a node or head: the "change" of the loss, its "linear" estimate, and the "second" term of it."""


class Inspection:
    """One pass: values and gradients as arrays, look[PATH], look[PATH + ".grad"]; `data` is all that its page shows
    (tools/inspect/data.md), `html` the page."""

    def __init__(self, inspected):
        self._pass = inspected
        if isinstance(inspected, _Words):
            self.data  # its errors are those of inspect

    @cached_property
    def _files(self):
        with tempfile.TemporaryDirectory() as folder:
            self._pass.write(folder, True)
            with open(os.path.join(folder, "inspect.json"), encoding="utf-8") as file:
                data = json.load(file)
            with open(os.path.join(folder, "inspect.html"), encoding="utf-8") as file:
                return data, file.read(), _read_safetensors(os.path.join(folder, "inspect.safetensors"))

    @property
    def data(self):
        return self._files[0]

    @property
    def arrays(self):
        return self._files[2]

    @cached_property
    def html(self):
        if "_files" in vars(self):
            return self._files[1]
        with tempfile.TemporaryDirectory() as folder:
            self._pass.write(folder, False)
            with open(os.path.join(folder, "inspect.html"), encoding="utf-8") as file:
                return file.read()

    page = property(lambda self: self.html)

    def save(self, path):
        """The page, as .html."""
        if not os.fspath(path).endswith(".html"):
            raise _glim.ValueError(f"save: {path} is not .html; look.svg(name).save(...) writes .svg and .pdf")
        write_file(os.fspath(path), self.html, overwrite=True)

    def svg(self, picture):
        """A picture of `glim inspect --list-pictures`: "decoder.layers.0.multihead_attn/head0"."""
        found = self._pass.svg(picture)
        if len(found) != 1:
            raise _glim.ValueError(f"svg: {picture} names {len(found)} pictures; svg takes one")
        return Picture(found[0])

    def why(self, head, query, key, part=None):
        """Why query attends to key in a head, "MODULE:2": the score by what query and key come from. part: the names of two
        sources of the table, of the query and of the key, whose part is split again by what they read."""
        return Why(self._pass.why_part(head, query, key, *part) if part else self._pass.why(head, query, key))

    def patch(self, other, nodes):
        """The loss with the values that these nodes have in another pass, a list of names and patterns, beside its estimates.
        other: an Inspection, or for a trained model another sentence."""
        return Patch(self._pass.patch(getattr(other, "_pass", other), [nodes] if isinstance(nodes, str) else list(nodes)))

    @property
    def without_heads(self):
        """By module: a list of heads, each with the "change" of the loss when its context is 0, its "linear" estimate and the
        "second" term."""
        return {view["module"]: view["without"] for view in self.data["attention"]}

    def __getitem__(self, path):
        if path not in self.arrays:
            raise _glim.IndexError(f"inspect: there is no {path}{nearest(path, self.arrays) or '; .arrays lists them'}")
        return self.arrays[path]

    @property
    def attention(self):
        """By module: A, dA = ∂L/∂A, S and dS = ∂L/∂S, each (H, T, S)."""
        import numpy as np

        return {view["module"]: {name: np.array(view[name]) for name in ("A", "dA", "S", "dS")}
                for view in self.data["attention"]}

    def __repr__(self):
        return f"<glim inspection of {self.data['source_text'] or self.data['target_text']!r}: loss {self.data['loss']:.4g}, {len(self.arrays)} arrays>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        frame = f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 800px; border: 0"></iframe>'
        return {"text/html": frame, "text/plain": repr(self)}


class _Words:
    """The pass of `glim inspect` with these options."""

    def __init__(self, words):
        self.words = words

    def write(self, folder, data):
        run(["inspect", *self.words, *["--data"] * data, "--out", folder, "--overwrite"], show=False)

    def svg(self, picture):
        with tempfile.TemporaryDirectory() as folder:
            run(["inspect", *self.words, "--out", folder, "--overwrite", "--svg", picture], show=False)
            return [path.read_text(encoding="utf-8") for path in pathlib.Path(folder).glob("*.svg")]

    def why(self, head, query, key):
        return self._answer(["--why", f"{head}:{query},{key}"])

    def why_part(self, head, query, key, query_source, key_source):
        return self._answer(["--why", f"{head}:{query},{key}", "--why-part", query_source, key_source])

    def patch(self, other, nodes):
        return self._answer(["--patch-node", *nodes, "--patch-from", other])

    def _answer(self, words):
        words = ["inspect", *self.words, *words]
        return run([*words, "--json"], show=False), lambda: run(words, show=False)


def of_program(words):
    """The Inspection of `glim inspect` with these words."""
    return Inspection(_Words(words))


def why(source, head, query, key, part=None, **options):
    """Why a query attends to a key. The source is an Inspection, or a model, whose `inspect` takes the options. With a part,
    a pair of names of sources, that part of the score by what its sources read.

        glim.why(model, "decoder.layers.0.self_attn:2", 5, 3, sentence="I have a cat")
    """
    return (source if isinstance(source, Inspection) else source.inspect(**options)).why(head, query, key, part)


def _read_safetensors(path):
    import numpy as np

    types = {"F64": np.float64, "F32": np.float32, "I64": np.int64, "BOOL": np.bool_}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(body[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
    return arrays
