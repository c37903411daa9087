"""Threads of Python: one leaf for several passes, and the end of the program."""
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import glim


def test_backward_passes_of_threads_add_up_in_one_leaf():
    """Each of n passes adds 1, which no order rounds."""
    shape = (600, 600)  # the longer an addition takes, the more of them meet
    shared, passes, threads = glim.Var.leaf(np.zeros(shape, np.float32)), 50, 4
    seen, done = [], threading.Event()

    def run():
        go.wait()
        for _ in range(passes):
            with glim.Tape() as tape:
                tape.backward(shared.sum())

    def read():
        go.wait()
        while not done.is_set():
            g = shared.grad
            seen.append(g is None or g.shape == shape)

    go = threading.Barrier(threads + 1)
    workers = [threading.Thread(target=run) for _ in range(threads)]
    reader = threading.Thread(target=read)
    for thread in workers + [reader]:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    reader.join()
    assert (shared.grad.numpy() == passes * threads).all() and all(seen)


ENDS = {
    "backward": """
        x = glim.Var.leaf(np.ones((64, 64), np.float32))
        def work():
            while True:
                with glim.Tape() as tape:
                    y = x
                    for _ in range(20):
                        y = y @ x * 0.01
                    tape.backward(y.sum())
    """,
    "own op": """
        class Own(glim.Op):
            def forward(self, x):
                time.sleep(0.001)
                return x * 1
            def gradient(self, dy, x):
                time.sleep(0.001)
                return dy
        x, own = glim.Var.leaf(np.ones(3)), Own()
        def work():
            while True:
                with glim.Tape() as tape:
                    y = own(own(own(x)))
                    tape.hook(y, lambda g: time.sleep(0.001))
                    tape.backward(glim.recomputed(lambda: time.sleep(0.001) or y * 2.0).sum())
    """,
    "module": """
        class Own(glim.Module):
            def forward(self, x):
                for _ in range(100):
                    x = x * 1.0
                time.sleep(0.001)
                return x
        own = Own()
        def work():
            while True:
                own(np.ones(3))
    """,
    "gradcheck": """
        def f(x):
            time.sleep(0.001)
            return x * 2
        def work():
            while True:
                glim.gradcheck(f, lambda dy, x: f(dy), np.ones(3))
    """,
}


@pytest.mark.parametrize("what", ENDS)
def test_daemon_threads_do_not_abort_the_end(what):
    program = "import threading, time, numpy as np, glim\n" + textwrap.dedent(ENDS[what]) + textwrap.dedent("""
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
    """)
    for _ in range(5):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0 and not ended.stderr, (ended.returncode, ended.stderr)
