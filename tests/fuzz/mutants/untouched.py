"""The parts of a source that stay as they are: refusals with their texts and conditions, constants, declarations without a value,
catch blocks, how work is cut for threads, and what only asks for memory ahead.
"""
import re

FUNCTIONS = re.compile(r'\b(require_\w+|check\w*|annotate|pieces_of|rows_per_piece|heads_per_piece|per_piece|'
                       r'rows_per_chunk|scratch_of|place)$')
REFUSALS = {'fail', 'refuse', 'listed', 'throw', 'fits', 'inside', 'in_range'}
DECLARATIONS = {'throw', 'static_assert', 'using', 'constexpr', 'template', 'typedef', 'struct'}


def untouched(s):
    """Of each token of a source: does it stay?"""
    stays = [not f or bool(FUNCTIONS.search(f)) for f in s.body]

    def keep(i, j):
        for k in range(i, min(j, len(s))):
            stays[k] = True

    def statement_end(i, ends=(';', '{')):
        while i < len(s) and s.token[i] not in ends:
            i = s.match[i] + 1 if s.token[i] in ('(', '[') else i + 1
        return i

    def refuses(i):
        t = s.token[i]
        return t in REFUSALS or t.startswith('refuse_') or 'add_operand' in s.token[i:i + 4]

    for i, t in enumerate(s.token):
        if s.kind[i] != 'name':
            continue
        if t in DECLARATIONS:
            end = statement_end(i)
            if t == 'constexpr' and i and s.token[i - 1] == 'if':
                end = s.match[i + 1] + 1
            elif end < len(s) and s.token[end] == '{' and t == 'constexpr':
                end = i + 1
            elif t == 'struct':
                end = i
            keep(i, end)
        elif t == 'catch':
            keep(i, s.match[s.match[i + 1] + 1] + 1)
        elif t == 'case':
            keep(i, i + 3)
        elif t == 'if' and s.token[i + 1] == '(':
            after = s.match[i + 1] + 1
            if s.token[after] == '{':
                after += 1
            if refuses(after):
                keep(i, s.match[i + 1] + 1)
            elif 'reserve' in s.token[after:after + 3]:
                keep(i, statement_end(after) + 1)
        elif t in REFUSALS and s.token[i + 1] in ('(', '='):
            end = statement_end(i)
            keep(i, end)
            if s.token[i + 1] == '=' and end < len(s) and s.token[end] == '{':  # auto fail = [&](...) { ... };
                keep(i, s.match[end] + 1)
        elif t == 'reserve':
            keep(i - 2, statement_end(i) + 1)
        elif t == 'parallel_for' and s.token[i + 1] == '(':
            for a in s.arguments(i + 1)[1:2]:
                keep(*a)
    return stays
