"""Runs one function of a student's file for the checker: python3 runner.py FILE FUNCTION [SEED GIVEN [own]].

GIVEN is a program into which the student's FUNCTION_backward is put (exercise 12); `own`: it has one.

Each line of standard input is a request, each gets a line (tools/foreign/program.md). The first one is answered before
the student's file is read: what goes wrong until then is the machine's fault. The student's code may read the
folder of FILE and Python's own files. It may write nothing, start nothing and connect to nothing. Whatever is wrong is
said in one line, and ends the process. The first characters that it prints go to the pipe COURSE_PRINTS.

On Windows a job object limits memory and processes, and a thread looks at the time. Files and connections are refused by
Python alone, which is no wall against a program that wants to get out.
"""
import os
import sys

# Not the caller's folder, where a file may be called json.py, nor this file's.
sys.path = [p for p in sys.path if p and os.path.realpath(p) != os.path.dirname(os.path.realpath(__file__))]

import itertools
import json
import signal
import subprocess  # numpy.testing imports it, and could not any more
import threading
import time

try:
    import resource
except ModuleNotFoundError:  # Windows
    import ctypes
    import ctypes.wintypes
    import msvcrt
    resource = None

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit("NumPy is missing: apt-get install python3-numpy, or pip install numpy")
except ImportError as e:
    sys.exit(f"NumPy cannot be loaded: {' '.join(str(e.__cause__ or e).split())[:200]}")

path, name, options = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3:]
if options:
    with open(options[1], encoding="utf-8") as program:
        options[1] = program.read()
SECONDS, SECONDS_IN_ALL = (30, 60) if options else (2, 20)  # of processor time
SECONDS_TO_WAIT = 10 * SECONDS
MEGABYTES, LINES, FILES, CHARACTERS = 512, 10000, 16, 2000
file, folder = os.path.basename(path), os.path.dirname(path)
requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
errors = os.dup(2)
set_timer = getattr(signal, "setitimer", None)
busy, ticks = None, 0  # the function that runs, and for how many seconds
began = None  # processor time and clock when it did


def fail(text):
    os.write(errors, f"{text}\n".encode(errors="backslashreplace"))
    os._exit(1)


def line_of(frame):  # the innermost line of the student's own files
    found = None
    while frame:
        code = frame.f_code.co_filename
        if found is None and code.startswith(folder + os.sep):
            found = f"{os.path.basename(code)}, line {frame.f_lineno}"
        frame = frame.f_back
    return found or file


def line_of_traceback(trace, most_often=False):
    lines = [file]
    while trace:
        code = trace.tb_frame.f_code.co_filename
        if code.startswith(folder + os.sep):
            lines.append(f"{os.path.basename(code)}, line {trace.tb_lineno}")
        trace = trace.tb_next
    return max(lines, key=lines.count) if most_often else lines[-1]


def explain(e):
    kind, text = type(e).__name__, " ".join(str(e).split())
    text = text if len(text) <= 200 else text[:197] + "..."
    if isinstance(e, SyntaxError):
        place = f", line {e.lineno}" if e.lineno else ""  # none in a file that is no text
        return f"{os.path.basename(e.filename or file)}{place}: {e.msg}"
    where = line_of_traceback(e.__traceback__)
    if isinstance(e, NotImplementedError):
        return f"{where}: not written yet"
    if isinstance(e, ModuleNotFoundError):
        return f"{where}: there is no module '{e.name}' here: an exercise needs NumPy and earlier exercises alone"
    if isinstance(e, MemoryError):
        return f"{where}: needs more than {MEGABYTES} MB of memory"
    if isinstance(e, SystemExit):
        return f"{where}: ends the program (exit)"
    if isinstance(e, RecursionError):
        return f"{line_of_traceback(e.__traceback__, most_often=True)}: calls itself without an end"
    return f"{where}: {kind}: {text}" if text else f"{where}: {kind}"


