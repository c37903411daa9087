"""Gradients through a training, products with Jacobian and Hessian, and attention weights as Vars."""
import numpy as np
import pytest

import glim

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.sin(X.sum(1))
BATCHES = [[k, k + 3, (k + 7) % 12] for k in range(8)]


def network(kind="Tanh"):
    glim.seed(1)
    model = glim.Sequential(glim.Linear(3, 4), getattr(glim, kind)(), glim.Linear(4, 1))
    model.to("float64")
    return model


def losses(model, examples):
    return (glim.squeeze(model(X[examples]), 1) - Y[examples]) ** 2


def traced(model=None, lr=0.02, **options):
    model = model or network()
    return model, glim.trace(model, losses, range(12), BATCHES, glim.Adam(model, lr=lr, eps=1e-3), **options)


def test_influence_is_what_trainings_with_other_weights_say():
    model, trained = traced(max_norm=0.5, rate=lambda t: 0.02 / t)
    query = lambda: glim.sum(losses(model, [0, 5]))
    influence = trained.influence(query)
    assert influence.shape == (12,) and trained.growth < 2
    for i in range(12):
        weights = np.ones(12)
        weights[i] = 1.001
        more = trained.retrained(weights, query)
        weights[i] = 0.999
        assert (more - trained.retrained(weights, query)) / 0.002 == pytest.approx(influence[i], rel=1e-4, abs=1e-9)
    total = np.zeros(12)
    for step in trained.by_step:
        for i, x in step.items():
            total[i] += x
    assert total == pytest.approx(influence)
    assert trained.rate.shape == (8,) and set(trained.initial) == {name for name, _ in model.named_parameters()}


def test_several_queries():
    model, trained = traced()
    both = trained.influence(lambda: losses(model, [0, 5]))
    assert both.shape == (2, 12)
    assert trained.influence(lambda: glim.sum(losses(model, [5]))) == pytest.approx(both[1], rel=1e-12)
    found = trained.agreement(lambda: losses(model, [0, 5]), 0.2, 6, words=[["a"]] * 12, query_words=[["a"], ["b"]])
    assert set(found) == {"exact", "dot product", "TracIn", "BM25"} and found["exact"] > 0.5


def test_removal_and_trust():
    model = network()
    trained = glim.trace(model, losses, range(12), BATCHES, glim.SGD(model, lr=0.01, momentum=0.5))
    query = lambda: glim.sum(losses(model, [0]))
    before = query().item()
    change = trained.remove([2, 3], query)
    assert query().item() == before and change != 0
    assert trained.trust(query).startswith("To be trusted")
    model, trained = traced(network("ReLU"), lr=0.3)
    assert not trained.trust(lambda: glim.sum(losses(model, [0]))).startswith("To be trusted")
    assert trained.trust(lambda: 0 * glim.sum(losses(model, [0]))).startswith("Nothing to trust")
    # More examples are asked for than have an influence.
    model = network()
    trained = glim.trace(model, losses, range(12), [[0, 1]] * 4, glim.SGD(model, lr=0.01))
    assert "of 2 removals" in trained.trust(query := lambda: glim.sum(losses(model, [5])), removed=4), trained.trust(query, removed=4)


def test_removals_that_are_far_from_the_derivative_are_not_trusted():
    rows = np.random.default_rng(0)
    batches = [rows.choice(12, 3, replace=False).tolist() for _ in range(60)]
    model = network()
    trained = glim.trace(model, losses, range(12), batches, glim.Adam(model, lr=0.01, eps=1e-3))
    sentence = trained.trust(lambda: glim.sum(losses(model, [0])))
    assert 0.2 < trained.far < 0.5 and trained.sign == 1 and trained.growth < 2 and trained.smooth < 1e-6
    assert sentence.startswith("To be used with care: 4 of 4 removals")


def test_a_rate_of_zero_has_a_derivative():
    rates = [0, 1e-300, 0.02, 0, 1e-12, 0.01, 0.02, 0.0]

    def after(rates, query=None):
        model = network()
        trained = glim.trace(model, losses, range(12), BATCHES, glim.AdamW(model, eps=1e-3, weight_decay=0.1),
                             rate=lambda t: rates[t - 1], max_norm=0.5)
        found = glim.sum(losses(model, [0, 5]))
        if query:
            trained.influence(lambda: glim.sum(losses(model, [0, 5])))
        return trained, found.item()
    trained, q = after(rates, True)
    for k in range(8):
        h = 1e-6
        more = [after([r + i * h * (j == k) for j, r in enumerate(rates)])[1] for i in (1, 2)]
        assert trained.rate[k] == pytest.approx((4 * more[0] - more[1] - 3 * q) / (2 * h), rel=1e-4)


