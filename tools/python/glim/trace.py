"""A training that can be differentiated: which example moved a query, through every update. (A pass written out: tape.derive.)"""
import warnings

from . import _glim
from ._options import is_number, is_whole

# Growths of ‖∂q/∂θ‖ from the end of a training to its beginning. The study `influence` has 1.2 at a rate of 3e-3, with ρ of
# 0.94, and up to 6 at 1e-2, with ρ of 0.5. At 3e-2 it is 1e4 and more, and ρ is chance.
TRUSTED, USELESS = 2, 10
# The largest median of |measured - predicted| / |predicted| of removals. Trainings of a small network in 40 settings (two
# activations, five rates, 8 and 60 updates) have ρ of 0.87 and more below it, and of 0.7 to 1 between it and 0.5.
CLOSE = 0.2
QUERY = "it takes no arguments and gives a Var"


class Trace:
    """What glim.trace returns: a model that has been trained, and what each example did in the training.

    influence(query)       ∂query/∂(weight of each example): an array of one number an example. Of this query, then:
      by_step              of each update its part of them, {example: number}
      rate                 ∂query/∂(rate of each update)
      initial              ∂query/∂(each parameter before the first update), by name
      growth               ‖∂query/∂θ‖ before the first update over that after the last
    remove(subset, query)  how the query changes when the training runs without these examples: weight 0, the same batches
    agreement(query)       ρ of predicted and measured changes, of this gradient and of other methods
    trust(query)           a sentence: is the derivative to be trusted here?

    A query is a function without arguments that gives a Var: a held-out loss, the share that a head gives to a token. If the
    Var has several elements (K,), all of this is of each. The prediction for a subset is -Σ influence.
    """

    def __init__(self, model, losses, data, batches, optimizer, rate=None, max_norm=None):
        if not isinstance(optimizer, _glim.Optimizer):
            raise TypeError(f"trace: optimizer is a {type(optimizer).__name__}, expected glim.SGD, glim.Adam, glim.AdamW or glim.Muon")
        _require_function("losses", losses, "losses(model, examples) gives a Var (n,)")
        if rate is not None:
            _require_function("rate", rate, "rate(update) gives a number; a constant rate is the optimizer's lr")
        if max_norm is not None and not is_number(max_norm):
            raise TypeError(f"trace: max_norm is a {type(max_norm).__name__}, expected a number")
        self.data = _list("data", data)
        self.batches = [_numbers(f"batch {k}", batch) for k, batch in enumerate(_list("batches", batches))]
        buffers = _buffers(model)
        self._run = _glim._Trace(optimizer, lambda rows: losses(model, [self.data[i] for i in rows]), len(self.data),
                                 self.batches, rate, max_norm)
        if changed := [name for name, bits in _buffers(model).items() if buffers[name] != bits]:
            raise _glim.StateError(f"trace: the training changed {changed[0]}, which is no parameter: the query would depend on it "
                                   "(batch norm has such averages; model.eval() keeps them)")
        self.by_step = self.rate = self.initial = self.growth = None

    @property
    def kept_bytes(self):
        """The memory of the states that are kept: of √N of the N updates."""
        return self._run.kept_bytes

    def influence(self, query):
        import numpy as np
        _require_function("the query", query, QUERY)
        found = self._run.influence(query)
        examples, updates, rates, initial, norms = map(list, zip(*found))
        growth = [n[0] / n[-1] if n[-1] else 0.0 for n in norms]
        by_step = [[_by_example(*pair) for pair in zip(self.batches, parts)] for parts in updates]
        values = np.array(examples), by_step, np.array(rates), initial, np.array(growth)
        values = values if self._run.value(query).ndim else [v[0] for v in values]
        influence, self.by_step, self.rate, self.initial, self.growth = values
        if not max(growth) <= USELESS:
            warnings.warn(f"Not to be trusted: {_grown(max(growth))}", stacklevel=2)
        return influence

    def retrained(self, weights, query):
        """The query at the end of a training with these weights of the examples."""
        _require_function("the query", query, QUERY)
        weights = _list("weights", weights)
        if not all(map(is_number, weights)):
            raise TypeError("trace: weights is a list of one number for each example")
        return self._run.retrained([float(w) for w in weights], query)

    def remove(self, subset, query):
        weights = [1.0] * len(self.data)
        for i in _numbers("the subset", subset):
            if not 0 <= i < len(weights):
                raise _glim.IndexError(f"trace: the subset has example {i}, of {len(weights)}")
            weights[i] = 0.0
        return self.retrained(weights, query) - self._run.value(query)

    def agreement(self, query, share=0.1, times=20, *, words=None, query_words=None, seed=1):
        """{method: ρ}: Spearman's correlation of the predicted and the measured change of the query over `times` trainings,
        each without a random share of the examples; of several queries the mean. words and query_words, a list of words for each
        example and each query, are for BM25.
        """
        import numpy as np
        _require_function("the query", query, QUERY)
        if not is_number(share):
            raise TypeError(f"agreement: share is a {type(share).__name__}, expected a number between 0 and 1")
        for name, value in (("times", times), ("seed", seed)):
            if not is_whole(value) or value < 0:
                raise TypeError(f"agreement: {name} is {value!r}, expected a whole number")
        if times < 2:
            raise _glim.ValueError("agreement: two trainings are the fewest that can be ranked")
        if (words is None) != (query_words is None):
            raise _glim.ValueError("agreement: BM25 needs words and query_words")
        if words is not None:
            for name, lists, count in (("words", words, len(self.data)), ("query_words", query_words, self._run.value(query).size)):
                lists = _list(name, lists)
                if len(lists) != count or not all(isinstance(x, (list, tuple)) and all(isinstance(w, str) for w in x) for x in lists):
                    raise _glim.ValueError(f"agreement: {name} is {count} lists of words")
        left_out, measured = self._run.removals(query, share, times, seed)
        scores = {"exact": np.atleast_2d(self.influence(query)).tolist(), "dot product": self._run.scores(query, "dot product"),
                  "TracIn": self._run.scores(query, "TracIn")}
        if words is not None:
            scores["BM25"] = _glim._bm25(query_words, words)
        return {name: float(np.mean(_glim._correlations(left_out, measured, s))) for name, s in scores.items()}

    def trust(self, query, removed=4):
        """A sentence for a query of one element, from its growth and trainings without each of the `removed` examples that matter
        most: sign is the share that change the query in the predicted direction, far the median of |measured - predicted| /
        |predicted|. smooth is how far trainings with a weight of 1 ± 0.001 of the first are from the derivative.
        """
        import numpy as np
        _require_function("the query", query, QUERY)
        if not is_whole(removed) or removed < 1:
            raise _glim.ValueError(f"trust: removed is {removed!r}, expected a whole number of examples, from 1 on")
        if self._run.value(query).size != 1:
            raise _glim.ValueError("trust: the query has several elements: give one of them")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            influence = self.influence(query)
        order = [i for i in np.argsort(-abs(influence))[:removed] if influence[i]]
        if not order:
            return "Nothing to trust: no example has an influence on this query."
        weights = np.ones(len(self.data))

        def at(weight):
            weights[order[0]] = weight
            return self.retrained(weights, query).item()
        self.smooth = float(abs((at(1.001) - at(0.999)) / 0.002 / influence[order[0]] - 1))
        ratios = [self.remove([i], query).item() / -influence[i] for i in order]
        self.sign, self.far = float(np.mean([r > 0 for r in ratios])), float(np.median([abs(r - 1) for r in ratios]))
        measured = (f"{round(self.sign * len(order))} of {len(order)} removals go in the predicted direction and differ from it by "
                    f"{self.far:.0%} (median); a weight of 1 ± 0.001 differs by {self.smooth:.0e}")
        if not self.growth <= USELESS or self.sign < 0.75:
            return f"Not to be trusted: {measured}; {_grown(self.growth)}."
        if self.growth > TRUSTED or self.sign < 1 or self.far > CLOSE or self.smooth > 0.01:
            return f"To be used with care: {_grown(self.growth) + '; ' if self.growth > TRUSTED else ''}{measured}."
        return f"To be trusted: {measured}."


