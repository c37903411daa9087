"""What a suite counts: cases that passed, failed and were skipped, the latter by reason."""

from collections import Counter


class Skip(Exception):
    """The case is not one for Glim; the text says why."""


class Count:
    def __init__(self):
        self.passed, self.failures, self.skipped, self.compared = 0, [], Counter(), Counter()

    def case(self, name, check, prepare, *args):
        """check(*prepare(*args)) says what it has compared. Either may raise Skip."""
        try:
            compared = check(*prepare(*args))
        except Skip as skip:
            self.skipped[str(skip)] += 1
        except Exception as error:
            self.failures.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        else:
            self.passed += 1
            self.compared.update(compared)

    def __iadd__(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped
        self.compared += other.compared
        return self
