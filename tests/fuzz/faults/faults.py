#!/usr/bin/env python3
"""faults.py GLIM INJECTOR [--allocations N] [--calls N] [--only WORK,...] [--kinds KIND,...] [--jobs J]

Lets every call of the system fail once: the n-th allocation, open, read, write, sync, rename, ... of a small
training run, a resumed one, one that replaces a model, a translation, an inspection and a report, for each n
(injector.cpp). Each time the program must

  - end with a status of its own and one line, or do its work all the same, with the right result,
  - leave a folder from which `--resume`, or if it has no checkpoint the same command, ends in the right bits, and
    which then holds no temporary file.

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
import os
import shutil
import signal
import socket
import sys
import tempfile

sys.dont_write_bytecode = True
from stops import STOPS, Stops
from works import WORKS

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


def spread(most, count):
    """Numbers from 1 to count, at most `most` of them, evenly."""
    if most == 0 or count <= most:
        return list(range(1, count + 1))
    return sorted({1 + i * (count - 1) // max(1, most - 1) for i in range(most)})


class Tester(Stops):
    def __init__(self, a, work):
        super().__init__(a, work)
        self.points, self.outcomes = collections.Counter(), collections.Counter()

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

    def faults(self, name, kind, way, every):
        """Of the first call, and each `every`-th from there, a copy of the program in which it fails."""
        begins, words, changes = WORKS[name]
        folder = self.folder(begins)
        copy = folder.with_name(f'{folder.name}.copy')
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = self.start(folder, words, sockets=[theirs.fileno()], LD_PRELOAD=self.injector,
                             FAULT=f'{kind} 0 {way}', FAULT_EACH=f'{every} {theirs.fileno()} {copy}')
        theirs.close()
        ours.settimeout(600)
        n = 0
        try:
            while message := ours.recv(64):
                n, status = map(int, message.split())
                self.judge(name, kind, n, way, copy, status)
                shutil.rmtree(copy)
                ours.send(b'.')
        except TimeoutError:
            self.note(f'{name}, {kind}, {way}, after {n}', 'hangs')
            os.killpg(process.pid, signal.SIGKILL)
        # In the program itself nothing has failed.
        whole = process.wait() == 0 and self.outcome(folder, changes) == self.right[name]
        self.note(f'{name}, {kind}, {way}', None if whole else 'the program whose copies failed came to another result')
        shutil.rmtree(folder)

    def judge(self, name, kind, n, way, folder, status):
        changes = WORKS[name][2]
        if status == 0:
            problem = None if self.outcome(folder, changes) == self.right[name] else 'status 0, and another result'
        else:
            problem = self.said(folder, status)
        if not problem and changes:
            problem = self.left(folder) if kind not in ('remove', 'allocate') else None
            problem = problem or self.continued_once(folder, name)
        with self.lock:
            self.outcomes[name, kind, 'done' if status == 0 else 'refused'] += 1
        self.note(f'{name}, {kind} {n} {way}', problem)

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
                most = self.a.allocations if kind == 'allocate' else self.a.calls
                count = counts.get(kind, 0)
                every = max(1, -(-count // most)) if most else 1
                self.points[name, kind] = -(-count // every)
                if count:
                    for way in ways:
                        yield self.faults, (name, kind, way, every)
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
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    a = parser.parse_args([w for w in sys.argv[1:] if not w.startswith('~')])
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as work:
        return Tester(a, work).test()


if __name__ == '__main__':
    sys.exit(main())
