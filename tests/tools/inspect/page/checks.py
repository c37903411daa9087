"""Conditions that are counted, and the last line that tools/test reads."""
import sys


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def __call__(self, condition, text):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED:", text)

    def leave(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)
