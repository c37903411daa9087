"""A tree of sources that has every mutant, to be chosen when the program runs, and its build.

Each point becomes a choice, `(glim_mutant(17) ? a - b : (a + b))`, so the tree is compiled once for all mutants.
A mutant that does not compile (a constant, another type) is taken out, by the line of the compiler's error.
"""
import json
import os
import re
import shutil
import subprocess
from collections import namedtuple

from mutate import mutations
from source import Source

HERE = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = {'.git', '.github'}
Mutant = namedtuple('Mutant', 'number file function line kind before after key')


def find(tree, files):
    """All mutants of these files, numbered, and what each file is rendered from."""
    mutants, parts = [], {}
    for file in files:
        with open(os.path.join(tree, file), encoding='utf-8') as text:
            source = Source(text.read())
        parts[file] = (source, [])
        seen = {}
        for m in mutations(source):
            before, function = source.words(m.first, m.last), source.body[m.first]
            after = m.text if m.text is not None else 'nothing'
            key = f'{file} | {function} | {before} => {after}'
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 1:
                key += f' #{seen[key]}'
            mutant = Mutant(len(mutants) + 1, file, function, source.line(m.first), m.kind, before, after, key)
            mutants.append(mutant)
            parts[file][1].append((mutant, m))
    return mutants, parts


def render(source, list_, left_out):
    """The text with every mutant in it but those left out, by key."""
    places = {}
    for mutant, m in list_:
        if mutant.key not in left_out:
            places.setdefault((m.first, m.last), []).append((mutant, m))
    order = sorted(places, key=lambda p: (p[0], -p[1]))

    def text(first, last, own):
        """Tokens first ... last - 1, and the white space between them, with the mutants within."""
        out, at, i = [], source.start[first], first
        while i < last:
            inner = next((p for p in order_at.get(i, []) if p[1] <= last and p != own and
                          not (own and p[0] == own[0] and p[1] >= own[1])), None)
            if inner is None:
                i += 1
                continue
            out.append(source.text[at:source.start[inner[0]]])
            out.append(point(inner))
            i = inner[1]
            at = source.end[i - 1]
        out.append(source.text[at:source.end[last - 1]])
        return ''.join(out)

    def point(place):
        first, last = place
        inner = text(first, last, place)
        expressions, statements = [], []
        original = source.words(first, last)
        for mutant, m in places[place]:
            if m.text is None:
                statements.append(mutant)
                continue
            other = f'({m.text})'
            if m.cast:
                other = f'glim_as<decltype(({original}))>{other}'
            expressions.append(f'\nglim_mutant({mutant.number}) ? {other} /*@{mutant.number}*/ :')
        if expressions:
            inner = '(' + ''.join(expressions) + '\n(' + inner + '))'
        for mutant in statements:
            inner = f'{{ if (!glim_mutant({mutant.number})) {{ /*@{mutant.number}*/\n{inner} }} }}'
        return inner

    order_at = {}
    for p in order:
        order_at.setdefault(p[0], []).append(p)
    body = source.text[:source.start[0]] + text(0, len(source), None) + source.text[source.end[-1]:]
    include = '#include "tests/fuzz/mutants/point.hpp"\n'
    if '#pragma once' in body:
        return body.replace('#pragma once\n', '#pragma once\n' + include, 1)
    return include + body


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path, encoding='utf-8') as old:
            if old.read() == text:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as new:
        new.write(text)


