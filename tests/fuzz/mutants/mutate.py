"""Mistakes that a source may have: each way to change one expression or statement of its functions.

A mutant is one plausible slip: another sign or factor, operands swapped, a term or a sum forgotten, a transpose
too many or too few, another axis, an index by one, a mask ignored, a comparison exchanged, = for +=, a statement
left out. Messages, checks of arguments and how work is cut for threads are left alone.
"""
import re
from collections import namedtuple

from source import ASSIGNMENTS, PRECEDENCE
from untouched import untouched

# Tokens first ... last - 1 become `text`; a statement is dropped. `cast`: the text may have another type.
Mutation = namedtuple('Mutation', 'first last kind text cast')

OPERATORS = {  # another operator in its place
    '+': [('sign', '-')], '-': [('sign', '+')], '/': [('operator', '*')],
    '<': [('comparison', '<='), ('comparison', '>')], '>': [('comparison', '>='), ('comparison', '<')],
    '<=': [('comparison', '<')], '>=': [('comparison', '>')],
    '==': [('comparison', '!=')], '!=': [('comparison', '==')], '&&': [('logic', '||')], '||': [('logic', '&&')],
    '&': [('logic', '|')], '|': [('logic', '&')], '<<': [('operator', '>>')], '>>': [('operator', '<<')]}
ASSIGNED = {'+=': [('= for +=', '='), ('sign', '-=')], '-=': [('= for +=', '='), ('sign', '+=')],
            '*=': [('factor', '='), ('operator', '/=')], '/=': [('factor', '='), ('operator', '*=')]}
RENAMED = {  # another function in its place
    'sum': [('factor', 'mean')], 'mean': [('factor', 'sum')], 'max': [('comparison', 'min')],
    'min': [('comparison', 'max')], 'maximum': [('comparison', 'minimum')],
    'minimum': [('comparison', 'maximum')], 'greater': [('comparison', 'less'), ('comparison', 'greater_equal')],
    'less': [('comparison', 'greater'), ('comparison', 'less_equal')], 'tril': [('operand', 'triu')],
    'triu': [('operand', 'tril')], 'sin': [('operand', 'cos')], 'cos': [('operand', 'sin')],
    'logical_or': [('logic', 'logical_and')], 'logical_and': [('logic', 'logical_or')],
    'equal': [('comparison', 'not_equal')], 'wrap_add': [('sign', 'wrap_sub')], 'wrap_sub': [('sign', 'wrap_add')],
    'argmax': [('comparison', 'argmin')], 'argmin': [('comparison', 'argmax')]}
FORGOTTEN = {  # f(x, ...) becomes x
    'transpose': 'transpose', 'sum': 'sum forgotten', 'sum_to': 'sum forgotten', 'row_mean': 'sum forgotten',
    'mean': 'sum forgotten', 'cumsum': 'sum forgotten', 'dropout': 'mask ignored', 'dropped': 'mask ignored',
    'tril': 'mask ignored', 'triu': 'mask ignored', 'sqrt': 'function', 'exp': 'function', 'tanh': 'function',
    'sigmoid': 'function', 'abs': 'function', 'sign': 'function', 'erf': 'function', 'magnitude': 'function',
    'log': 'function'}
SWAPPED = {'matmul', 'div', 'sub', 'greater', 'less', 'wrap_sub'}
MASK = re.compile(r'\b(mask|keep|kept|bias|pad|live|dropped|drop|scale|gamma|beta)\b')
RULE = re.compile(r'::(d\w+|gradient|fast_gradient)$|^softmax_gradient$|^shared$|^share$|_gradients$')


def mutations(source):
    found = Finder(source)
    for i in range(len(source)):
        if not found.stays[i] and not found.in_template[i]:
            found.at(i)
    return found.disjoint()


