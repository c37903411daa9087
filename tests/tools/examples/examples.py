#!/usr/bin/env python3
"""examples.py ROOT GLIM MAKE_IMAGES PROGRAM...: each program of tools/examples is on their page, short, and says in
one line what is wrong with its arguments. tests/readme/commands.py compares their output with the page. The
server translates for eight clients at once as glim translate does."""
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

root, glim, make_images, *programs = [os.path.abspath(a) for a in sys.argv[1:] if not a.startswith("~")]
folder = pathlib.Path(root, "tools", "examples")
programs = {os.path.basename(p): p for p in programs}
failed = 0


def check(name, problem):
    global failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")


def run(command):
    name, *arguments = shlex.split(command)
    return subprocess.run([programs[name], *arguments], capture_output=True, text=True, errors="replace")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    subprocess.run([make_images, "."], check=True)
    shutil.copy("images.idx", "train-images-idx3-ubyte")
    shutil.copy("labels.idx", "train-labels-idx1-ubyte")
    shutil.copy(os.path.join(root, "LICENSE"), ".")
    shown = set(re.findall(r"^\$ build/tools/examples/(\w+)", (folder / "examples.md").read_text(), re.M))
    for name in programs:
        check(name, "" if name in shown else "is not on the page")
    for source in folder.glob("*.c*"):
        text = source.read_text()
        most = 30 if re.search(r"^#include <glim/(pipeline.hpp|glim.h)>$", text, re.M) else 60
        check(source.name, "" if len(text.splitlines()) < most else f"has {most} lines or more")
        check(source.name, "" if re.search(rf"^(//| \*)   {source.stem}\b", text, re.M) else "does not say how to run it")
    if backward := programs.get("transformer_backward"):  # the build has its data next to it
        done = run(f"transformer_backward {shlex.quote(os.path.dirname(backward))}/backward.safetensors")
        check("transformer_backward", "" if "same bits" in done.stdout and "differs" not in done.stdout
              else "differs from Glim's gradients")
    for wrong in ["mlp", "mlp nowhere nowhere", "mlp LICENSE LICENSE", "mlp train-images-idx3-ubyte five.idx",
                  "gpt", "gpt nowhere", "gpt .", "translate", "translate nowhere 3", "classify", "classify nowhere 3", "translate_c",
                  "translate_c nowhere 3", "serve", "serve nowhere socket", "copy_task", "copy_task nowhere"]:
        done = run(wrong)
        name = wrong.split()[0]
        check(wrong, "" if done.returncode == 1 and done.stderr.startswith(name + ": ")
              else f"status {done.returncode}: {done.stderr}")

def asked(lines, answers):
    """The answers of the server, line by line."""
    with socket.socket(socket.AF_UNIX) as client:
        for _ in range(6000):  # until it listens
            if client.connect_ex("socket") == 0:
                break
            time.sleep(0.1)
        with client.makefile("rw", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                file.flush()
                answers.append(file.readline())


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    subprocess.run([glim, "train", "--task", "copy", "--examples", "200", "--layers", "1", "--d-model", "16", "--heads", "2",
                    "--d-ff", "32", "--epochs", "2", "--quiet", "--progress", "none", "--out", "model"], check=True)
    lines = [" ".join(str(3 + i * k % 8) for k in range(1, 4 + i % 9)) for i in range(40)] + [""]
    expected = subprocess.run([glim, "translate", "--model", "model"], input="\n".join(lines) + "\n", text=True,
                              capture_output=True, check=True).stdout.splitlines(True)
    server = subprocess.Popen([programs["serve"], "model", "socket"])
    answers = [[] for _ in range(8)]
    clients = [threading.Thread(target=asked, args=(lines, a)) for a in answers]
    for client in clients:
        client.start()
    for client in clients:
        client.join(600)
    check("serve", "" if all(a == expected for a in answers) else "answers otherwise than glim translate")
    check("serve", "" if server.poll() is None else f"ended with status {server.poll()}")
    server.kill()
    server.wait()

print("the examples do what their page says" if not failed else f"{failed} failed")
sys.exit(failed > 0)
