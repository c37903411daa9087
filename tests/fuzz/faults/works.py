"""The work of a program when nothing fails, in folders of its own, and the right outcomes after a failure."""
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

TINY = ('--task copy --examples 24 --layers 1 --d-model 8 --heads 2 --d-ff 8 --batch-sentences 8 --epochs 2 '
        '--save-every 1 --valid-every 2 --log-every 1 --dropout 0.1 --average 2 --record --record-every 1')
TRAIN = f'train {TINY} --out model --progress none --quiet'
WIDE = '--task copy --examples 8 --layers 1 --d-model 128 --heads 2 --d-ff 1024 --max-steps 2'
# Each work, in a folder that begins as a copy of another; whether it changes the model in it.
WORKS = {
    'train': ('empty', TRAIN, True),
    'resume': ('interrupted', 'train --resume --max-steps 0 --out model --progress none --quiet', True),
    'replace': ('other', f'{TRAIN} --overwrite', True),
    # Maps memory, as large tensors do.
    'train_wide': ('empty', f'train {WIDE} --out model --progress none --quiet', True),
    'translate': ('trained', 'translate --model model --beam 2', False),
    'inspect': ('trained', 'inspect --model model --sentence 3 --translation 4 --attribution-steps 2 --data --out page '
                '--quiet', False),
    'report': ('trained', 'report model --out page --quiet', False),
}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Works:
    """Runs works (WORKS), keeps their right results, and judges what a run left."""

    def __init__(self, a, work):
        self.a, self.work = a, pathlib.Path(work)
        self.glim, self.injector = os.path.abspath(a.glim), os.path.abspath(a.injector)
        self.environment = dict(os.environ, OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive',
                                XDG_CACHE_HOME=str(self.work / 'cache'))
        self.numbers, self.lock = 0, threading.Lock()
        self.known = {}  # what continued_once() has seen
        self.passed = self.failed = 0
        for name in ('empty', 'interrupted', 'trained', 'other'):
            (self.work / name).mkdir()
        self.must('trained', TRAIN)
        self.must('interrupted', f'{TRAIN} --max-steps 3')
        self.must('other', f'{TRAIN} --seed 2')
        self.right = {name: self.reference(name) for name in WORKS}
        self.of_other = self.results(self.work / 'other')

    def start(self, folder, words, sockets=(), **environment):
        # Into files, not pipes: one that stops, or that is waited for, needs no reader.
        with (open(folder / 'out', 'wb') as out, open(folder / 'err', 'wb') as err,
              open(self.work / 'in', 'rb') as source):
            return subprocess.Popen([self.glim, *words.split()], cwd=folder, stdin=source, stdout=out, stderr=err,
                                    env={**self.environment, **environment}, pass_fds=sockets,
                                    start_new_session=True)

    def run(self, folder, words, **environment):
        """The status, or None for a run that hangs."""
        process = self.start(folder, words, **environment)
        try:
            return process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    def must(self, name, words):
        (self.work / 'in').write_text('3 4 5\n\n7 3\n')
        if self.run(self.work / name, words) != 0:
            sys.exit(f'{words}: {(self.work / name / "err").read_text()}')

    def folder(self, begins):
        with self.lock:
            self.numbers += 1
            to = self.work / f'run{self.numbers}'
        shutil.copytree(self.work / begins, to)
        return to

    @staticmethod
    def results(folder):
        model = folder / 'model'
        return {n: digest(model / n) for n in ('last.safetensors', 'best.safetensors', 'average.safetensors')
                if (model / n).exists()}

    def outcome(self, folder, changes):
        if changes:
            lines = [(p.name, re.sub('"(tokens_per_second|seconds)":[^,}]*', '', p.read_text()))
                     for p in sorted(folder.glob('model/*.jsonl'))]
            return self.results(folder), lines
        page = folder / 'page'
        files = [page, *page.rglob('*')]
        return {'out': digest(folder / 'out'), **{str(p.relative_to(folder)): digest(p) for p in files if p.is_file()}}

    def reference(self, name):
        begins, words, changes = WORKS[name]
        folder = self.folder(begins)
        if self.run(folder, words) != 0:
            sys.exit(f'{words}: {(folder / "err").read_text()}')
        right = self.outcome(folder, changes)
        shutil.rmtree(folder)
        return right

    def said(self, folder, status, allowed=()):
        """The fault in the end of a program that came to nothing."""
        if status is None:
            return 'hangs'
        if -status in allowed:
            return None
        lines = (folder / 'err').read_text(errors='replace').splitlines()
        # libgomp, OpenBLAS and glibc (for a thread's own objects) end the program themselves when they find no memory.
        if status == -signal.SIGABRT and len(lines) == 1 and lines[0].startswith('Fatal glibc error: '):
            return None
        if status < 0 or status > 128 and status != 130:
            return f'ended by signal {-status if status < 0 else status - 128}: {lines[-1:]}'
        if status != 130 and (len(lines) != 1 or not lines[0].startswith(('glim: error: ', 'libgomp: Out of memory'))):
            return f'not one line: {lines}'
        return None

    @staticmethod
    def left(folder):
        """The temporary files in a folder."""
        names = [p.name for p in folder.rglob('*.tmp.*')]
        return f'left {names}' if names else None

    def continued(self, folder, name):
        """The fault of a folder after a run: it must go on to the right bits."""
        words = WORKS[name][1]
        resumable = (folder / 'model/last.safetensors').exists()
        more = '--max-steps 0' if name == 'resume' else ''
        again = f'train --resume {more} --out model --progress none --quiet' if resumable else words
        status = self.run(folder, again)
        if status != 0:
            return f'{"--resume" if resumable else "again"}: status {status}: {(folder / "err").read_text()}'
        if left := self.left(folder):
            return f'{"--resume" if resumable else "again"}: {left}'
        got = self.results(folder)
        if got == self.right[name][0] or (name == 'replace' and got == self.of_other):
            return None
        return f'{"resumed" if resumable else "begun again"}, it ends in other bits'

    def continued_once(self, folder, name):
        """The same, tried once for all folders of the same names and bytes. (A temporary file has a process's number.)"""
        files = sorted(p for p in folder.glob('model/**/*') if p.is_file())
        state = name, *((re.sub(r'\d+', '', p.name), digest(p)) for p in files)
        if state not in self.known:
            self.known[state] = self.continued(folder, name)
        return self.known[state]

    def note(self, label, problem):
        with self.lock:
            if problem:
                self.failed += 1
                print(f'FAIL {label}: {problem}', flush=True)
            else:
                self.passed += 1
