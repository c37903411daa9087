#!/usr/bin/env python3
"""faults.py GLIM INJECTOR [--allocations N] [--calls N] [--only WORK,...] [--kinds KIND,...] [--threads T] [--jobs J]

Lets every call of the system fail once: the n-th allocation, open, read, write, sync, rename, ... of a small
training run, a resumed one, one that replaces a model, a translation, an inspection and a report, for each n
(injector.cpp). Each time the program must

  - end with a status of its own and one line, or do its work all the same, with the right result,
  - leave a folder from which `--resume`, or if it has no checkpoint the same command, ends in the right bits.

The same holds for
  - SIGTERM, SIGINT and SIGKILL before each of a training run's calls,
  - a second run into the same folder, begun and ended before each of them,
  - a model that is replaced, cut, removed or overwritten before each call of a translation.

--allocations N and --calls N check at most N places of each kind, evenly spread; 0, the default, checks all.
"""
import argparse
import collections
import concurrent.futures
import errno
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TINY = ('--task copy --examples 24 --layers 1 --d-model 8 --heads 2 --d-ff 8 --batch-sentences 8 --epochs 2 '
        '--save-every 1 --valid-every 2 --log-every 1 --dropout 0.1 --average 2 --record --record-every 1')
TRAIN = f'train {TINY} --out model --progress none --quiet'
FULL, BROKEN, NO_MEMORY, INTERRUPTED = errno.ENOSPC, errno.EIO, errno.ENOMEM, errno.EINTR
# How each kind of call fails.
WAYS = {
    'allocate': [f'{NO_MEMORY}', f'{NO_MEMORY} stay'], 'open': [f'{BROKEN}', f'{errno.EMFILE} stay', f'{INTERRUPTED}'],
    'read': [f'{BROKEN}', f'{INTERRUPTED}', 'short'],
    'write': [f'{FULL}', f'{FULL} stay', f'{BROKEN}', f'{INTERRUPTED}', 'short', 'short stay'],
    'print': [f'{FULL}'], 'sync': [f'{BROKEN}', f'{FULL}', f'{INTERRUPTED}'], 'rename': [f'{BROKEN}', f'{FULL} stay'],
    'remove': [f'{BROKEN}', f'{BROKEN} stay'], 'folder': [f'{FULL}'], 'map': [f'{NO_MEMORY}', f'{NO_MEMORY} stay'],
    'status': [f'{BROKEN}'], 'lock': [f'{errno.ENOLCK}', f'{INTERRUPTED}'], 'close': [f'{BROKEN}', f'{INTERRUPTED}'],
}
WIDE = '--task copy --examples 8 --layers 1 --d-model 128 --heads 2 --d-ff 1024 --max-steps 2'
# What is done, in a folder that begins as a copy of another; whether it changes the model in it.
WORKS = {
    'train': ('empty', TRAIN, True),
    'resume': ('interrupted', 'train --resume --max-steps 0 --out model --progress none --quiet', True),
    'replace': ('other', f'{TRAIN} --overwrite', True),
    'train_wide': ('empty', f'train {WIDE} --out model --progress none --quiet', True),  # maps memory, as large tensors do
    'translate': ('trained', 'translate --model model --beam 2', False),
    'inspect': ('trained', 'inspect --model model --sentence 3 --translation 4 --attribution-steps 2 --data --out page --quiet', False),
    'report': ('trained', 'report model --out page --quiet', False),
}
STOPS = ['open', 'write', 'sync', 'rename', 'remove']  # where signals come, and other programs


