#!/usr/bin/env python3
"""crashes.py GLIM RECORDER [--states N] [--kind NAME] [--seed S] [--jobs J] [--forget file|folder] [--keep FOLDER]

Every state of the folder that a power cut during a training run may leave behind is built, and continued by
`glim train --resume`. The run is recorded (recorder.cpp), and its operations are played through the model of
a file system (disk.py). A state is right if

  - the resumed run ends in the bits of the run that was left alone, weights, optimizer and state, or
  - `--resume` says in one line what is missing, no checkpoint had been synced when the cut came, and the
    run's own command, given again, ends in those bits.

The program is deterministic, so a state goes the way of one that was tried if it has the same names, the same bytes
in each file that the try looked at, and the same checkpoints. The try itself is recorded to know these files. Most
states differ in temporary files alone, which a run removes unread.

A run that replaces another model may also leave the folder as if it had not begun: then it is the other
model's bits that must be there. (Its best.safetensors may be the new run's already.)

--kind checks one run. --states N checks a sample of N states of each run, as many of each way in which they come
about; without it all are checked. --forget plays the record on a disk that ignores the syncs of files, or of folders:
a test of this test, which must find lost models.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from disk import Disk, read_record

TINY = ('--layers 1 --d-model 8 --heads 2 --d-ff 8 --batch-sentences 8 --max-steps 6 --epochs 3 --save-every 1 '
        '--valid-every 2 --log-every 1 --dropout 0.1')
COPY = f'--task copy --examples 24 --average 2 {TINY}'
TEXT = f'--kind gpt --text ../../text --block 8 {TINY} --batch-sentences 16'
# The runs in the folder before, and the run that is recorded in it.
RUNS = {
    'new': ([], COPY),
    'long': ([], f'{COPY} --max-steps 0 --epochs 9 --save-every 2'),
    'resumed': ([f'{COPY} --max-steps 3'], '--resume --max-steps 6'),
    'recorded': ([], f'{COPY} --record --record-every 1'),
    'language': ([], f'{TEXT} --record --record-every 2'),
    'recurrent': ([], f'--kind rnn --d-embed 8 {COPY} --optimizer sgd --precision float64'.replace('--heads 2 --d-ff 8 ', '')),
    'replacing': ([f'{COPY} --seed 2'], f'{COPY} --overwrite'),
    'replacing_unfinished': ([f'{COPY} --max-steps 5 --seed 2'], f'{COPY} --record --record-every 1 --overwrite'),
}
LAST = 'model/last.safetensors'
RESULTS = LAST, 'model/best.safetensors', 'model/average.safetensors'


def options_of(text):
    """The last of an option's values, as a list of words."""
    words, chosen = text.split(), {}
    for i, word in enumerate(words):
        if word.startswith('--'):
            alone = i + 1 == len(words) or words[i + 1].startswith('--')
            chosen.pop(word, None)
            chosen[word] = [] if alone else [words[i + 1]]
    return [w for name, values in chosen.items() for w in [name, *values]]


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob('*')) if p.is_file()}


def state_key(files, folders):
    return tuple((n, hash(d)) for n, d in sorted(files.items())), tuple(sorted(folders))


def write_files(files, folders, to):
    to.mkdir(parents=True)
    for name in folders:
        (to / name).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (to / name).write_bytes(data)


class Program:
    def __init__(self, glim, work):
        self.glim, self.work = glim, work
        self.environment = dict(os.environ, OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive')
        (work / 'text').write_text('the quick brown fox jumps over the lazy dog\n' * 12)

    def train(self, folder, options, **more):
        command = [self.glim, 'train', *options, '--out', 'model', '--progress', 'none', '--quiet']
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900,
                              env={**self.environment, **more})


def results(files):
    """The result that a run must give to the bit."""
    return {n: hashlib.sha256(d).hexdigest() for n, d in files.items()
            if n in RESULTS}


def looked_at(log):
    """The files whose bytes, size or times a recorded program asked for."""
    paths, seen = {}, set()
    for call, fd, _, path, _ in read_record(log):
        if call == 'open':
            paths[fd] = path
        elif call == 'look':
            seen.add(paths[fd] if fd >= 0 else path)
    return seen