REFUSED = {
    "os.remove": "deletes a file", "os.rmdir": "deletes a folder", "shutil.rmtree": "deletes a folder",
    "os.rename": "renames a file", "os.mkdir": "makes a folder", "os.link": "makes a link", "os.symlink": "makes a link",
    "os.chmod": "changes a file", "os.chown": "changes a file", "os.truncate": "changes a file", "os.utime": "changes a file",
    "os.setxattr": "changes a file", "os.removexattr": "changes a file", "os.system": "starts a program",
    "os.exec": "starts a program", "os.fork": "starts a program", "os.forkpty": "starts a program",
    "os.posix_spawn": "starts a program", "os.spawn": "starts a program", "subprocess.Popen": "starts a program",
    "pty.spawn": "starts a program", "os.kill": "sends a signal", "os.killpg": "sends a signal",
    "signal.pthread_kill": "sends a signal", "resource.setrlimit": "changes the limits",
    "resource.prlimit": "changes the limits", "sqlite3.connect": "opens a database", "gc.get_objects": "looks into the checker",
    "gc.get_referrers": "looks into the checker", "gc.get_referents": "looks into the checker",
}


def guard():  # in a function, so that the student's code cannot reach the hook and its names
    places = {folder, sys.prefix, sys.base_prefix, os.path.dirname(np.__file__), os.path.dirname(os.__file__)}
    realpath, one_case = os.path.realpath, os.path.normcase  # Windows: A and a are one name

    def real(p):
        return one_case(realpath(p))

    readable = tuple(real(p) + os.sep for p in places)
    refused, decode, sep, frame = dict(REFUSED), os.fsdecode, os.sep, sys._getframe
    write, leave, where, fd = os.write, os._exit, line_of, errors
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def refuse(what):  # at once: an exception could be caught
        write(fd, f"{where(frame(2))}: {what}, which an exercise may not\n".encode())
        leave(1)

    def watch(event, arguments):
        if event in refused:
            refuse(refused[event])
        if event.startswith(("ctypes.", "socket.")):
            refuse("uses " + event.split(".")[0])
        if event == "import" and arguments[0] in ("ctypes", "_ctypes", "_posixsubprocess"):
            refuse("uses " + arguments[0])
        if event == "open":
            what, mode, flags = arguments
            if isinstance(what, int):
                return
            if (isinstance(flags, int) and flags & writing) or (isinstance(mode, str) and set(mode) & set("wax+")):
                refuse(f"writes the file {decode(what)}")
            if not real(decode(what)).startswith(readable):
                refuse(f"reads the file {decode(what)}")
        elif event in ("os.listdir", "os.scandir"):
            directory = "/" if isinstance(arguments[0], int) else decode(arguments[0] or ".")
            if not (real(directory) + sep).startswith(readable):
                refuse(f"lists the folder {directory}")

    def without(modules, names, what):  # no audit event says so
        for module, name in itertools.product(modules, names):
            setattr(module, name, lambda *_, **__: refuse(what))

    without((os, sys.modules[os.name]), ("mkfifo", "mknod"), "makes a file")
    without((signal, sys.modules["_signal"]), ("alarm", "pthread_sigmask", "raise_signal", "setitimer", "signal"),
            "changes the limits")
    sys.addaudithook(watch)


def out_of_time(*_):
    fail(f"{line_of(sys._getframe(1))}: {busy or 'it'} has not ended after {SECONDS} s: is there a loop that never ends?")


def tick(*_):  # of the clock, but not while the machine stands still
    global ticks
    ticks += 1
    if ticks > SECONDS_TO_WAIT:
        fail(f"{line_of(sys._getframe(1))}: {busy} has not ended after {SECONDS_TO_WAIT} s: does it wait for something?")


def too_long(*_):
    fail(f"{line_of(sys._getframe(1))}: needs more than {SECONDS_IN_ALL} s for one check")


def watch_time():  # in a thread, where there are no timers
    while True:
        time.sleep(0.1)
        start = began
        if start is None:
            continue
        where = line_of(sys._current_frames()[threading.main_thread().ident])
        if time.process_time() - start[0] > SECONDS:
            fail(f"{where}: {busy or 'it'} has not ended after {SECONDS} s: is there a loop that never ends?")
        if time.monotonic() - start[1] > SECONDS_TO_WAIT:
            fail(f"{where}: {busy} has not ended after {SECONDS_TO_WAIT} s: does it wait for something?")
        if time.process_time() > SECONDS_IN_ALL:
            fail(f"{where}: needs more than {SECONDS_IN_ALL} s for one check")


