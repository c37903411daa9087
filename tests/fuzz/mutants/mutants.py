#!/usr/bin/env python3
"""Changes each rule and kernel, one place at a time, and runs the tests that reach the place.

    mutants.py FOLDER                 everything: build, find what reaches what, run, report
    mutants.py FOLDER STEP...         of build, reach, run, report; `list` prints the mutants, `names` measures
                                      how the gradient checker names those in rules
    --only TEXT                       mutants whose file, function, kind or text holds TEXT (again and again)
    --sample N --seed S               N of them at random; with `build` the tree has no others: it compiles faster
    --again                           runs survivors again, as after a test was added
    --seconds S                       no more than S seconds of tests a mutant; who passes these only is listed
                                      as a survivor of so many tests, for a run with --again
    --jobs N

All mutants are in one tree and one build (build.py); a run chooses one. The tests that reach a point are found
once. Then each mutant runs the tests that reach it, fast ones first, until one fails. A crash is a failure; so
is ten times the time on the CPU and 3 s more. A mutant that passes all is a survivor, unless
equivalent.txt says why it changes nothing. FOLDER holds the tree, the build and what was found; a run that was
stopped goes on.
"""
import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from glob import glob

import build as builder
import report
from equivalent import read_equivalents

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, '../../..'))
FILES = ['tensor/iterate.hpp', 'tensor/ops/*.hpp',  # first: their numbers change rarely, and many files include them
         'autograd/ops/*.cpp', 'autograd/graph.cpp', 'autograd/backward.hpp', 'autograd/accumulate.cpp', 'autograd/tape.cpp',
         'autograd/tape_pass.cpp', 'autograd/observed.cpp', 'autograd/recomputed.cpp',
         'autograd/kernels/*.[ch]pp', 'autograd/kernels/simd/[!t]*.hpp',
         'nn/attention/*.cpp', 'nn/loss.cpp',
         'tensor/iterate.cpp', 'tensor/ops/*.cpp', 'tensor/simd/functions.hpp', 'tensor/simd/dropout.hpp', 'tensor/simd/gates.hpp',
         'tensor/simd/bias.hpp', 'tensor/matmul/m*.cpp', 'tensor/fast/multiply.cpp', 'tensor/view.cpp',
         'optim/*.cpp', 'optim/kernels/adam.hpp']
PROGRAMS = {name: f'tests/{name}/test_{name}' for name in ('autograd', 'nn', 'optim', 'tensor')}
PROGRAMS['op_specs'] = 'tests/autograd/test_op_specs'
CASES = 'tests/fuzz/cases'
# The tests that `cases` runs one by one.
IN_CASES = ('every op passes its gradient checks', 'a whole small Transformer passes')


def within(tests, seconds):
    """The fastest that take so long altogether."""
    chosen, total = [], 0.0
    for t in tests:
        total += t['seconds']
        if total > seconds:
            break
        chosen.append(t)
    return chosen


def all_files():
    return list(dict.fromkeys(os.path.relpath(p, ROOT) for g in FILES for p in sorted(glob(os.path.join(ROOT, g)))))


def say(text):
    print(f'{time.strftime("%H:%M:%S")} {text}', flush=True)


