"""The last line of a run is that of every test of Glim: N passed, N failed."""


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    counts = {kind: len(reporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    print(f"\n{counts['passed']} passed, {counts['failed'] + counts['error']} failed")