def _grown(growth):
    return (f"a small change of the first weights is {growth:.3g} times as large at the end, so that a training without an example "
            "takes its own way (a smaller rate or a larger ε helps)")


def _require_function(name, f, form):
    if not callable(f):
        raise TypeError(f"trace: {name} is a {type(f).__name__}, expected a function: {form}")


def _list(name, values):
    if not hasattr(values, "__iter__"):
        raise TypeError(f"trace: {name} is a {type(values).__name__}, expected a list")
    return list(values)


def _numbers(name, values):
    import numpy as np
    values = np.asarray(_list(name, values))
    if values.ndim != 1 or values.size and values.dtype.kind not in "iu":
        raise _glim.ValueError(f"trace: {name} has to be a list of the numbers of its examples")
    return values.tolist()


def _by_example(batch, parts):
    total = dict.fromkeys(batch, 0.0)
    for i, x in zip(batch, parts):
        total[i] += float(x)
    return total


def _buffers(model):
    return {name: x.numpy().tobytes() for name, x in model.named_buffers()} if isinstance(model, _glim.Module) else {}


def trace(model, losses, data, batches, optimizer, *, rate=None, max_norm=None):
    """Trains a model so that the training can be differentiated: see Trace.

        optimizer = glim.Adam(model, lr=3e-3, eps=1e-3)
        trained = glim.trace(model, losses, data, batches, optimizer, rate=glim.noam_schedule(64, 100))
        influence = trained.influence(lambda: losses(model, held_out).sum())
        np.argsort(influence)                       # the examples that lower this loss most come first

    losses(model, examples) gives a Var (n,), one number for each of the examples, in float64 for exact results; an update goes
    down their sum. batches: for each update the numbers of its examples in `data`. rate(t): of update t = 1, 2, ...; max_norm:
    of clipping. The training must be the same when it is computed again: losses may draw random numbers from Glim alone.
    Ilyas & Engstrom 2025, arXiv 2504.16430.
    """
    return Trace(model, losses, data, batches, optimizer, rate, max_norm)
