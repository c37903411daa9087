"""The program `glim` in a process of its own: `python -m glim`, and what train, study and inspect are built on."""
import io
import os
import re
import signal
import subprocess
import sys
import threading

from . import _glim

# On Windows a child of a group of its own: it gets no Control-C of the console, but this.
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
INTERRUPT = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)


def main():
    if not hasattr(_glim, "run_program"):
        print("glim: error: this build of the package has no program; see tools/python/python.md", file=sys.stderr)
        return 1
    os.environ.setdefault("GLIM_PYTHON", sys.executable)  # what `glim course` runs a student's file with
    os.environ["GLIM_PACKAGE"] = os.path.dirname(os.path.abspath(__file__))  # a wheel has the module of live pages there
    for word in sys.argv[1:]:
        try:
            word.encode()
        except UnicodeEncodeError:
            print(f"glim: error: '{ascii(word)[1:-1]}' is not UTF-8", file=sys.stderr)
            return 1
    return _glim.run_program(["glim", *sys.argv[1:]])


def words_of(options):
    """{"kind": "gpt", "d_model": 64, "resume": True} -> ["--kind", "gpt", "--d-model", "64", "--resume"]"""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        words.append(flag)
        if value is not True:
            several = value if isinstance(value, (list, tuple)) else [value]
            words += [os.fspath(v) if isinstance(v, os.PathLike) else str(v) for v in several]
    return words


def run(words, show=True, stdin=None):
    """Runs the program; returns its standard output. It is shown meanwhile, as is its progress.

    glim.Error with its last line if it fails. Ctrl-C stops the program, which saves what it has, and then is a
    KeyboardInterrupt.
    """
    _glim_program()
    try:
        input_bytes = stdin.encode() if stdin is not None else None
    except UnicodeEncodeError as error:
        raise _glim.ValueError(f"half of a surrogate pair is no text: {error}") from None
    command = [sys.executable, "-m", "glim", *words]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe if stdin is not None else subprocess.DEVNULL, stdout=pipe, stderr=pipe,
                             env=environment, creationflags=NEW_GROUP)
    kept = io.StringIO(), io.StringIO()
    readers = [threading.Thread(target=_copy_lines, args=arguments, daemon=True)
               for arguments in ((child.stdout, sys.stdout if show else None, kept[0]),
                                 (child.stderr, sys.stderr if show else None, kept[1]))]
    for reader in readers:
        reader.start()
    try:
        if input_bytes is not None:
            try:
                child.stdin.write(input_bytes)
                child.stdin.close()
            except BrokenPipeError:
                pass  # it has ended, and says why
        status = child.wait()
    except KeyboardInterrupt:
        child.send_signal(INTERRUPT)
        child.wait()
        raise
    finally:
        for reader in readers:
            reader.join()
    if status == 130:
        raise KeyboardInterrupt
    if status:
        lines = [line for line in kept[1].getvalue().splitlines() if line.startswith("glim: error: ")]
        # --batch-tokens is batch_tokens in Python, but not in a command that is to be typed.
        raise _glim.Error(re.sub(r"(`[^`]*`|glim [a-z]+ --help)|--([a-z][a-z0-9-]*)",
                                 lambda found: found[1] or found[2].replace("-", "_"),
                                 lines[-1].removeprefix("glim: error: ")) if lines else
                          f"glim {words[0]} ended with status {status}: {kept[1].getvalue()[-500:]}")
    return kept[0].getvalue()


def write_file(file, text, overwrite):
    """Writes a text, whole or not at all."""
    path = os.fspath(file)
    if os.path.islink(path):
        raise _glim.FileError(f"{path}: is a symbolic link: name the file that it leads to")
    if not overwrite and os.path.exists(path):
        raise _glim.FileError(f"{path}: exists already: overwrite=True replaces it")
    _glim._write_file(path, text)


def _copy_lines(stream, out, kept):
    for line in io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline=""):
        kept.write(line)
        if out is not None and not line.startswith("glim: error: "):  # which the exception says
            encoding = getattr(out, "encoding", None) or "utf-8"
            out.write(line.encode(encoding, "replace").decode(encoding))
            out.flush()


def _glim_program():
    if not hasattr(_glim, "run_program"):
        raise _glim.StateError("this build of the package has no program: it was built where the program's libraries are "
                               "not installed (tools/python/python.md names them)")


if __name__ == "__main__":
    sys.exit(main())
