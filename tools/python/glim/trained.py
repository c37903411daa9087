"""Trained models: load, train, study.

    model = glim.train(task="phrasebook", max_steps=1000, out="translator")
    model.translate("I have a cat")
    look = model.inspect(sentence="I have a cat")
    look["decoder.layers.0.multihead_attn.probs.grad"]      # ∂L/∂A as a NumPy array
"""
import json
import os
import sys
import tempfile
import time

from . import _glim
from .inspection import of_program
from .program import run, words_of, write_file


def load(path):
    """The model in a folder that `glim train` wrote, or in one of its files. FileError for anything else."""
    return Model(path)


def train(out="model", **options):
    """Trains a model as `glim train` does, with its options under their names: train(kind="gpt", text="a.txt").

    Returns the model. Progress is shown. Ctrl-C saves what there is; train(resume=True, out=...) goes on.
    """
    run(["train", "--out", os.fspath(out), *words_of({"progress": "lines", **options})])
    return Model(out)


def study(name, /, measure=None, criteria=None, **options):
    """Runs a study (`glim study --list` names them); returns its numbers and verdicts as a dict.

    study("entropy", seeds=5)
    study(claim, measure, criteria, plots={}, seeds=3, seed=1, name="study", source="", setting="", out=None,
          overwrite=False)
        one of your own (tools/study/own.md): measure(seed) returns a dict with a number for each criterion, and for a
        plot {curve: (x, y)}. criteria: {key: (quantity, low, high, reason)}, with "beside" in front if it is only shown,
        with "control" if it says whether the seed can decide. plots: {id: (title, x, y)}, then "log_x", "log_y" or
        "scatter". The table is printed; out is a folder for NAME.json and the pictures.
    """
    if measure is not None:
        return _own_study(name, measure, criteria, **options)
    with tempfile.TemporaryDirectory() as folder:
        run(["study", name, *words_of(options), "--out", folder])
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
            return json.load(file)


def _own_study(claim, measure, criteria, *, plots={}, seeds=3, seed=1, name="study", source="your own", setting="",
               out=None, overwrite=False):
    if not hasattr(_glim, "run_study"):
        raise _glim.StateError("this build of the package has no studies: they need what `tools/setup` installs")
    if not callable(measure):
        raise TypeError(f"study: measure is a {type(measure).__name__}, expected a function of the seed: study(claim, "
                        "measure, criteria)")
    if not hasattr(criteria, "items") or not criteria:
        raise TypeError("study: criteria is {key: (quantity, low, high, reason)}, written before anything is measured")
    began = time.monotonic()

    def measured(seed):
        if sys.stderr.isatty():
            print(f"{name}: seed {seed}, {time.monotonic() - began:.0f} s", file=sys.stderr)
        found = measure(seed)
        if not hasattr(found, "items"):
            raise TypeError(f"study: measure returned a {type(found).__name__}, expected a dict: is a return missing?")
        unknown = [key for key in found if key not in criteria and key not in plots]
        if unknown:
            raise _glim.ValueError(f"study: measure returned '{unknown[0]}', which is neither a criterion nor a plot")
        curves = [(plot, str(curve), [float(v) for v in x], [float(v) for v in y])
                  for plot in plots for curve, (x, y) in found.get(plot, {}).items()]
        for plot, curve, x, y in curves:
            if len(x) != len(y):
                raise _glim.ValueError(f"study: curve '{curve}' of '{plot}' has {len(x)} x and {len(y)} y")
        return [(key, float(found[key])) for key in criteria if key in found], curves

    def words(table):
        return [(key, [str(word) for word in row]) for key, row in table.items()]

    if os.path.basename(name) != name or not name:
        raise _glim.ValueError(f"study: name={name!r} is no name of a file")
    if out is not None and not overwrite and os.path.exists(os.path.join(out, name + ".json")):
        raise _glim.FileError(f"{os.path.join(out, name + '.json')}: exists already: overwrite=True replaces it")
    text, numbers, pictures = _glim.run_study(name, claim, source, setting or getattr(measure, "__name__", "as measured"), words(criteria), words(plots),
                                              measured, seeds, seed)
    print(text, end="")
    if out is not None:
        os.makedirs(out, exist_ok=True)
        for file, content in [(name + ".json", numbers), *((picture + ".svg", svg) for picture, svg in pictures)]:
            write_file(os.path.join(out, file), content, overwrite=True)
    return json.loads(numbers)


