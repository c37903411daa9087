"""Var, Tape and the ops."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import glim

RNG = np.random.default_rng(0)


def test_gradients_reach_leaves():
    x, w = RNG.normal(size=(3, 4)), glim.Var.leaf(RNG.normal(size=(4, 2)), "w")
    with glim.Tape() as tape:
        y = glim.tanh(x @ w)
        tape.backward((y * y).sum())
    y = np.tanh(x @ w.numpy())
    assert np.allclose(w.grad.numpy(), x.T @ (2 * y * (1 - y * y)), rtol=1e-12)
    w.zero_grad()
    assert w.grad is None and w.name == "w" and w.is_leaf


def test_every_op_has_mathematics_in_its_documentation():
    for name in ("add", "softmax", "layer_norm", "scaled_dot_product_attention", "gather", "linear", "gru_cell"):
        assert len(getattr(glim, name).__doc__.split("\n")) > 2, name


def test_second_derivatives():
    x = glim.Var.leaf(np.array([1.0, 2.0]))
    with glim.Tape() as tape:
        dx, = tape.grad((x ** 3).sum(), [x], create_graph=True)
        ddx, = tape.grad(dx.sum(), [x])
    assert dx.numpy().tolist() == [3, 12] and ddx.numpy().tolist() == [6, 12] and x.grad is None


def test_inputs_are_a_list_of_vars():
    x = glim.Var.leaf(np.ones((2, 3)))
    v = [np.ones((2, 3))]
    for find in (lambda tape, y, xs: tape.grad(y, xs), lambda tape, y, xs: tape.jvp(y, xs, v), lambda tape, y, xs: tape.hvp(y, xs, v),
                 lambda tape, y, xs: tape.grad_each(y.reshape(1), xs), lambda tape, y, xs: tape.grad_norms(y.reshape(1), xs)):
        with glim.Tape() as tape:
            y = (x * x).sum()
            for wrong, words in ((x, r"a list of Vars: \[x\]"), ([x.numpy()], "no Var"), ([1.0], "no Var")):
                with pytest.raises(TypeError, match=words):
                    find(tape, y, wrong)
            find(tape, y, (x,))


def test_operands_of_an_own_op_are_a_list():
    class Same(glim.Op):
        def forward(self, *xs):
            return xs[0]

        def gradient(self, dy, *xs):
            return (dy, *[None] * (len(xs) - 1))
    x = glim.Var.leaf(np.ones((1, 3)))
    assert Same()(x).shape == (1, 3)
    with pytest.raises(TypeError, match=r"inputs is a list of Vars: \[x\]"):
        glim.apply(Same(), x)


def test_the_axes_that_t_exchanges():
    x = glim.Var.leaf(np.arange(24.0).reshape(2, 3, 4))
    assert x.mT.shape == (2, 4, 3)
    with pytest.raises(ValueError, match="v.mT"):
        x.T


def test_watch_hook_and_walk():
    x = glim.Var.leaf(np.array([1.0, 2.0]), "x")
    with glim.Tape() as tape:
        tape.watch("*exp*")
        y = glim.exp(x)
        tape.hook(y, lambda g: g * 2)
        loss = y.sum()
        steps = {node.name: dy.numpy() for node, dy, flows in tape.walk(loss, retain=True)}
        assert list(steps) == ["sum", "exp", "leaf"] and (steps["exp"] == 2).all()
        assert np.allclose(steps["leaf"], 2 * np.exp([1.0, 2.0]))
        x.zero_grad()
        tape.backward(loss)
        assert tape.watched["exp"][1].numpy().tolist() == [2.0, 2.0]
        assert tape.nodes[1].line.startswith("test_tape.py:") and "exp" in tape.table() and "digraph" in tape.dot()
    assert np.allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]))


def test_derive_writes_out_a_module_of_ones_own():
    class Gated(glim.Module):
        def __init__(self):
            super().__init__()
            self.gate = glim.Linear(3, 4)

        def forward(self, x):
            return glim.tanh(self.gate(x)) * 2

    layer, x = Gated(), glim.Var.leaf(np.ones((2, 3), np.float32), "x")
    with glim.Tape(replay=True) as tape:
        loss = layer(x).sum()
        text = tape.derive()
        assert "dweight = " in text and "test_tape.py:" in text and tape.derive() == text
        assert "dgate" in tape.derive(level="primitives")
        with pytest.raises(glim.ValueError, match="nearest: gate"):
            tape.derive("gat")
        tape.hook(loss, lambda g: g * 2)
    with glim.Tape() as tape:
        layer(x).sum()
        with pytest.raises(glim.StateError, match="replay"):
            tape.derive()


def test_errors_name_the_line():
    with pytest.raises(glim.ShapeError, match=r"matmul.*\n.*\n.*\n  at test_tape.py:\d+"):
        glim.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(TypeError, match="b: expected an array"):
        glim.add(np.ones(3), "abc")
    with pytest.raises(glim.DTypeError, match="a: elements of float16"):
        glim.add(np.ones(3, np.float16), np.ones(3))
    with pytest.raises(glim.IndexError):
        glim.Var(np.ones(3))[0, 0]
    with pytest.raises(glim.ValueError, match="step"):
        glim.Var(np.ones(3))[::-1]
    with pytest.raises(glim.ShapeError):
        glim.Var(np.ones(3)).item()


def test_numbers_out_of_place():
    x = glim.Var.leaf(np.ones((2, 3)))
    with pytest.raises(glim.IndexError, match="64 bits"):
        x[10 ** 30]
    with pytest.raises(TypeError, match=r"parameters\[0\] is a float"):
        glim.Adam([1.0])
    with glim.Tape() as tape:
        y = x * 2
        tape.hook(y, lambda g: 3.0)
        with pytest.raises(glim.ShapeError, match="replacement"):
            tape.backward(y.sum())
        with pytest.raises(glim.ValueError, match="return missing"):
            glim.recomputed(lambda: None)
        assert glim.recomputed(lambda: 3.0).item() == 3


def test_the_truth_of_a_var():
    assert glim.Var(np.array(2.0)) and not glim.Var(np.zeros((1, 1)))
    with pytest.raises(glim.ShapeError):
        bool(glim.Var(np.ones(3)))


def test_errors_of_tapes():
    x = glim.Var.leaf(np.ones(3))
    tape = glim.Tape()
    with pytest.raises(glim.StateError, match="with glim.Tape"):
        tape.backward(x)
    with tape:
        y = x * 2
        with pytest.raises(glim.ShapeError):
            tape.backward(y)
        with pytest.raises(glim.StateError, match="open already"):
            tape.__enter__()
        with pytest.raises(glim.StateError):
            tape.hook(y, lambda g: tape.__exit__())
            tape.backward(y.sum())
        walk = tape.walk((x * 3).sum())
    with pytest.raises(glim.StateError):
        y * 2
    with pytest.raises(glim.StateError, match="ended"):
        next(walk)


def test_exceptions_of_hooks_pass_through():
    x = glim.Var.leaf(np.ones(3))
    with glim.Tape() as tape:
        y = x * 2
        tape.hook(y, lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tape.backward(y.sum())
    with glim.Tape(check_finite=True) as tape:
        with pytest.raises(glim.NonFiniteError):
            glim.log(x - 2.0)


def test_a_tape_of_another_thread():
    tape, found = glim.Tape(), []
    thread = threading.Thread(target=tape.__enter__)
    thread.start()
    thread.join()
    with pytest.raises(glim.StateError, match="another thread"):
        tape.backward(glim.Var.leaf(np.ones(1)))
    del tape, found


def test_no_grad_records_nothing():
    x = glim.Var.leaf(np.ones(3))
    with glim.Tape() as tape:
        with glim.no_grad():
            x * 2
        assert len(tape) == 0


def test_leaves_over_read_only_memory_are_copies():
    x = np.ones(3)
    assert glim.Var.leaf(x).numpy().__array_interface__["data"][0] == x.__array_interface__["data"][0]
    x.flags.writeable = False
    leaf = glim.Var.leaf(x)
    assert leaf.numpy().flags.writeable and leaf.numpy().__array_interface__["data"][0] != x.__array_interface__["data"][0]


def test_a_fork_computes():
    x = np.ones((512, 512), np.float32)
    (glim.Var(x) @ x).sum()  # starts the threads
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that waits for threads it does not have
        same = (glim.Var(x) @ x).numpy()[0, 0] == 512
        os._exit(0 if same and glim.num_threads() == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_fork_beside_a_thread_that_computes():
    """No lock of the library is held in the child by a thread that the child does not have."""
    ends = threading.Event()

    def compute():
        layer, x = glim.TransformerEncoderLayer(16, 2, 32), glim.Var(np.ones((4, 8, 16), np.float32))
        while not ends.is_set():
            with glim.Tape() as tape:
                loss = layer(x).sum()
                tape.backward(loss)

    workers = [threading.Thread(target=compute) for _ in range(2)]
    for worker in workers:
        worker.start()
    states = []
    try:
        for _ in range(300):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                layer = glim.TransformerEncoderLayer(16, 2, 32)
                os._exit(0 if np.isfinite(layer(glim.Var(np.ones((4, 8, 16), np.float32))).numpy()).all() else 1)
            states.append(os.waitpid(child, 0)[1])
            if states[-1]:
                break
    finally:
        ends.set()
        for worker in workers:
            worker.join()
    assert states == [0] * 300


def test_ctrl_c_ends_backward():
    """Backward takes twice as long as forward. The signal comes from outside: a thread would wait for the interpreter."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import time, numpy as np, glim
        x = glim.Var.leaf(np.ones((256, 256), np.float32))
        with glim.Tape() as tape:
            start = time.process_time()
            y = x
            for _ in range(100):
                y = y @ x * 0.001
            loss = y.sum()
            forward = time.process_time() - start
            start = time.process_time()
            try:
                print("ready", flush=True)
                tape.backward(loss)
            except KeyboardInterrupt:
                print("stopped", (time.process_time() - start) / forward)
    """)], stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=300)[0].split()
    assert said[0] == "stopped" and float(said[1]) < 1, said


class Slow(glim.Op):
    """An op whose gradient is Python, and lets other threads run."""

    def forward(self, x):
        return x * 2

    def gradient(self, dy, x):
        time.sleep(0.001)
        return dy * 2


def test_other_threads_run_during_backward():
    x, ticks, done = glim.Var.leaf(np.ones((512, 512), np.float32)), [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(time.perf_counter())

    with glim.Tape() as tape:
        y = x
        for _ in range(30):
            y = y @ x * 0.001
        loss = y.sum()
        thread = threading.Thread(target=tick)
        thread.start()
        began = time.perf_counter()
        tape.backward(loss)
        ended = time.perf_counter()
        done.set()
        thread.join()
    assert sum(began < t < ended for t in ticks) > 5, (ended - began, len(ticks))


def test_threads_with_tapes_of_their_own():
    """Ops of Python, hooks, watches and regions that run again, in two threads at once beside a third of Python alone."""
    def gradient(seed):
        rng = np.random.default_rng(seed)
        x, w, seen = glim.Var.leaf(rng.normal(size=(3, 4))), glim.Var.leaf(rng.normal(size=(4, 4))), []
        for _ in range(20):
            with glim.Tape() as tape:
                tape.watch("*tanh*")
                y = glim.recomputed(lambda: glim.tanh(x @ w))
                y = Slow()(glim.tanh(y @ w))
                tape.hook(y, lambda g: seen.append(g.numpy().sum()))
                tape.backward((y * y).sum())
        return np.concatenate([x.grad.numpy(), w.grad.numpy()]), seen

    alone, done = [gradient(seed) for seed in (1, 2)], threading.Event()
    busy = threading.Thread(target=lambda: [[object() for _ in range(100)] for _ in iter(done.is_set, True)])
    busy.start()
    together = [None, None]
    threads = [threading.Thread(target=lambda k=k: together.__setitem__(k, gradient(k + 1))) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    busy.join()
    for (one, hooked), (other, hooked_too) in zip(alone, together):
        assert np.array_equal(one, other) and hooked == hooked_too and len(hooked) == 20


def test_exceptions_of_python_end_a_backward():
    class Fails(glim.Op):
        def forward(self, x):
            return x

        def gradient(self, dy, x):
            raise ZeroDivisionError("of the op")

    x = glim.Var.leaf(np.ones(3))
    for _ in range(20):
        with glim.Tape() as tape, pytest.raises(ZeroDivisionError, match="of the op"):
            tape.backward(Fails()(Slow()(x)).sum())


def test_a_tape_does_not_end_in_a_call_that_began_after_it():
    x = glim.Var.leaf(np.ones(3))

    class Own(glim.Op):
        def forward(self, x):
            self.before()
            return x * 2

        def gradient(self, dy, x):
            return 2 * dy

    own = Own()
    with glim.Tape() as tape:
        for call in (lambda: own(x)), (lambda: glim.recomputed(lambda: own.before() or x * 2.0)):
            own.before = lambda: tape.__exit__()
            with pytest.raises(glim.StateError, match="ends within"):
                call()
        stop = glim.no_grad()
        own.before = stop.__enter__
        with pytest.raises(glim.StateError, match="ended or paused the tape"):
            own(x)
        stop.__exit__()


def test_a_tape_that_a_hook_opens_ends_with_it():
    x = glim.Var.leaf(np.ones(3))
    opened = []
    with glim.Tape() as tape:
        y = x * 2.0
        tape.hook(y, lambda g: opened.append(glim.Tape().__enter__()))
        tape.backward(glim.sum(y))
        with pytest.raises(glim.StateError, match="is not open"):
            opened[0].__exit__()
    assert x.grad.numpy().tolist() == [2, 2, 2]
