#!/usr/bin/env python3
"""check.py [COMPILER...]: the tool finds what it must in example.cpp; equivalent.txt names mutants that exist.

A build of all mutants takes minutes, so this is what the suite runs; mutants.py is the long run.
"""
import os
import subprocess
import sys
import tempfile

import build
from equivalent import read_equivalents
from mutants import HERE, ROOT, all_files

NAME = 'tests/fuzz/mutants/example.hpp'
SURVIVE = {'sign | x < 0 => x <= 0'}
failures = []
passed = 0


def check(right, what):
    global passed
    passed += bool(right)
    if not right:
        failures.append(what)


def outcomes(compiler, folder):
    """Of each mutant of the example: whether its own test passes."""
    mutants, parts = build.find(ROOT, [NAME])
    source, list_ = parts[NAME]
    path = os.path.join(folder, NAME)
    os.makedirs(os.path.dirname(path))
    main = os.path.join(folder, 'main.cpp')
    definitions = f'#include "tests/fuzz/mutants/example.cpp"\n#include <cstdlib>\nint glim_mutant_chosen = std::atoi(std::getenv("GLIM_MUTANT"));\n' \
                  f'unsigned char glim_mutants_passed[{len(mutants) + 1}];\n'
    with open(main, 'w', encoding='utf-8') as file:
        file.write(definitions)
    dropped = set()
    while True:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(build.render(source, list_, dropped))
        run = subprocess.run([*compiler, '-std=c++20', '-w', '-I', folder, '-I', ROOT, main, '-o',
                              os.path.join(folder, 'example')], stderr=subprocess.PIPE, text=True)
        if run.returncode == 0:
            break
        numbers, lost = build.at_errors(run.stderr, lambda name: name)
        new = {m.key for m in mutants if str(m.number) in numbers} - dropped
        if not new:
            raise SystemExit('the example does not compile:\n' + run.stderr)
        dropped |= new
    mutants = [m for m in mutants if m.key not in dropped]

    def passes(number):
        return subprocess.run([os.path.join(folder, 'example')], stdout=subprocess.DEVNULL, timeout=600,
                              env={**os.environ, 'GLIM_MUTANT': str(number)}).returncode == 0

    check(passes(0), 'the example passes its test unchanged')
    return mutants, {m.key.split(' | ', 1)[1] for m in mutants if passes(m.number)}


# Tags for Catch2 come with every test of the sanitizers' run.
compiler = [word for word in sys.argv[1:] if not word.startswith('~')] or ['g++']
with tempfile.TemporaryDirectory() as scratch:
    mutants, survive = outcomes(compiler, scratch)
kinds = {m.kind for m in mutants}
check(len(mutants) >= 30, f'only {len(mutants)} mutants in the example')
for kind in ('sign', 'factor', 'term dropped', '= for +=', 'index by one', 'comparison', 'condition', 'left out',
             'operands swapped', 'sign of all', 'number'):
    check(kind in kinds, f'no mutant of the kind {kind}')
for m in mutants:
    key = m.key.split(' | ', 1)[1]
    check((key in survive) == (key in SURVIVE), f'{key} ' + ('survives' if key in survive else 'is killed'))

existing = {m.key for m in build.find(ROOT, all_files())[0]}
check(len(existing) >= 2000, f'only {len(existing)} mutants')
for key in read_equivalents(os.path.join(HERE, 'equivalent.txt')):
    check(key in existing, f'equivalent.txt names no mutant of today: {key}')
for failure in failures:
    print(failure)
print(f'{passed} passed, {len(failures)} failed')
sys.exit(bool(failures))