class Model:
    """A trained model. A method that its kind does not have raises a FileError that says which kinds have it.

    Several threads may use one Model at once.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        if isinstance(self.path, bytes) or not _is_text(self.path) or "\0" in self.path:
            raise _glim.FileError(f"{path!r}: is no name of a file in UTF-8; rename it, or link to it")
        self.kind, self._gives = _glim.model_kind(self.path)
        self._parts = {}

    def __repr__(self):
        return f"<glim model of kind {self.kind} in {self.path}>"

    def _part(self, make):
        if make not in self._parts:
            self._parts[make] = make(self.path)
        return self._parts[make]

    def translate(self, text, *, beam=4, nbest=1, length_penalty=1.0, max_tokens=0, truncate=False, alignments=False,
                  batch_sentences=1):
        """A sentence gives its translation; a list of them, a list. With nbest or alignments: lists of Translation."""
        one, sentences = _sentences("translate", text)
        found = self._part(_glim.Translator).translate(
            sentences, beam=beam, nbest=nbest, length_penalty=length_penalty, max_tokens=max_tokens,
            truncate=truncate, alignments=alignments, batch_sentences=batch_sentences)
        if nbest == 1 and not alignments:
            found = [best[0].text for best in found]
        return found[0] if one else found

    def generate(self, prompt="\n", *, max_tokens=500, temperature=1.0, top_k=0, top_p=1.0, greedy=False, seed=1,
                 sample=0, slide=0):
        """The text that follows the prompt."""
        _sentences("generate", prompt)
        return self._part(_glim.TextGenerator).generate(
            prompt, max_tokens=max_tokens, temperature=temperature, top_k=top_k, top_p=top_p, greedy=greedy, seed=seed,
            sample=sample, slide=slide)

    def classify(self, what, *, truncate=False):
        """(label, {label: probability}) of a sentence, or of an image: the path of a PNG, or (C, H, W) with values from 0
        to 1. Of a list of sentences, paths or images (N, C, H, W), a list. Of kind tagger: [(token, label), ...]."""
        if self._gives == "token classes":
            tag = self._part(_glim.Tagger).tag
            sentences = [s.split() for s in ([what] if isinstance(what, str) else what)]
            found = [list(zip(tokens, tag(tokens, truncate=truncate))) for tokens in sentences]
            return found[0] if isinstance(what, str) else found
        if self._gives == "image class":
            import numpy as np

            one = isinstance(what, (str, os.PathLike))
            what = [what] if one else what if hasattr(what, "shape") else list(what)
            if not hasattr(what, "shape") and what and isinstance(what[0], (str, os.PathLike)):
                words = ["classify", "--model", self.path, "--json", "--", *map(os.fspath, what)]
                printed = run(words, show=False).splitlines()
                found = [(image["label"], image["probabilities"]) for image in map(json.loads, printed)]
                return found[0] if one else found
            images = np.asarray(what, dtype=np.float32)
            if images.ndim not in (3, 4):
                raise _glim.ShapeError(f"classify: an image has shape (C, H, W), several have (N, C, H, W); this array "
                                       f"has {images.shape}")
            found = self._part(_glim.ImageClassifier).classify(images if images.ndim == 4 else images[None])
            return found if images.ndim == 4 else found[0]
        one, sentences = _sentences("classify", what)
        found = self._part(_glim.Classifier).classify(sentences, truncate=truncate)
        return found[0] if one else found

    def score(self, text, target=None):
        """The probability of a text (kind gpt), or of the translation `target` of `text`: .log_prob .tokens .perplexity"""
        _sentences("score", [text] if target is None else [text, target])
        return self._part(_glim.Scorer).score(text, target)

    def inspect(self, **options):
        """Inspects one example as `glim inspect` does, with its options under their names; returns an Inspection."""
        return of_program(["--model", self.path, *words_of(options)])

    def step(self, commands, **options):
        """The output of the backward pass's debugger for these commands, one a line."""
        return run(["step", "--model", self.path, *words_of(options)], show=False, stdin=commands + "\nquit\n")


def _is_text(x):
    try:
        return isinstance(x, str) and x.encode() is not None
    except UnicodeEncodeError:  # a surrogate alone
        return False


def _sentences(verb, text):
    """(whether it is one sentence, a list of sentences)"""
    one = isinstance(text, str)
    sentences = [text] if one else list(text) if hasattr(text, "__iter__") and not isinstance(text, bytes) else [text]
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise TypeError(f"{verb}: takes text, a str, or a list of them; got {type(sentence).__name__}")
        if verb != "generate" and "\n" in sentence.strip():
            raise _glim.ValueError(f"{verb}: a text of {len(sentence.strip().splitlines())} lines would be one sentence: pass text.splitlines()")
        if not _is_text(sentence):
            raise _glim.ValueError(f"{verb}: {sentence[:40]!r} is no Unicode text: it has half of a surrogate pair. Read the "
                                   "file in its encoding, or with errors=\"replace\"")
    return one, sentences
