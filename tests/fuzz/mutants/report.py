"""The fates of the mutants, in a table; and how the gradient checker names those in rules."""
import os
import re
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor


def first_failure(program, text):
    lines = [line.strip() for line in text.split('\n')]
    if program == 'cases':
        name = next((line for line in lines if line.startswith(('looks like', 'may be'))), '')
        return lines[0] + (' | ' + name if name else '')
    at = next((k for k, line in enumerate(lines) if 'FAILED' in line or 'due to' in line), None)
    title = re.search(r'-{20,}\n(.+)\n(?:.*\n)?-{20,}', text)
    return (title.group(1).strip() if title else '?') + (' | ' + lines[at] if at is not None else '')


def report(mutants, results, equivalents):
    """Prints the table and the survivors; 0 if there are none."""
    made = [m for m in mutants if m.key in results]
    survivors = [m for m in made if not results[m.key]['killed']]
    equivalent = [m for m in survivors if m.key in equivalents]
    left = [m for m in survivors if m.key not in equivalents]
    killed = len(made) - len(survivors)
    for title, of in (('folder', lambda m: os.path.dirname(m.file)), ('kind', lambda m: m.kind)):
        print(f'{title:28}{"made":>7}{"killed":>8}{"equivalent":>12}{"survive":>9}')
        groups = Counter(of(m) for m in made)
        for g in sorted(groups):
            e, s = (sum(of(m) == g for m in list_) for list_ in (equivalent, left))
            print(f'{g:28}{groups[g]:7}{groups[g] - e - s:8}{e:12}{s:9}')
        print()
    for m in left:
        tests = results[m.key]['tests']
        print(f'{m.file}:{m.line}: {m.kind}, {tests} tests reach it\n  {m.key}')
    killed_again = [k for k in equivalents if k in results and results[k]['killed']]
    known = {m.key for m in mutants}
    for k in killed_again:
        print(f'equivalent.txt is wrong, a test fails: {k}\n  {results[k]["killed"]}')
    for k in equivalents:
        if len(mutants) == len(results) and k not in known:
            print(f'equivalent.txt names no mutant: {k}')
    seconds = sum(results[m.key]['seconds'] for m in made)
    rate = 100 * killed / max(1, len(made) - len(equivalent))
    print(f'{len(made)} mutants run in {seconds:.0f} s of one core: {killed} killed, {len(equivalent)} equivalent, '
          f'{len(left)} survive; {rate:.2f} % of those that change something are killed')
    return 1 if left or killed_again else 0


RULE_FILES = re.compile(r'^autograd/(ops|kernels)/')
GRADIENT = re.compile(r'::(d\w+|gradient|fast_gradient|kernel)$|_gradients?$|_grad$|^share$|^shared$')
KERNEL_OP = {'gru': 'gru_cell', 'lstm': 'lstm_cell', 'softmax': 'softmax', 'relu': 'relu',
             'additive_scores': 'additive_scores', 'attention': 'scaled_dot_product_attention'}


def ops_of(root, m):
    """The ops whose gradient this mutant changes, by the name of its struct or kernel."""
    if m.file.startswith('autograd/ops/'):
        with open(os.path.join(root, m.file), encoding='utf-8') as file:
            op_of = dict(re.findall(r'struct (\w+) final.*?formula\{\s*"(\w+)"', file.read(), re.S))
        struct = m.function.split('::')[0]
        return {op_of[struct]} if struct in op_of else set(op_of.values())
    name = re.sub(r'_grad$', '', m.function)
    return {KERNEL_OP.get(name, name)}


def names(work, mutants, results, root):
    """The checker's name for each gradient that is wrong, in full checks of its op in float64: names.tsv."""
    listed = subprocess.run([work.program('cases'), 'list'], env=work.env, capture_output=True, text=True, check=True)
    op_of, seen = {}, set()
    for line in listed.stdout.split('\n'):
        number, _, name = line.partition('\t')
        family, op, *rest = name.split(', ') + ['', '']
        if name.endswith(', contiguous') and name not in seen:  # the second is in float32
            seen.add(name)
            op_of[number] = op
    reached = {}
    for t in work.load('reached.json', []):
        if t['ok'] and t['program'] == 'cases' and t['name'] in op_of:
            for p in t['points']:
                reached.setdefault(p, []).append(t['name'])
    chosen = [m for m in mutants if RULE_FILES.match(m.file) and GRADIENT.search(m.function) and
              results.get(m.key, {}).get('killed')]

    def of_one(m):
        ops = ops_of(root, m)
        numbers = [n for n in reached.get(m.number, []) if op_of[n] in ops]
        if not numbers:
            return []
        with tempfile.TemporaryDirectory() as scratch:
            text, _ = work.ask(m.number, 120, 'names', numbers, scratch)
        return [line.split('\t') for line in text.split('\n') if line.count('\t') == 4]

    with ThreadPoolExecutor(work.jobs) as pool, open(work.path('names.tsv'), 'w', encoding='utf-8') as out:
        for m, lines in zip(chosen, pool.map(of_one, chosen)):
            # The input of which most derivatives speak: one name a mutant.
            lines = [line for line in lines if line[4] != 'ERROR']
            if not lines:
                continue
            best = max(lines, key=lambda line: (bool(line[4]), int(line[3])))
            out.write('\t'.join([m.key, m.kind, best[1], best[2], best[3], best[4]]) + '\n')