def test_functions_that_change_the_model_are_refused():
    model = network()
    optimizer = glim.Adam(model, lr=0.02)

    def step():
        with glim.Tape() as tape:
            tape.backward(glim.sum(losses(model, [0])))
        optimizer.step()

    def after(f):
        return lambda *args: (step(), f(*args))[1]
    with pytest.raises(glim.StateError, match="losses changed 0.weight"):
        glim.trace(model, after(losses), range(12), BATCHES, optimizer)
    trained = glim.trace(model, losses, range(12), BATCHES, optimizer)
    state = model.parameter_vector().numpy().copy()
    query = after(lambda: glim.sum(losses(model, [0])))
    for call in trained.influence, trained.trust, trained.agreement, lambda q: trained.remove([1], q):
        with pytest.raises(glim.StateError, match="the query changed 0.weight"):
            call(query)
        assert (model.parameter_vector().numpy() == state).all()


def test_gradients_of_another_model_stay():
    model, teacher = network(), network("ReLU")
    for p in teacher.parameters():
        p.grad = np.ones(p.shape)

    def taught(model, examples):
        return (glim.squeeze(model(X[examples]) - teacher(X[examples]), 1)) ** 2
    trained = glim.trace(model, taught, range(12), BATCHES, glim.SGD(model, lr=0.1))
    trained.trust(lambda: glim.sum(taught(model, [0])))
    assert all((p.grad.numpy() == 1).all() for p in teacher.parameters())


def test_a_growth_that_is_not_to_be_trusted_is_said_first():
    model = network()
    trained = glim.trace(model, losses, range(12), BATCHES * 10, glim.SGD(model, lr=0.5))
    query = lambda: glim.sum(losses(model, [0]))
    with pytest.warns(UserWarning, match="Not to be trusted"):
        assert trained.influence(query).shape == (12,)
    assert trained.trust(query).startswith("Not to be trusted")


def test_what_is_refused():
    model = network()
    optimizer = glim.Adam(model)
    with pytest.raises(glim.ShapeError, match="one number each"):
        glim.trace(model, lambda m, e: glim.sum(losses(m, e)), range(12), BATCHES, optimizer)
    with pytest.raises(glim.IndexError, match="example 12"):
        glim.trace(model, losses, range(12), [[12]], optimizer)
    for batch in [1.5], [True, False], [[1], [2]]:
        with pytest.raises(glim.ValueError, match="batch 0 has to be a list"):
            glim.trace(model, losses, range(12), [batch], optimizer)
    with pytest.raises(glim.StateError, match="no parameter of the optimizer"):
        glim.trace(model, losses, range(12), BATCHES, glim.Adam(network()))
    _, trained = traced()
    query = lambda: glim.sum(losses(model, [0]))
    for call in (lambda: trained.agreement(query, times=1), lambda: trained.agreement(query, words=[["a"]]),
                 lambda: trained.agreement(query, words=["a"] * 12, query_words=["a"]), lambda: trained.trust(query, 0)):
        with pytest.raises(glim.ValueError):
            call()
    with pytest.raises(glim.IndexError, match="example 12, of 12"):
        trained.remove([12], query)
    with pytest.raises(glim.StateError, match="depends on no parameter"):
        trained.influence(lambda: glim.tensor(1.0))
    draw = np.random.default_rng(0)
    trained = glim.trace(model, lambda m, e: losses(m, e) * draw.normal(), range(12), BATCHES, optimizer)
    with pytest.raises(glim.StateError, match="computed again"):
        trained.influence(lambda: glim.sum(losses(model, [0])))
    glim.seed(1)
    norm = glim.Sequential(glim.Linear(3, 4), glim.BatchNorm(4), glim.Linear(4, 1))
    norm.to("float64")
    with pytest.raises(glim.StateError, match="no parameter"):
        glim.trace(norm, losses, range(12), BATCHES, glim.Adam(norm))