def spread(most, count):
    """Numbers from 1 to count, at most `most` of them, evenly."""
    if most == 0 or count <= most:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Tester:
    def __init__(self, a, work):
        self.a, self.work = a, pathlib.Path(work)
        self.glim, self.injector = os.path.abspath(a.glim), os.path.abspath(a.injector)
        self.environment = dict(os.environ, OMP_NUM_THREADS=str(a.threads), OMP_WAIT_POLICY='passive',
                                XDG_CACHE_HOME=str(self.work / 'cache'))
        self.numbers, self.lock = 0, threading.Lock()
        self.passed = self.failed = 0
        self.points, self.outcomes = collections.Counter(), collections.Counter()
        for name in ('empty', 'interrupted', 'trained', 'other'):
            (self.work / name).mkdir()
        self.must('trained', TRAIN)
        self.must('interrupted', f'{TRAIN} --max-steps 3')
        self.must('other', f'{TRAIN} --seed 2')
        self.right = {name: self.reference(name) for name in WORKS}
        self.of_other = self.results(self.work / 'other')

    def start(self, folder, words, **environment):
        # Into files, not pipes: one that stops, or that is waited for, needs no reader.
        with open(folder / 'out', 'wb') as out, open(folder / 'err', 'wb') as err, open(self.work / 'in', 'rb') as source:
            return subprocess.Popen([self.glim, *words.split()], cwd=folder, stdin=source, stdout=out, stderr=err,
                                    env={**self.environment, **environment})

    def run(self, folder, words, **environment):
        """The status, or None for a run that hangs."""
        process = self.start(folder, words, **environment)
        try:
            return process.wait(timeout=120)
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
            lines = [(p.name, re.sub('"tokens_per_second":[^,}]*', '', p.read_text()))
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

    def counts(self, name):
        begins, words, changes = WORKS[name]
        folder = self.folder(begins)
        file = folder / 'counts'
        status = self.run(folder, words, LD_PRELOAD=self.injector, FAULT_COUNTS=str(file))
        if status != 0 or self.outcome(folder, changes) != self.right[name]:
            sys.exit(f'{name}: another result when calls are counted, status {status}')
        found = dict(line.split() for line in file.read_text().splitlines())
        shutil.rmtree(folder)
        return {k: int(n) for k, n in found.items()}

    def said(self, folder, status, allowed=()):
        """What is wrong with how a program ended that came to nothing."""
        if status is None:
            return 'hangs'
        if -status in allowed:
            return None
        lines = (folder / 'err').read_text(errors='replace').splitlines()
        if status < 0 or status > 128 and status != 130:
            return f'ended by signal {-status if status < 0 else status - 128}: {lines[-1:]}'
        # libgomp and OpenBLAS end the program themselves when they find no memory.
        if status != 130 and (len(lines) != 1 or not lines[0].startswith(('glim: error: ', 'libgomp: Out of memory'))):
            return f'not one line: {lines}'
        return None

    def continued(self, folder, name):
        """What is wrong with a folder after a run: it must go on to the right bits."""
        words = WORKS[name][1]
        resumable = (folder / 'model/last.safetensors').exists()
        more = '--max-steps 0' if name == 'resume' else ''
        again = f'train --resume {more} --out model --progress none --quiet' if resumable else words
        status = self.run(folder, again)
        if status != 0:
            return f'{"--resume" if resumable else "again"}: status {status}: {(folder / "err").read_text()}'
        got = self.results(folder)
        if got == self.right[name][0] or (name == 'replace' and got == self.of_other):
            return None
        return f'{"resumed" if resumable else "begun again"}, it ends in other bits'

    def note(self, label, problem):
        with self.lock:
            if problem:
                self.failed += 1
                print(f'FAIL {label}: {problem}', flush=True)
            else:
                self.passed += 1

    def fault(self, name, kind, n, way):
        begins, words, changes = WORKS[name]
        folder = self.folder(begins)
        status = self.run(folder, words, LD_PRELOAD=self.injector, FAULT=f'{kind} {n} {way}')
        if status == 0:
            problem = None if self.outcome(folder, changes) == self.right[name] else 'status 0, and another result'
        else:
            problem = self.said(folder, status)
        if not problem and changes:
            left = [p.name for p in folder.rglob('*.tmp.*')] if kind not in ('remove', 'allocate') else []
            problem = f'left {left}' if left else self.continued(folder, name)
        with self.lock:
            self.outcomes[name, kind, 'done' if status == 0 else 'refused'] += 1
        self.note(f'{name}, {kind} {n} {way}', problem)
        shutil.rmtree(folder)

    def stopped(self, folder, words, kind, n, act):
        """The status of a run in which act(process) is done before the n-th call."""
        process = self.start(folder, words, LD_PRELOAD=self.injector, FAULT=f'{kind} {n} stop')
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            act(process.pid)
            os.kill(process.pid, signal.SIGCONT)
            alarm = threading.Timer(120, lambda: os.kill(process.pid, signal.SIGABRT))
            alarm.start()
            _, status = os.waitpid(process.pid, 0)
            alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode

    def signalled(self, name, kind, n, which):
        begins, words, _ = WORKS[name]
        folder = self.folder(begins)
        status = self.stopped(folder, words, kind, n, lambda pid: os.kill(pid, which))
        # Before the program listens, and with SIGKILL always, the signal itself ends it.
        problem = None if status == 0 else self.said(folder, status, allowed=(which,))
        self.note(f'{name}, {which.name} before {kind} {n}', problem or self.continued(folder, name))
        shutil.rmtree(folder)

    def second_run(self, name, kind, n):
        begins, words, _ = WORKS[name]
        folder = self.folder(begins)
        (folder / 'second').mkdir()
        second = []

        def run_second(_):
            process = subprocess.run([self.glim, *words.split()], cwd=folder, capture_output=True, text=True,
                                     env=self.environment, timeout=120)
            second.append((process.returncode, process.stderr.splitlines()))

        status = self.stopped(folder, words, kind, n, run_second)
        other, lines = second[0] if second else (0, [])
        problem = None if status == 0 else self.said(folder, status)
        if not problem and other != 0 and (other < 0 or len(lines) != 1):
            problem = f'the second run: status {other}: {lines}'
        if not problem and status != 0 and other != 0:
            problem = f'neither run came to its end: {(folder / "err").read_text()} {lines}'
        self.note(f'{name}, a second run before {kind} {n}', problem or self.continued(folder, name))
        shutil.rmtree(folder)

    def changed(self, kind, n, change):
        """A model that changes while a translation reads it."""
        begins, words, _ = WORKS['translate']
        folder = self.folder(begins)
        file, other = folder / 'model/average.safetensors', self.work / 'other/model/average.safetensors'

        def act(_):
            if change == 'replaced':
                shutil.copy(other, folder / 'new')
                os.replace(folder / 'new', file)
            elif change == 'cut':
                os.truncate(file, file.stat().st_size // 2)
            elif change == 'removed':
                shutil.rmtree(folder / 'model')
            elif change == 'overwritten':
                shutil.copy(other, file)
            elif change == 'zeros':
                file.write_bytes(bytes(file.stat().st_size))

        status = self.stopped(folder, words, kind, n, act)
        if status != 0:
            problem = self.said(folder, status)
        else:
            # One model or the other; a file overwritten in place may give a part of each.
            known = [self.right['translate'], self.translation_of_other]
            problem = None if self.outcome(folder, False) in known or change in ('overwritten', 'zeros') else \
                'a translation by neither model'
        self.note(f'translate, model {change} before {kind} {n}', problem)
        shutil.rmtree(folder)

    def tasks(self):
        only, kinds = self.a.only, self.a.kinds
        for name in WORKS:
            if only and name not in only:
                continue
            counts = self.counts(name)
            if name == 'train_wide':
                counts = {'map': counts['map']}
            print(f'{name}: ' + ', '.join(f'{k} {n}' for k, n in counts.items() if n), flush=True)
            for kind, ways in WAYS.items():
                if kinds and kind not in kinds:
                    continue
                most = self.a.allocations if kind in ('allocate',) else self.a.calls
                places = spread(most, counts.get(kind, 0))
                self.points[name, kind] = len(places)
                for n in places:
                    for way in ways:
                        yield self.fault, (name, kind, n, way)
            if WORKS[name][2] and (not kinds or 'signal' in kinds):
                for kind in STOPS:
                    for n in spread(self.a.calls, counts.get(kind, 0)):
                        for which in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
                            yield self.signalled, (name, kind, n, which)
            if WORKS[name][2] and (not kinds or 'second' in kinds):
                for kind in STOPS:
                    for n in spread(self.a.calls, counts.get(kind, 0)):
                        yield self.second_run, (name, kind, n)
            if name == 'translate' and (not kinds or 'change' in kinds):
                self.run(self.work / 'other', WORKS['translate'][1])
                self.translation_of_other = self.outcome(self.work / 'other', False)
                for kind in ('open', 'read', 'status', 'close'):
                    for n in spread(self.a.calls, counts[kind]):
                        for change in ('replaced', 'cut', 'removed', 'overwritten', 'zeros'):
                            yield self.changed, (kind, n, change)

    def test(self):
        with concurrent.futures.ThreadPoolExecutor(self.a.jobs) as pool:
            for done in [pool.submit(f, *arguments) for f, arguments in self.tasks()]:
                done.result()
        by_kind = collections.Counter()
        for (_, kind), n in self.points.items():
            by_kind[kind] += n
        print('places: ' + ', '.join(f'{k} {n}' for k, n in by_kind.items()))
        ends = collections.Counter()
        for (_, _, end), n in self.outcomes.items():
            ends[end] += n
        print(f'faults: {sum(ends.values())}, of which the program refused in one line {ends["refused"]}, '
              f'did its work all the same {ends["done"]}')
        print(f'{self.passed} passed, {self.failed} failed')
        return self.failed > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('glim')
    parser.add_argument('injector')
    parser.add_argument('--allocations', type=int, default=0)
    parser.add_argument('--calls', type=int, default=0)
    parser.add_argument('--only', type=lambda text: text.split(','))
    parser.add_argument('--kinds', type=lambda text: text.split(','))
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    a = parser.parse_args([w for w in sys.argv[1:] if not w.startswith('~')])
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as work:
        return Tester(a, work).test()


if __name__ == '__main__':
    sys.exit(main())