def copy_tree(root, tree):
    """The files that the build reads, but for those mutated before and not changed since."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in LEFT_OUT and not f.startswith('build') and
                      not os.path.exists(os.path.join(folder, f, 'build.ninja'))]
        for name in files:
            source = os.path.join(folder, name)
            target = os.path.join(tree, os.path.relpath(source, root))
            if not os.path.exists(target) or os.path.getmtime(source) != os.path.getmtime(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                if os.path.relpath(source, root) not in MUTATED:
                    shutil.copy2(source, target)


MUTATED = {'tensor/fast/isa.cpp'}  # written here, not copied


def make(root, folder, files, choose, dropped):
    """Writes the tree with the chosen mutants; returns them."""
    tree = os.path.join(folder, 'source')
    MUTATED.update(files)
    copy_tree(root, tree)
    mutants, parts = find(root, files)
    chosen = choose(mutants)
    left_out = dropped | {m.key for m in mutants} - {m.key for m in chosen}
    for file in files:
        source, list_ = parts[file]
        write_if_changed(os.path.join(tree, file), render(source, list_, left_out))
    with open(os.path.join(root, 'tensor/fast/isa.cpp'), encoding='utf-8') as text:
        definitions = f'''
extern "C" {{
int glim_mutants_number = {len(mutants) + 1};
unsigned char glim_mutants_passed[{len(mutants) + 1}];
static int glim_mutant_asked() {{
  const char* number = std::getenv("GLIM_MUTANT");
  return number ? std::atoi(number) : 0;
}}
int glim_mutant_chosen = glim_mutant_asked();
// A program that ends leaves the points it passed in the file GLIM_MUTANTS_PASSED.
__attribute__((destructor)) static void glim_mutants_write() {{
  const char* path = std::getenv("GLIM_MUTANTS_PASSED");
  FILE* file = path ? std::fopen(path, "wb") : nullptr;
  if (!file) return;
  std::fwrite(glim_mutants_passed, 1, sizeof glim_mutants_passed, file);
  std::fclose(file);
}}
}}
'''
        write_if_changed(os.path.join(tree, 'tensor/fast/isa.cpp'), '#include <cstdio>\n' + text.read() + definitions)
    return chosen


def configure(folder):
    build = os.path.join(folder, 'build')
    if os.path.exists(os.path.join(build, 'build.ninja')):
        return
    subprocess.run(['meson', 'setup', build, os.path.join(folder, 'source'), '-Dbuildtype=plain', '-Doptimization=1',
                    '-Db_ndebug=true', '-Dwerror=false', '-Dwarning_level=0', '-Dtools=disabled', '-Dtests=enabled',
                    '-Dcpp_args=-w -Werror=vla -Werror=return-local-addr -fno-diagnostics-show-caret', '-Dunity_size=4'], check=True, stdout=subprocess.DEVNULL)


ERROR = re.compile(r'^(\S+?):(\d+):\d+: (?:fatal )?error: ')


def at_errors(output, path_of):
    """The numbers of the mutants at the compiler's errors, and the errors at which there is none."""
    numbers, lost = set(), []
    for line in output.split('\n'):
        m = ERROR.match(line)
        if m:
            number = at_line(path_of(m.group(1)), int(m.group(2)))
            numbers.add(number) if number else lost.append(line)
    return numbers, lost


def compile_all(root, folder, files, programs, choose, dropped, say):
    """Builds until everything compiles; mutants that do not are added to `dropped`."""
    tree = os.path.join(folder, 'source')
    while True:
        mutants = make(root, folder, files, choose, dropped)
        configure(folder)
        by_number = {str(m.number): m for m in mutants}
        run = subprocess.run(['ninja', '-k', '0', '-C', os.path.join(folder, 'build'), *programs],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode == 0:
            return [m for m in mutants if m.key not in dropped]
        numbers, lost = at_errors(run.stdout, lambda name: os.path.join(tree, os.path.relpath(
            os.path.join(folder, 'build', name), tree)))
        taken = {by_number[n].key for n in numbers if n in by_number}
        new = taken - dropped
        if not new:
            with open(os.path.join(folder, 'errors'), 'w', encoding='utf-8') as file:
                file.write(run.stdout)
            raise SystemExit('mutants: the tree does not compile, and no mutant is at the errors:\n' +
                             '\n'.join(lost[:5] or run.stdout.split('\n')[-8:]))
        dropped |= new
        with open(os.path.join(folder, 'dropped.json'), 'w', encoding='utf-8') as file:
            json.dump(sorted(dropped), file, indent=0)
        say(f'{len(new)} do not compile and are taken out')


def at_line(path, line):
    """The number of the mutant at this line, or of the one that begins after it, or of the nearest before."""
    try:
        with open(path, encoding='utf-8') as file:
            lines = file.read().split('\n')
    except OSError:
        return None
    for k in [line - 1, line, *range(line - 2, max(-1, line - 6), -1)]:
        if k < len(lines):
            marks = re.findall(r'/\*@(\d+)\*/', lines[k])
            if marks:
                return marks[-1]
    return None