def limit_by_job():  # the memory of this process; it starts no other
    class Limits(ctypes.Structure):  # JOBOBJECT_EXTENDED_LIMIT_INFORMATION
        _fields_ = [("times", ctypes.c_longlong * 2), ("flags", ctypes.c_uint), ("working_set", ctypes.c_size_t * 2),
                    ("processes", ctypes.c_uint), ("affinity", ctypes.c_size_t), ("classes", ctypes.c_uint * 2),
                    ("transfers", ctypes.c_ulonglong * 6), ("process_memory", ctypes.c_size_t),
                    ("memory", ctypes.c_size_t * 3)]

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = ctypes.wintypes.HANDLE
    this, job = (ctypes.wintypes.HANDLE(h) for h in (kernel.GetCurrentProcess(), kernel.CreateJobObjectW(None, None)))
    counters = (ctypes.c_size_t * 10)(80)  # PROCESS_MEMORY_COUNTERS_EX: its last is what the process has committed
    kernel.K32GetProcessMemoryInfo(this, ctypes.byref(counters), 80)
    limits = Limits(flags=0x108, processes=1, process_memory=counters[9] + (MEGABYTES << 20))
    if not (kernel.SetInformationJobObject(job, 9, ctypes.byref(limits), ctypes.sizeof(limits)) and
            kernel.AssignProcessToJobObject(job, this)):
        raise ctypes.WinError(ctypes.get_last_error())


class Prints:  # print() goes here
    lines, room = 0, CHARACTERS
    fd = int(os.environ.get("COURSE_PRINTS", -1))
    if resource is None and fd >= 0:
        fd = msvcrt.open_osfhandle(fd, os.O_WRONLY)

    def write(self, text):
        self.lines += text.count("\n")
        piece, self.room = text[:self.room], max(0, self.room - len(text))
        try:
            os.write(self.fd, piece.encode(errors="backslashreplace"))
        except OSError:  # the pipe is full
            pass
        if self.lines > LINES:
            fail(f"{line_of(sys._getframe(1))}: prints more than {LINES} lines")
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


def limits():
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Prints()
    if resource:
        with open("/proc/self/statm") as statm:
            now = int(statm.read().split()[0]) * resource.getpagesize()
        memory = now + (MEGABYTES << 20)
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY and memory > most:
            fail(f"a check needs {memory >> 20} MB of address space, and ulimit -v allows {most >> 20}")
    for fd in [os.open(os.devnull, os.O_RDWR) for _ in range(FILES)]:  # as many can be opened
        os.close(fd)
    np.linalg, np.random  # what NumPy imports when it is used
    if resource:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_IN_ALL, SECONDS_IN_ALL + 2))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, out_of_time)
        signal.signal(signal.SIGXCPU, too_long)
        signal.signal(signal.SIGALRM, tick)
    else:
        limit_by_job()
        threading.Thread(target=watch_time, daemon=True).start()
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    np.seterr(all="ignore")
    guard()


def call(what, f, *arguments):
    global busy, ticks, began
    busy, ticks, began = what, 0, (time.process_time(), time.monotonic())
    if set_timer:
        set_timer(signal.ITIMER_PROF, SECONDS)
        set_timer(signal.ITIMER_REAL, 1, 1)
    try:
        return f(*arguments)
    except BaseException as e:
        fail(explain(e))
    finally:
        began = None
        if set_timer:
            set_timer(signal.ITIMER_PROF, 0)
            set_timer(signal.ITIMER_REAL, 0)


def load():
    try:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec")
    except OSError as e:
        fail(f"{file}: {e.strerror}")
    except Exception as e:
        fail(explain(e))
    module = type(sys)(os.path.splitext(file)[0])
    module.__file__ = path
    sys.modules[module.__name__] = module
    call(file, exec, code, module.__dict__)
    return module