class Run:
    def __init__(self, name, program, recorder, forget):
        before, text = RUNS[name]
        self.name, self.program, self.options, self.recorder = name, program, options_of(text), recorder
        self.tried = collections.defaultdict(list)  # by names: (bytes of what was looked at, problem)
        self.replaces = '--overwrite' in self.options
        home = program.work / name
        start = home / 'start'
        start.mkdir(parents=True)
        for earlier in before:
            self.done(program.train(start, options_of(earlier)))
        self.start_files = files_of(start)
        # The run alone, and what the model that it replaces comes to.
        shutil.copytree(start, home / 'alone')
        self.done(program.train(home / 'alone', self.options))
        self.wanted = [results(files_of(home / 'alone'))]
        if self.replaces:
            shutil.copytree(start, home / 'other')
            self.done(program.train(home / 'other', ['--resume']))
            self.wanted.append(results(files_of(home / 'other')))
        # The recorded run.
        shutil.copytree(start, home / 'recorded')
        log = home / 'log'
        self.done(program.train(home / 'recorded', self.options, **self.recording(home / 'recorded', log)))
        real = files_of(home / 'recorded')
        if results(real) != self.wanted[0]:
            sys.exit(f'{name}: the recorded run ends in other bits than the run alone')
        self.operations = read_record(log)
        self.forget = forget
        played = Disk(self.start_files, self.operations).final()
        if played != real:
            names = [n for n in sorted(played.keys() | real.keys()) if played.get(n) != real.get(n)]
            sys.exit(f'{name}: the record does not give what the run left: {", ".join(names)}')

    def recording(self, folder, log):
        return {'LD_PRELOAD': self.recorder, 'RECORD_LOG': str(log), 'RECORD_ROOT': str(folder)}

    def done(self, process):
        if process.returncode != 0:
            sys.exit(f'{self.name}: {process.args}: {process.stderr}')

    def states(self, sample, seed):
        """Different states, `sample` of them or all: (number, files, folders, whether a checkpoint was safe, how)."""
        disk = Disk(self.start_files, self.operations, self.forget)
        safe, way = {}, {}
        for files, folders, was_safe, how in disk.states(LAST):
            key = state_key(files, folders)
            if key not in safe or was_safe and not safe[key]:
                safe[key], way[key] = was_safe, re.sub(r'.*, |\d+', '', how)
        self.total = len(safe)
        chosen = set(range(self.total))
        if 0 < sample < self.total:  # as many of each way in which they come about
            ways = collections.defaultdict(list)
            for i, key in enumerate(safe):
                ways[way[key]].append(i)
            for numbers in ways.values():
                random.Random(seed).shuffle(numbers)
            turns = itertools.chain.from_iterable(itertools.zip_longest(*ways.values()))
            chosen = set(itertools.islice((i for i in turns if i is not None), sample))
        seen = set()
        for files, folders, _, how in disk.states(LAST):
            key = state_key(files, folders)
            if key not in seen and len(seen) in chosen:
                yield len(seen), files, folders, safe[key], how
            seen.add(key)

    def check(self, state, folder):
        """The fault of a state, and whether it had to be tried."""
        _, files, folders, safe, _ = state
        tried = self.tried[safe, frozenset(files), frozenset(folders)]
        for seen, problem in tried:
            if all(files[n] == data for n, data in seen.items()):
                return problem, False
        log = folder.with_suffix('.log')
        problem = self.problem(state, folder, self.recording(folder, log))
        seen = (looked_at(log) | set(RESULTS)) & files.keys()
        tried.append(({n: files[n] for n in seen}, problem))
        shutil.rmtree(folder)
        log.unlink()
        return problem, True

    def problem(self, state, folder, recording):
        _, files, folders, safe, _ = state
        write_files(files, folders, folder)
        process = self.program.train(folder, ['--resume', *self.changes()], **recording)
        if process.returncode != 0:
            lines = process.stderr.splitlines()
            if process.returncode < 0 or len(lines) != 1 or not lines[0].startswith('glim: error: '):
                return f'status {process.returncode}, not one line: {process.stderr}'
            if safe:
                return f'a checkpoint that was safe is lost: {lines[0]}'
            if LAST in files:
                return f'a checkpoint is there and not whole: {lines[0]}'
            process = self.program.train(folder, self.options, **recording)
            if process.returncode != 0:
                return f'started again: {process.stderr}'
        got = results(files_of(folder))
        new, *others = self.wanted
        if got == new:
            return None
        for other in others:  # the new run's best may have come, and its last not yet
            if got[LAST] == other[LAST] and all(got.get(n) in (other[n], new[n]) for n in other):
                return None
        differ = [n for n in self.wanted[0] if got.get(n) != self.wanted[0][n]]
        return f'other bits in {", ".join(differ)}'

    def changes(self):
        return [w for w in self.options if w not in ('--resume', '--overwrite')] if '--resume' in self.options else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('glim')
    parser.add_argument('recorder')
    parser.add_argument('--states', type=int, default=0)
    parser.add_argument('--kind', choices=RUNS)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--forget', choices=['file', 'folder'], default='')
    parser.add_argument('--keep', help='folder for the states that are wrong')
    a = parser.parse_args([w for w in sys.argv[1:] if not w.startswith('~')])
    glim, recorder = os.path.abspath(a.glim), os.path.abspath(a.recorder)
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as work:
        program = Program(glim, pathlib.Path(work))
        for name in [a.kind] if a.kind else RUNS:
            run = Run(name, program, recorder, a.forget)
            complaints = collections.Counter()
            checked = tries = 0

            def check(state):
                problem, tried = run.check(state, pathlib.Path(work) / name / f'state{state[0]}')
                if problem and a.keep:
                    write_files(state[1], state[2], pathlib.Path(a.keep) / f'{name}-{state[0]}')
                return state, problem, tried

            states = run.states(a.states, a.seed)
            with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
                while some := list(itertools.islice(states, 64 * a.jobs)):
                    for state, problem, tried in pool.map(check, some):
                        checked, tries = checked + 1, tries + tried
                        if not problem:
                            continue
                        complaints[problem] += 1
                        if complaints[problem] <= 3 and not a.forget:
                            print(f'FAIL {name}, state {state[0]} ({state[4]}): {problem}', flush=True)
            wrong = sum(complaints.values())
            passed, failed = passed + checked - wrong, failed + wrong
            print(f'{name}: {len(run.operations)} operations, {run.total} states, {checked} checked in {tries} tries, '
                  f'{wrong} wrong',
                  flush=True)
            shutil.rmtree(pathlib.Path(work) / name)
    if a.forget:  # the test of the test
        print(f'syncs of each {a.forget} do not count: {failed} states found wrong')
        passed, failed = int(failed > 0), int(failed == 0)
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
