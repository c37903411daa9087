"""The last line of a run is that of every test of Glim: N passed, N failed."""

import pytest


@pytest.fixture
def one_thread():
    """PyTorch with one thread: small tensors on shared cores take longer with more."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    counts = {kind: len(reporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    print(f"\n{counts['passed']} passed, {counts['failed'] + counts['error']} failed")