class Work:
    def __init__(self, folder, jobs):
        self.folder, self.jobs = os.path.abspath(folder), jobs
        os.makedirs(self.folder, exist_ok=True)
        self.files = all_files()
        self.local = threading.local()  # a server of `cases` for each thread
        self.env = {**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}

    def path(self, name):
        return os.path.join(self.folder, name)

    def load(self, name, default):
        if not os.path.exists(self.path(name)):
            return default
        with open(self.path(name), encoding='utf-8') as file:
            return json.load(file)

    def save(self, name, value):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            json.dump(value, file)

    def program(self, name):
        return self.path(os.path.join('build', CASES if name == 'cases' else PROGRAMS[name]))

    # ---- build ----

    def build(self, choose):
        dropped = set(self.load('dropped.json', []))
        start = time.time()
        mutants = builder.compile_all(ROOT, self.folder, self.files, [CASES, *PROGRAMS.values()], choose,
                                      dropped, say)
        self.save('mutants.json', [m._asdict() for m in mutants])
        say(f'{len(mutants)} mutants in {len(self.files)} files, built in {time.time() - start:.0f} s; '
            f'{len(dropped)} do not compile')

    def mutants(self):
        return [builder.Mutant(**m) for m in self.load('mutants.json', [])]

    # ---- reach ----

    def reach(self):
        """Of each test: its time, whether it passes, and the points it passes."""
        start = time.time()
        with ThreadPoolExecutor(self.jobs) as pool:
            parts = [pool.submit(self.reach_cases, k) for k in range(self.jobs)]
            listed = [(p, name) for p in PROGRAMS for name in self.names_of(p)]
            parts += [pool.submit(self.reach_test, *t) for t in listed]
            tests = [t for part in parts for t in part.result()]
        self.save('reached.json', tests)
        failing = [t for t in tests if not t['ok']]
        say(f'{len(tests)} tests in {time.time() - start:.0f} s; {len(failing)} fail unchanged and are left out')
        for t in failing:
            say(f'  left out: {t["program"]}: {t["name"]}')

    def names_of(self, program):
        run = subprocess.run([self.program(program), '--list-test-names-only'], env=self.env, capture_output=True,
                             text=True)
        if 'nrecognised' in run.stdout + run.stderr:  # Catch2 3
            run = subprocess.run([self.program(program), '--list-tests', '--verbosity', 'quiet'], env=self.env,
                                 capture_output=True, text=True)
        return [n for n in run.stdout.split('\n') if n and not n.startswith(IN_CASES)]

    def reach_test(self, program, name):
        with tempfile.TemporaryDirectory() as scratch:
            passed = os.path.join(scratch, 'passed')
            start = time.time()
            ok = self.run_tests(program, [name], 600, scratch, {'GLIM_MUTANTS_PASSED': passed}) is None
            seconds = time.time() - start
            points = []
            if os.path.exists(passed):
                with open(passed, 'rb') as file:
                    points = [i for i, b in enumerate(file.read()) if b]
        return [{'program': program, 'name': name, 'seconds': seconds, 'ok': ok, 'points': points}]

    def reach_cases(self, part):
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, 'reached')
            subprocess.run([self.program('cases'), 'reached', out, str(part), str(self.jobs)], env=self.env, check=True,
                           stdout=subprocess.DEVNULL)
            with open(out, encoding='utf-8') as file:
                lines = [line.rstrip('\n').split('\t') for line in file]
        return [{'program': 'cases', 'name': number, 'seconds': float(seconds), 'ok': ok == 'pass',
                 'points': [int(i) for i in points.split()]} for number, seconds, ok, points in lines]

    def ask(self, mutant, limit, verb, numbers, scratch):
        """The output of `cases` for these, and the status of its process."""
        listed = os.path.join(scratch, 'numbers')
        with open(listed, 'w', encoding='utf-8') as file:
            file.write('\n'.join(numbers))
        server = getattr(self.local, 'server', None)
        if server is None:
            server = self.local.server = subprocess.Popen([self.program('cases'), 'serve'], env=self.env, text=True,
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                          stderr=subprocess.DEVNULL, errors='replace')
        server.stdin.write(f'{mutant} {limit} {verb} {listed}\n')
        server.stdin.flush()
        lines = []
        for line in server.stdout:
            if line.startswith('= '):
                return ''.join(lines), int(line[2:])
            lines.append(line)
        raise SystemExit('mutants: `cases serve` ended')

    def run_cases(self, mutant, numbers, limit, scratch):
        text, status = self.ask(mutant, limit, 'run', numbers, scratch)
        if status == 0:
            return None
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return 'cases: ' + ('takes too long' if number in (signal.SIGXCPU, signal.SIGKILL) else f'signal {number}')
        return 'cases: ' + report.first_failure('cases', text)

    def run_tests(self, program, names, limit, scratch, env=None):
        """None if all pass; else what failed, in a line or two."""
        listed = os.path.join(scratch, 'listed')
        with open(listed, 'w', encoding='utf-8') as file:
            file.write('\n'.join(n.replace('\\', '\\\\').replace(',', '\\,') for n in names) + '\n')

        def limited():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            run = subprocess.run([self.program(program), '-f', listed, '--abort'], env={**self.env, **(env or {})},
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120 + 2 * limit,
                                 cwd=scratch, preexec_fn=limited)
        except subprocess.TimeoutExpired:
            return f'{program}: waits for ever'
        text = run.stdout.decode('utf-8', 'replace')
        if 'No test cases matched' in text or 'No tests ran' in text:
            raise SystemExit(f'mutants: {program} does not know {names}:\n{text}')
        if run.returncode == 0:
            return None
        if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return f'{program}: takes too long'
        if run.returncode < 0:
            return f'{program}: signal {-run.returncode}'
        return f'{program}: ' + report.first_failure(program, text)

    # ---- run ----

    def run(self, mutants, again, seconds):
        tests = [t for t in self.load('reached.json', []) if t['ok']]
        reached = {}
        for t in sorted(tests, key=lambda t: t['seconds']):
            for p in t['points']:
                reached.setdefault(p, []).append(t)
        done = self.results()
        todo = [m for m in mutants if m.key not in done or (again and done[m.key]['killed'] is None)]
        start, last = time.time(), time.time()
        with open(self.path('results.jsonl'), 'a', encoding='utf-8') as file, ThreadPoolExecutor(self.jobs) as pool:
            for k, result in enumerate(pool.map(lambda m: self.run_one(m, within(reached.get(m.number, []), seconds)),
                                                todo)):
                file.write(json.dumps(result) + '\n')
                file.flush()
                if time.time() - last > 60:
                    last = time.time()
                    say(f'{k + 1} of {len(todo)}')
        say(f'{len(todo)} mutants run in {time.time() - start:.0f} s')

    def results(self):
        """By key; the latest counts."""
        if not os.path.exists(self.path('results.jsonl')):
            return {}
        with open(self.path('results.jsonl'), encoding='utf-8') as file:
            return {r['key']: r for r in map(json.loads, file)}

    def run_one(self, m, tests):
        start, killed, count = time.time(), None, 0
        cases = [t for t in tests if t['program'] == 'cases']
        groups = [('cases', cases[:30])]
        by_time = sorted(PROGRAMS, key=lambda p: sum(t['seconds'] for t in tests if t['program'] == p))
        groups += [(p, [t for t in tests if t['program'] == p]) for p in by_time]
        groups.append(('cases', cases[30:]))
        with tempfile.TemporaryDirectory() as scratch:
            for program, group in groups:
                if not group:
                    continue
                count += len(group)
                limit = 3 + int(10 * sum(t['seconds'] for t in group))
                listed = [t['name'] for t in group]
                if program == 'cases':
                    killed = self.run_cases(m.number, listed, limit, scratch)
                else:
                    killed = self.run_tests(program, listed, limit, scratch, {'GLIM_MUTANT': str(m.number)})
                if killed:
                    break
        return {'key': m.key, 'kind': m.kind, 'killed': killed, 'tests': count, 'seconds': round(time.time() - start, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder')
    parser.add_argument('steps', nargs='*', metavar='STEP')
    parser.add_argument('--only', action='append', default=[])
    parser.add_argument('--sample', type=int)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    o = parser.parse_args()
    work = Work(o.folder, o.jobs)
    steps = o.steps or ['build', 'reach', 'run', 'report']
    unknown = set(steps) - {'build', 'reach', 'run', 'report', 'list', 'names'}
    if unknown:
        parser.error(f'no step is called {sorted(unknown)[0]}')

    def choose(mutants):
        mutants = [m for m in mutants if all(t in f'{m.key} | {m.kind}' for t in o.only)]
        return random.Random(o.seed).sample(mutants, min(o.sample, len(mutants))) if o.sample else mutants

    if 'build' in steps:
        work.build(choose)
    if 'reach' in steps:
        work.reach()
    mutants = choose(work.mutants())
    if 'list' in steps:
        for m in mutants:
            print(f'{m.number:5} {m.file}:{m.line} {m.function}: {m.kind}: {m.before} => {m.after}')
        print(f'{len(mutants)} mutants: ' + ', '.join(f'{n} {k}' for k, n in Counter(m.kind for m in mutants).most_common()))
    if 'run' in steps:
        work.run(mutants, o.again, o.seconds)
    if 'names' in steps:
        report.names(work, mutants, work.results(), ROOT)
    if 'report' in steps:
        return report.report(mutants, work.results(), read_equivalents(os.path.join(HERE, 'equivalent.txt')))
    return 0


if __name__ == '__main__':
    sys.exit(main())