class Finder:
    def __init__(self, source):
        self.s = source
        self.list = []
        self.stays = untouched(source)
        self.pointers = set(re.findall(r'(?:\w\* (?:const )?|[ (]\*)(\w+)\b', source.text))
        self.in_template = [False] * len(source)
        for i, close in source.template.items():
            for k in range(i, close):
                self.in_template[k] = True

    def add(self, first, last, kind, text, cast=True):
        s = self.s
        if first >= last or s.crosses_directive(first, last) or any(self.stays[first:last]) or \
                text == s.words(first, last):
            return
        self.list.append(Mutation(first, last, kind, text, cast))

    def disjoint(self):
        """Nested or apart, and none twice."""
        kept, seen = [], set()
        for m in sorted(self.list, key=lambda m: (m.first, -m.last)):
            if any(k.first < m.first < k.last < m.last for k in kept[-60:]):
                continue
            if (m.first, m.last, m.text) not in seen:
                seen.add((m.first, m.last, m.text))
                kept.append(m)
        return kept

    # ---- a token and its neighbours ----

    def at(self, i):
        s = self.s
        t, kind = s.token[i], s.kind[i]
        if kind == 'sign':
            if s.is_binary(i):
                self.binary(i, t)
            elif t in ('-', '!') and not s.gap(i + 1):
                self.unary(i, t)
            elif t == '[':
                self.subscript(i)
            elif t == '{' and s.kind[i + 1] == 'name' and s.token[i + 2] == ',' and RULE.search(s.body[i]):
                self.entry(i)
        elif kind == 'number':
            self.number(i, t)
        elif kind == 'name':
            if t in ('true', 'false'):
                self.add(i, i + 1, 'flag', 'false' if t == 'true' else 'true', False)
            elif t == 'if' and s.token[i + 1] == '(':
                self.condition(i)
            elif t == 'return' and RULE.search(s.body[i]) and s.token[i + 1] not in (';', '{', '['):
                end = s.right(i, -1)
                self.add(i + 1, end, 'sign of all', f'-1 * ({s.words(i + 1, end)})')
                self.add(i + 1, end, 'factor of all', f'2 * ({s.words(i + 1, end)})')
            elif t in ('continue', 'break') and s.token[i + 1] == ';':
                self.add(i, i + 2, 'left out', None)
            else:
                self.call(i, t)
        self.statement(i)

    def binary(self, i, t):
        s = self.s
        if t in ASSIGNED:
            if self.in_loop_head(i):  # it would not end
                return
            a, b = s.left(i, -1), s.right(i, -1)
            for kind, other in ASSIGNED[t]:
                self.add(a, b, kind, f'{s.words(a, i)} {other} {s.words(i + 1, b)}', False)
            return
        if t == '?':
            return self.choice(i)
        if t not in PRECEDENCE or t == ':' or s.token[i - 1] == 'operator':
            return
        a, b = s.left(i, PRECEDENCE[t]), s.right(i, PRECEDENCE[t])
        left, right = s.words(a, i), s.words(i + 1, b)
        if not left or not right or 'string' in s.kind[a:b] or 'to_string' in s.token[a:b]:
            return
        for kind, other in OPERATORS.get(t, []):
            if other in '<>' and self.in_loop_head(i):  # no round: as when its body is left out
                continue
            r = f'({right})' if other in '-/' and re.search(r' [-+*/] ', right) else right
            l = f'({left})' if other in '*/' and re.search(r' [-+] ', left) else left
            self.add(a, b, kind, f'{l} {other} {r}', False)
        if t in '+-':
            self.add(a, b, 'term dropped', left)
            if t == '-':
                self.add(a, b, 'operands swapped', f'{right} - ({left})', False)
            elif t == '+' and not self.is_pointer(left):  # its offset alone is none
                self.add(a, b, 'term dropped', right)
        elif t in '*/%':
            self.add(a, b, 'factor', left)
            if t == '*':
                self.add(a, b, 'factor', right)

    def is_pointer(self, words):
        first = re.split(r' [-+] ', words)[0]
        return '.data<' in first or first in self.pointers or re.search(r'\.(x|keep|query)$', first)

    def in_loop_head(self, i):
        s = self.s
        while i > 0 and s.token[i - 1] not in ('(', '{', '}'):
            i -= 1
            if s.token[i] in (')', ']'):
                i = s.match[i]
        return i > 1 and s.token[i - 1] == '(' and s.token[i - 2] == 'for'

    def choice(self, i):
        s = self.s
        a, colon, depth = s.left(i, 0.5), i + 1, 0
        while colon < len(s):
            t = s.token[colon]
            if t in '([{' and s.kind[colon] == 'sign':
                colon = s.match[colon]
            elif t == '?' and s.is_binary(colon):
                depth += 1
            elif t == ':' and s.is_binary(colon):
                if depth == 0:
                    break
                depth -= 1
            colon += 1
        b = s.right(colon, -1)
        condition, yes, no = s.words(a, i), s.words(i + 1, colon), s.words(colon + 1, b)
        self.add(a, b, 'condition', f'{condition} ? {no} : {yes}')
        kind = 'mask ignored' if MASK.search(condition) else 'condition'
        self.add(a, b, kind, yes)
        self.add(a, b, kind, no)

    def unary(self, i, t):
        s = self.s
        end = s.postfix(i + 1)
        if end and not (t == '-' and s.kind[i + 1] == 'number'):
            self.add(i, end, 'sign' if t == '-' else 'condition', s.words(i + 1, end))

    def subscript(self, i):
        s = self.s
        j = s.match[i]
        if i == 0 or s.gap(i) or s.token[i - 1] in ('[', 'operator') or j == i + 1 or s.kind[i - 1] == 'sign' and \
                s.token[i - 1] not in (')', ']', '>'):
            return
        if s.kind[i + 1] in ('name', 'sign') and s.token[i + 1] not in ('&', '=', 'this', 'static_cast'):
            self.add(i + 1, j, 'index by one', f'{s.words(i + 1, j)} + 1', False)

    def entry(self, i):
        """{Input, its gradient}."""
        s = self.s
        end = s.match[i]
        a = i + 3
        if not s.token[i + 1][0].isupper():  # a list of values
            return
        self.add(a, end, 'sign of all', f'-1 * ({s.words(a, end)})')
        self.add(a, end, 'factor of all', f'2 * ({s.words(a, end)})')

    def number(self, i, t):
        s = self.s
        if s.token[i - 1] in ('<', 'case') or s.token[i + 1] == '>' and not s.gap(i + 1):
            return
        if re.fullmatch(r'\d+', t):
            if i and s.token[i - 1] == '-' and not s.gap(i) and not s.is_binary(i - 1):
                self.add(i - 1, i + 1, 'axis', f'-{int(t) + 1}', False)
            elif not (s.is_binary(i - 1) and s.token[i - 1] in '+-'):
                self.add(i, i + 1, 'number', str(int(t) + 1), False)
        elif re.fullmatch(r'[\d.]+(e[-+]?\d+)?f?', t) and float(t.rstrip('f')) != 0:
            self.add(i, i + 1, 'factor', f'2 * {t}', False)

    def condition(self, i):
        s = self.s
        a, b = i + 2, s.match[i + 1]
        words = s.words(a, b)
        if ';' in s.token[a:b]:
            return
        if s.kind[a] == 'name' and s.kind[a + 1] in ('name',) or '=' in s.token[a:b]:  # a declaration
            return
        negated = s.token[a] == '!' and s.postfix(a + 1) == b
        if not negated and (not re.search(r' [!=]= ', words) or re.search(r' (&&|\|\|) ', words)):  # else as the sign
            self.add(a, b, 'condition', f'!({words})')
        if MASK.search(words):
            self.add(a, b, 'mask ignored', 'false')

    def call(self, i, t):
        s = self.s
        previous = s.token[i - 1] if i else ''
        if previous in ('.', '->') or (previous == '::' and s.token[i - 2] != 'std'):
            return
        paren = i + 1
        if s.token[paren] == '<' and s.template_end(paren):
            paren = s.template_end(paren)
        if paren >= len(s) or s.token[paren] != '(' or s.gap(paren):
            return
        first = i - 2 if previous == '::' else i
        end, arguments = s.match[paren] + 1, s.arguments(paren)
        words = [s.words(*a) for a in arguments]
        if not words:
            return
        inside = s.words(paren, end)

        def named(name):
            return s.words(first, i) + name + s.words(i + 1, paren) + inside

        for kind, other in RENAMED.get(t, []):
            self.add(first, end, kind, named(other))
        if t in FORGOTTEN:
            self.add(first, end, FORGOTTEN[t], words[0])
        if t in SWAPPED and len(words) == 2:
            self.add(first, end, 'operands swapped', f'{t}({words[1]}, {words[0]})')
        if t == 'matmul' and len(words) == 2:
            for k in (0, 1):
                if not words[k].startswith('transpose('):
                    other = list(words)
                    other[k] = f'transpose({words[k]})'
                    self.add(first, end, 'transpose', f'matmul({other[0]}, {other[1]})')
        if t == 'where' and len(words) == 3:
            self.add(first, end, 'condition', f'where({words[0]}, {words[2]}, {words[1]})')
            self.add(first, end, 'mask ignored', words[1])
            self.add(first, end, 'mask ignored', words[2])
        if t == 'masked_softmax':
            self.add(first, end, 'mask ignored', f'softmax({words[0]})')
        if t == 'add_' and len(words) == 2:
            self.add(first, end, '= for +=', f'({words[0]}).copy_({words[1]})', False)
        if t == 'multiply_add' and len(words) == 3:
            self.add(first, end, 'term dropped', words[2])
        if t in ('slice', 'narrow', 'select', 'unslice', 'gather', 'at', 'load', 'put', 'store'):
            for k, (a, b) in enumerate(arguments):
                if k == 1 and t in ('slice', 'narrow', 'select', 'at', 'put') or k == 2 and t in ('slice', 'narrow', 'at'):
                    if s.kind[a] == 'name' and ' ' not in words[k]:
                        self.add(a, b, 'index by one', f'{words[k]} + 1', False)

    def statement(self, i):
        """A statement that is an assignment or a call, left out."""
        s = self.s
        before = s.token[i - 1] if i else ''
        if before not in (';', '{', '}', 'else', ')') or s.kind[i] != 'name' and s.token[i] != '*':
            return
        if before == ')' and (s.match[i - 1] == 0 or s.token[s.match[i - 1] - 1] not in ('if', 'for', 'while')):
            return
        if before in '{}' and not s.gap(i - 1) and before == '{':
            return
        if s.token[i] in ('return', 'if', 'for', 'while', 'switch', 'case', 'continue', 'break', 'do', 'throw', 'else',
                          'const', 'auto', 'static', 'constexpr', 'using', 'delete', 'default', 'struct', 'try'):
            return
        end, assigned, j = None, None, i
        while j < len(s):
            t = s.token[j]
            if j > i and s.gap(j) and assigned is None and not (t in ASSIGNMENTS and s.is_binary(j)):
                return  # a declaration, or no statement
            if t in ASSIGNMENTS and s.is_binary(j) and assigned is None:
                assigned = j
                j += 1
                continue
            if t in '([{' and s.kind[j] == 'sign':
                j = s.match[j] + 1
                continue
            if t in ')]}':
                return
            if t == ';':
                end = j + 1
                break
            j += 1
        if end is None or (assigned is None and s.token[end - 2] != ')'):
            return
        if s.token[i].startswith('require_') or 'add_operand' in s.token[i:i + 4]:
            return
        self.add(i, end, 'left out', None)
