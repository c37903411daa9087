"""The live page's scripts without its module: a program that was compiled from the same sources answers in its place.

    glim, answers = without_module.program(GLIM, LIVE_ANSWERS, folder)

The page asks synchronously, as it asks its module. prompt() is the one call of a browser that waits for an answer from
outside: chromium.Page gives it that of `answers`. Where live.wasm is beside GLIM, the module itself answers.
"""
import os
import shutil
import subprocess

SCRIPT = """const LiveGlim = async () => {
  new WebAssembly.Memory({initial: 1});  // a browser without WebAssembly or memory does not start it
  return {FS: {writeFile() {}}, ccall: (name, result, types, [request]) => prompt(request)};
};"""


def program(glim, live_answers, folder):
    """GLIM, and what answers: None for the module."""
    if os.path.exists(os.path.join(os.path.dirname(glim), "live.wasm")):
        return glim, None
    own = os.path.join(folder, "program")
    os.mkdir(own)
    glim = shutil.copy(glim, own)
    with open(f"{own}/live.js", "w", encoding="utf-8") as script, open(f"{own}/live.wasm", "wb") as module:
        script.write(SCRIPT)
        module.write(b"none")
    process = subprocess.Popen([os.path.abspath(live_answers)], cwd=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answers(request):
        process.stdin.write(request.encode() + b"\n")
        process.stdin.flush()
        return process.stdout.readline().decode()

    return glim, answers