def test_arguments_of_another_type_are_named():
    model, trained = traced()
    optimizer = glim.Adam(model)
    query = lambda: glim.sum(losses(model, [0]))

    def of(losses=losses, data=range(12), batches=BATCHES, optimizer=optimizer, **options):
        glim.trace(model, losses, data, batches, optimizer, **options)
    for call, words in [
            (lambda: of(losses=None), "losses is a NoneType, expected a function"),
            (lambda: of(data=5), "data is a int, expected a list"),
            (lambda: of(batches=None), "batches is a NoneType, expected a list"),
            (lambda: of(batches=[3]), "batch 0 is a int, expected a list"),
            (lambda: of(optimizer=model), "optimizer is a Sequential, expected glim.SGD"),
            (lambda: of(rate=0.1), "rate is a float, expected a function"),
            (lambda: of(rate=lambda t: None), r"rate\(1\) returned a NoneType, expected a number"),
            (lambda: of(max_norm=True), "max_norm is a bool, expected a number"),
            (lambda: trained.influence(5), "the query is a int, expected a function"),
            (lambda: trained.retrained(None, query), "weights is a NoneType, expected a list"),
            (lambda: trained.retrained([True] * 12, query), "weights is a list of one number"),
            (lambda: trained.retrained([1] * 12, 3), "the query is a int"),
            (lambda: trained.remove(3, query), "the subset is a int, expected a list"),
            (lambda: trained.agreement(query, share="a"), "share is a str, expected a number"),
            (lambda: trained.agreement(query, times=2.5), "times is 2.5, expected a whole number"),
            (lambda: trained.agreement(query, seed=True), "seed is True, expected a whole number"),
            (lambda: trained.agreement(query, words=3, query_words=4), "words is a int, expected a list"),
            (lambda: trained.trust(3), "the query is a int")]:
        with pytest.raises(TypeError, match=words):
            call()
    for call, words in [
            (lambda: of(losses=lambda m, e: None), "losses returned None. Is a return missing"),
            (lambda: trained.influence(lambda: None), "the query returned None. Is a return missing"),
            (lambda: trained.agreement(query, words=[[3]] * 12, query_words=[["a"]]), "words is 12 lists of words"),
            (lambda: trained.trust(query, True), "removed is True, expected a whole number of examples")]:
        with pytest.raises(glim.ValueError, match=words):
            call()


def test_an_error_of_losses_leaves_the_trained_model():
    model, trained = traced()
    state = {name: x.numpy().copy() for name, x in model.state_dict().items()}
    with pytest.raises(ZeroDivisionError):
        trained.remove([1], lambda: 1 / 0)
    assert all((x.numpy() == state[name]).all() for name, x in model.state_dict().items())


def test_products_and_gradients_of_each_example():
    w, v = glim.Var.leaf(np.array([1.0, 2.0])), np.array([1, 0.5])
    with glim.Tape() as tape:
        y = w * w * w
        assert tape.jvp(y, [w], [v]).numpy() == pytest.approx([3, 6])
        first, second = tape.jvp([y, w * 2], [w], [v])
        assert second.numpy() == pytest.approx([2, 1])
        assert tape.hvp(glim.sum(y), [w], [v])[0].numpy() == pytest.approx([6, 6])
        (each,) = tape.grad_each(y, [w])
        assert each == pytest.approx(np.diag([3.0, 12]))
        assert tape.grad_norms(y, [w]) == pytest.approx([3, 12])
        (both,) = tape.grad([y, w * w], [w], [np.ones(2), np.ones(2)], retain=True)
        assert both.numpy() == pytest.approx([5, 16])


def test_parameters_as_one_vector():
    model = network()
    before = model.parameter_vector().numpy()
    y = model(X).numpy().copy()
    model.set_parameter_vector(before + 1)
    assert abs(model(X).numpy() - y).max() > 0.1
    model.set_parameter_vector(before)
    assert (model(X).numpy() == y).all() and before.shape == (model.parameter_count,)
    with pytest.raises(glim.ShapeError, match="21 parameters"):
        model.set_parameter_vector(before[1:])


def test_the_adjoint_of_a_step():
    w = glim.Var.leaf(np.array([1.0, 2.0]), "w")
    optimizer = glim.SGD([w], lr=0.1, momentum=0.9)
    w.grad = np.array([1.0, 1.0])
    found = optimizer.adjoint({"w": np.array([1.0, 3.0])})
    assert found["gradient.w"].numpy() == pytest.approx([-0.1, -0.3])
    g = {"w": np.array([3.0, 4.0])}
    back = glim.clip_grad_norm_adjoint(g, 1.0, {"w": np.array([4.0, -3.0])})
    assert back["w"].numpy() == pytest.approx(np.array([4.0, -3.0]) / 5, rel=1e-6)


def test_attention_weights_are_vars():
    glim.seed(1)
    model = glim.Transformer(src_vocab=9, tgt_vocab=9, encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8, dropout=0.0)
    model.eval()
    src, tgt = np.array([[3, 4, 5]]), np.array([[1, 4]])
    with pytest.raises(glim.StateError, match="no tape is open"):
        with glim.capture("*.probs"):
            pass
    with glim.Tape() as tape:
        with glim.capture("*.probs") as seen:
            model(src, tgt)
        assert "decoder.layers.0.multihead_attn.probs" in seen.keys()
        probs = seen["decoder.layers.0.multihead_attn.probs"]
        assert probs.shape == (1, 2, 2, 3)
        (d,) = tape.grad(probs[0, 1, 0, 2], [dict(model.named_parameters())["encoder.layers.0.linear1.weight"]])
        assert np.abs(d.numpy()).max() > 0
        with pytest.raises(glim.ValueError, match="no value has the path"):
            seen["decoder.layers.1.multihead_attn.probs"]
