"""A limit of seconds for a call that may not return."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TimeoutError in the block after some seconds: where the system has alarms, in the main thread, between
    instructions of Python. A call of C that does not return is not ended."""
    if (threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer")
            or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL):
        yield
        return

    def end(number, frame):
        raise TimeoutError(f"it did not return within {seconds} s")
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
