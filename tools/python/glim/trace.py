"""A training that can be differentiated: which example moved a query, through every update."""
from . import _glim

# Above it the derivative is of a path that small changes leave.
TRUSTED_GROWTH = 100


class Trace:
    """What glim.trace returns: a model that has been trained, and what its training did.

    influence(query)      ∂query/∂(weight of each example), an array of one number an example; and, of the last query,
      by_step             of each update, its part of them: a list of {example: number}
      rate                of the rate of each update
      initial             of each parameter before the first update, by name
      growth              ‖∂query/∂θ‖ before the first update over that after the last
    remove(subset, query) how the query changes when the training is run again without these examples: weight 0
    agreement(query)      ρ of predicted and measured changes, of this gradient and of three others
    trust(query)          whether the derivative is to be trusted here, in a sentence

    A query is a function of no arguments that gives a Var of one element: a held-out loss, the share that a head gives to a
    token. Of several (K,) the numbers are of each, (K, ...).
    """

    def __init__(self, model, losses, data, batches, optimizer, rate, max_norm):
        self.data = list(data)
        self._run = _glim._Trace(optimizer, lambda rows: losses(model, [self.data[i] for i in rows]), len(self.data),
                                 self._batches(batches), rate, max_norm)
        self.by_step = self.rate = self.initial = self.growth = None

    def _batches(self, batches):
        self.batches = [[int(i) for i in batch] for batch in batches]
        return self.batches

    @property
    def kept_bytes(self):
        """The memory of the states that are kept, √N of the N updates."""
        return self._run.kept_bytes

    def influence(self, query):
        import numpy as np
        found = self._run.influence(query)
        one = len(found) == 1

        def each(values):
            return values[0] if one else values
        examples, updates, rates, initial, norms = zip(*found)
        self.by_step = each([[dict_of(batch, part) for batch, part in zip(self.batches, parts)] for parts in updates])
        self.rate = each(np.array(rates))
        self.initial = each(list(initial))
        self.norms = each(np.array(norms))
        self.growth = each(np.array([n[0] / n[-1] if n[-1] else 0.0 for n in norms]))
        return each(np.array(examples))

    def retrained(self, weights, query):
        """The query after a training with these weights of the examples."""
        return self._run.retrained([float(w) for w in weights], query)

    def remove(self, subset, query):
        import numpy as np
        weights = np.ones(len(self.data))
        weights[np.asarray(list(subset), np.int64)] = 0
        return self.retrained(weights, query) - query().numpy()

    def agreement(self, query, share=0.1, times=20, texts=None, query_text=None, seed=1):
        """{method: ρ}: Spearman's correlation of the predicted and the measured change of the query over `times` trainings,
        each without a random share of the examples. texts and query_text: words of each example and of the query, for
        BM25.
        """
        import numpy as np
        left_out, measured = self._run.removals(query, share, times, seed)
        scores = {"exact": np.atleast_2d(self.influence(query)), "dot product": self._run.scores(query, "dot product"),
                  "TracIn": self._run.scores(query, "TracIn")}
        if texts is not None:
            scores["BM25"] = _glim._bm25([query_text] if isinstance(query_text[0], str) else query_text, texts)
        return {name: float(np.mean(_glim._correlations(left_out, measured, [list(map(float, row)) for row in s])))
                for name, s in scores.items()}

    def trust(self, query, most=4, h=1e-3):
        raise NotImplementedError


def dict_of(batch, part):
    total = {}
    for i, x in zip(batch, part):
        total[i] = total.get(i, 0.0) + float(x)
    return total


def trace(model, losses, data, batches, optimizer, *, rate=None, max_norm=None):
    return Trace(model, losses, data, batches, optimizer, rate, max_norm)
