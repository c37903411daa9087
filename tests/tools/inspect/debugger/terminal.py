#!/usr/bin/env python3
"""terminal.py GLIM: `glim step` at a terminal: editing, history, completion, Control-C, its end.

Runs no test where the system has no pseudo-terminals (a container without devpts).
"""
import os
import pty
import select
import signal
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import checks  # noqa: E402

glim = os.path.abspath(sys.argv[1])
counted = checks.Checks()
try:
    for end in pty.openpty():
        os.close(end)
except OSError as e:
    print(f"No tests ran: {e}")
    sys.exit(0)


def check(name, condition, seen=b""):
    counted(condition, f"{name}\n{seen.decode(errors='replace')}")


class Terminal:
    def __init__(self, term="xterm", errors=None):
        self.seen = b""
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.close(self.master)
            for fd in range(3):
                os.dup2(self.slave, fd)
            if errors:  # as `nohup` starts it
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                os.dup2(errors.fileno(), 2)
            import fcntl
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.environ["TERM"] = term
            os.execv(glim, [glim, "step", "--fresh", "--layers", "1", "--d-model", "16", "--heads",
                            "2", "--d-ff", "32"])

    def wait_for(self, text, seconds=600):
        """The output up to the text or to the end; the rest is left for the next time."""
        end = time.time() + seconds
        while text not in self.seen and time.time() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:
                    break
        at = self.seen.find(text)
        if at < 0:
            check(f"{text} came", False, self.seen)
        at = len(self.seen) if at < 0 else at + len(text)
        seen, self.seen = self.seen[:at], self.seen[at:]
        return seen

    def line_mode(self):
        return termios.tcgetattr(self.slave)[3] & termios.ICANON

    def type(self, keys, seconds=600):
        """Writes them once the program reads: libedit prints its prompt before it takes the terminal
        out of line mode, where Control-C drops nothing and Control-D becomes a NUL."""
        end = time.time() + seconds
        while time.time() < end:
            with open(f"/proc/{self.pid}/stat") as f:
                asleep = f.read().rpartition(") ")[2].startswith("S")
            if asleep and not self.line_mode():
                break
            time.sleep(0.005)
        os.write(self.master, keys)

    def say(self, keys, answer=b"(glim) "):
        self.type(keys)
        return self.wait_for(answer)

    def status(self, seconds=600):
        end = time.time() + seconds
        while time.time() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    os.read(self.master, 65536)
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return "hung"


t = Terminal()
seen = t.wait_for(b"(glim) ")
check("the place and a prompt", b"=> #" in seen and seen.endswith(b"(glim) "), seen)
seen = t.say(b"next\n", b"=> #")
check("a command", b"=> #" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"\n", b"=> #")
check("an empty line repeats it", b"=> #" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"brea\t*self_attn.probs\n", b"still to come")
check("a command is completed", b"breakpoint 1: *self_attn.probs" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"where decoder.layers.0.multihead_attn.sco\t\n", b"called at")
check("a path is completed", b"decoder.layers.0.multihead_attn.scores" in seen and b"called at" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"\x1b[A\x1b[A\n", b"still to come")
check("the arrow keys bring back earlier lines", b"breakpoint 2: *self_attn.probs" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"half a line\x03", b"(glim) ")
seen += t.say(b"info breakpoints\n", b"hit 0 times")
check("Control-C drops the line", b"no such command" not in seen and b"1  *self_attn.probs" in seen, seen)
t.wait_for(b"(glim) ")
seen = t.say(b"brake\n", b"nearest: break")
check("what fails is said, without a line number", b"nearest: break" in seen and b"line " not in seen, seen)
t.wait_for(b"(glim) ")
t.say(b"delete\n", b"removed")
t.wait_for(b"(glim) ")
t.say(b"continue\n", b"the pass is over")
t.wait_for(b"(glim) ")
# Each of the 6,752 elements takes two passes forward.
t.type(b"diff src_embed.weight 100000000\n")
t.wait_for(b"\n")
while not t.line_mode():  # where Control-C is a signal, and no key of the line
    time.sleep(0.005)
os.write(t.master, b"\x03")
seen = t.wait_for(b"(glim) ")
check("Control-C stops a command at work", b"diff: interrupted" in seen, seen)
t.say(b"next\n", b"the pass is over")
seen = t.wait_for(b"(glim) ")
check("and the next one works", seen.endswith(b"(glim) "), seen)
t.type(b"\x04")
check("Control-D ends it with 0", t.status() == 0)
check("the terminal is as it was", termios.tcgetattr(t.slave) == t.before)

t = Terminal(term="dumb")
t.wait_for(b"=> #")
os.write(t.master, b"next\nquit\n")
check("a terminal that can do nothing", t.status() == 0)

with tempfile.TemporaryFile() as errors:
    t = Terminal(errors=errors)
    t.wait_for(b"(glim) ")
    t.type(b"")
    os.close(t.master)
    status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
    errors.seek(0)
    said = errors.read()
    check("a terminal that goes away", status == 1 and said.count(b"\n") == 1 and b"cannot be read" in said, said)
counted.leave()