def load_given():
    whole = type(sys)("given")
    call(file, exec, options[1], whole.__dict__)
    if options[2:] != ["own"]:
        setattr(whole, name + "_backward", function(load(), name + "_backward"))
    return whole


def function(module, attribute):
    f = getattr(module, attribute, None)
    if not callable(f):
        fail(f"{file}: there is no function {attribute}")
    return f


def array(x):  # a number stays one
    return np.array(x) if isinstance(x, list) else x


arrays = {}  # of the last gradient, by name


def written_anew(old, x):  # in the same array
    if not isinstance(old, np.ndarray) or not isinstance(x, np.ndarray) or (old.shape, old.dtype) != (x.shape, x.dtype):
        return x
    old[...] = x
    return old


def checked(what, y):
    if y is None:
        fail(f"{file}: {what} is None: is a return missing?")
    if not isinstance(y, (np.ndarray, np.generic, float)):
        fail(f"{file}: {what} is {kind_of(y)}, expected an array of NumPy")
    y = np.asarray(y)
    if y.dtype.kind not in "fiub" or (y.dtype.kind == "f" and y.dtype.itemsize < 8):
        fail(f"{file}: {what} is an array of {y.dtype}, expected float64")
    return y


def kind_of(y):
    return {"list": "a list", "tuple": f"{len(y) if isinstance(y, tuple) else 0} values", "int": "an int"}.get(
        type(y).__name__, f"a {type(y).__name__}")


def run(module, request):
    if request["call"] == "inputs":
        return {key: x.tolist() for key, x in module.inputs(int(options[0])).items()}
    if request["call"] == "train":
        return {"receipt": call(name, module.train)}
    inputs = {key: array(x) for key, x in request["inputs"].items()}
    if request["call"] == "rewritten":
        inputs = {key: written_anew(arrays.get(key), x) for key, x in inputs.items()}
    before = {key: x.copy() for key, x in inputs.items() if isinstance(x, np.ndarray)}
    what, arguments = name, list(inputs.values())
    if request["call"] != "value":
        what += "_backward"
        dy = np.asarray(array(request["dy"]["y"]), float)
        dy = written_anew(arrays.get("dy"), dy) if request["call"] == "rewritten" else dy
        arrays.update(inputs, dy=dy)
        before["dy"] = dy.copy()
        arguments.insert(0, dy)
    f = function(module, what)
    if request["call"] == "time":
        best = 1e9
        for _ in range(5):
            begin = time.perf_counter()
            call(what, f, *arguments)
            best = min(best, time.perf_counter() - begin)
            if best > 0.1:
                break
        return {"seconds": best}
    y = call(what, f, *arguments)
    for key, x in before.items():
        if not np.array_equal(x, arguments[0] if key == "dy" else inputs[key], equal_nan=x.dtype.kind == "f"):
            fail(f"{file}: {what} changes its input {key}: work on a copy ({key}.copy())")
    if request["call"] == "value":
        if isinstance(y, tuple):
            return {f"y{k}": checked(f"result {k} of {what}", one).tolist() for k, one in enumerate(y)}
        return {"y": checked(f"the result of {what}", y).tolist()}
    keys = [key for key, x in inputs.items() if np.asarray(x).dtype.kind == "f"]
    many = "d" + ", d".join(keys)
    if len(keys) > 1:
        if y is None:
            checked(f"the result of {what}", y)
        if not isinstance(y, (tuple, list)) or len(y) != len(keys):
            fail(f"{file}: {what} returns {kind_of(y) if not isinstance(y, np.ndarray) else 'one array'}, expected {many}")
    else:
        y = y if isinstance(y, tuple) and len(y) == 1 else (y,)
    return {key: checked(f"d{key} of {what}", dx).tolist() for key, dx in zip(keys, y)}


def main():
    try:
        limits()
    except Exception as e:
        fail(f"the limits of a check cannot be set: {e}")
    requests.readline()
    replies.write("{}\n")
    replies.flush()
    module = load_given() if options else load()
    for request in requests:
        reply = json.dumps(run(module, json.loads(request)))
        replies.write(reply + "\n")
        replies.flush()


main()
