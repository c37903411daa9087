"""A C++ source as tokens: brackets, function bodies, and how far an operand reaches.

It is no parser. The source is as clang-format leaves it, so white space tells what a sign means: an operator
of two operands is between spaces, `<` of a template, a pointer's `*` and a sign are not. A wrong guess
does not compile and is dropped (build.py).
"""
import re
from bisect import bisect

TOKEN = re.compile(r'''
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<string>R"(?P<mark>[^(]*)\(.*?\)(?P=mark)"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><=>|<<=|>>=|\.\.\.|->\*|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.X | re.S | re.M)

PRECEDENCE = {'*': 10, '/': 10, '%': 10, '+': 9, '-': 9, '<<': 8, '>>': 8, '<': 7, '>': 7, '<=': 7, '>=': 7,
              '==': 6, '!=': 6, '&': 5, '^': 4, '|': 3, '&&': 2, '||': 1, '?': 0, ':': 0}
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '<<=', '>>=', '&=', '|=', '^='}
KEYWORDS = {'return', 'case', 'throw', 'else', 'do', 'goto', 'co_yield', 'co_return', 'delete', 'new'}
CLOSING = {'(': ')', '[': ']', '{': '}'}


class Source:
    def __init__(self, text):
        self.text = text
        self.kind, self.token, self.start, self.end = [], [], [], []
        for m in TOKEN.finditer(text):
            if m.lastgroup == 'skip':
                continue
            kind = 'string' if m.group('string') is not None else m.lastgroup
            self.kind.append(kind)
            self.token.append(m.group())
            self.start.append(m.start())
            self.end.append(m.end())
        self.directives = [m.start() for m in re.finditer(r'^[ \t]*#', text, re.M)]
        self.match = self._brackets()
        self.template = {}  # the last `>` of template arguments and their first `<`, both ways
        for i, token in enumerate(self.token):
            if token == '<' and not self.is_binary(i) and i not in self.template and self.template_end(i):
                close = self.template_end(i) - 1
                self.template[i], self.template[close] = close, i
        self.body = self._bodies()  # of each token: the name of its function, or ''

    def __len__(self):
        return len(self.token)

    def gap(self, i):
        """White space before token i."""
        return i > 0 and i < len(self) and self.end[i - 1] < self.start[i]

    def line(self, i):
        return self.text.count('\n', 0, self.start[i]) + 1

    def words(self, i, j):
        """Tokens i ... j - 1 on one line, without comments."""
        parts = []
        for k in range(i, j):
            parts.append((' ' if k > i and self.gap(k) else '') + self.token[k])
        return ''.join(parts)

    def crosses_directive(self, i, j):
        return bisect(self.directives, self.start[i]) != bisect(self.directives, self.end[j - 1])

    def _brackets(self):
        match, stack = {}, []
        for i, t in enumerate(self.token):
            if self.kind[i] == 'string':
                continue
            if t in '([{':
                stack.append(i)
            elif t in ')]}' and stack:
                o = stack.pop()
                match[o], match[i] = i, o
        return match

    def _bodies(self):
        """Braces that follow a list of parameters are a function's; its name is before the list. The
        initialisers of a constructor belong to it."""
        body = [''] * len(self)
        i, first, structs = 0, 0, []  # first: of this declaration
        while i < len(self):
            t = self.token[i]
            if t == '{' and self.kind[i] == 'sign':
                head = self.token[first:i]
                close = self.match.get(i, len(self))
                if '(' in head and not {'struct', 'class', 'namespace', 'enum', 'union'} & set(head[:1]) and \
                        (self.gap(i) or self.token[i - 1] == ')'):
                    p = first + head.index('(')
                    name = self._declared(first, p, head)
                    start = i
                    if ')' in head:  # Name(...) : member(value), ... {
                        after = self.match[p] + 1
                        if after < i and self.token[after] == ':' and self.gap(after):
                            start = after
                            if not self.gap(i):  # member{value}
                                i = close + 1
                                continue
                    full = '::'.join([s for s, _ in structs] + [name])
                    for k in range(start, min(close + 1, len(self))):
                        body[k] = full
                    i, first = close + 1, close + 1
                    continue
                if {'struct', 'class', 'union'} & set(head) and self.gap(i):
                    k = next(n for n, w in enumerate(head) if w in ('struct', 'class', 'union')
                             and (n == 0 or head[n - 1] not in ('<', ',')))  # not of a template's parameters
                    names = [w for w in head[k + 1:] if re.match(r'[A-Za-z_]', w) and w != 'final']
                    structs.append((names[0] if names else '', close))
                    i, first = i + 1, i + 1
                    continue
                if head[:1] == ['namespace'] or head[-1:] == ['namespace'] or 'extern' in head[:1]:
                    i, first = i + 1, i + 1
                    continue
                i = close + 1  # an initialiser
                continue
            if t in (';', '}') and self.kind[i] == 'sign':
                first = i + 1
                while structs and i >= structs[-1][1]:
                    structs.pop()
            elif t in '([' and self.kind[i] == 'sign':
                i = self.match.get(i, i)
            elif t == ':' and i == first + 1 and self.token[first] in ('public', 'private', 'protected'):
                first = i + 1
            i += 1
        return body

    def _declared(self, first, paren, head):
        if '=' in head[:paren - first]:  # auto name = [](...) {
            return head[head.index('=') - 1]
        k = paren - 1
        if self.token[k] == 'operator' or self.token[k - 1] == 'operator':
            return 'operator' + (self.token[k] if self.token[k] != 'operator' else '()')
        while k > first and self.token[k - 1] == '::':
            k -= 2
        return self.words(k, paren)

    def is_binary(self, i):
        return self.kind[i] == 'sign' and self.gap(i) and self.gap(i + 1) and i > 0 and \
            self.token[i - 1] not in ('(', ',', '[', 'operator', 'template')

    def ends_value(self, i):
        """A brace that ends T{...}, not a block."""
        o = self.match[i]
        return not self.gap(o) and o > 0 and (self.kind[o - 1] == 'name' or self.token[o - 1] == '>')

    def left(self, op, precedence):
        """The first token of the operand that ends before token `op`."""
        i = op
        while i > 0:
            k = i - 1
            t = self.token[k]
            if self.kind[k] == 'sign':
                if t in ')]}':
                    o = self.match[k]
                    if (t == '}' and not self.ends_value(k)) or \
                            (t == ')' and o > 0 and self.token[o - 1] in ('if', 'for', 'while', 'switch',
                                                                            'constexpr')):
                        return i
                    i = o
                    continue
                if k in self.template and t != '<':
                    i = self.template[k]
                    continue
                if t in '([{,;' or t in ASSIGNMENTS and self.is_binary(k):
                    return i
                if t in PRECEDENCE and self.is_binary(k) and PRECEDENCE[t] < precedence:
                    return i
                if t == ':' and self.gap(k + 1):
                    return i
            elif self.kind[k] == 'name' and t in KEYWORDS:
                return i
            i = k
        return i

    def right(self, op, precedence):
        """Past the last token of the operand that begins after token `op`."""
        i = op + 1
        while i < len(self):
            t = self.token[i]
            if self.kind[i] == 'sign':
                if t in '([{':
                    i = self.match[i] + 1
                    continue
                if i in self.template and t == '<':
                    i = self.template[i] + 1
                    continue
                if t in ')]},;' or t in ASSIGNMENTS and self.is_binary(i):
                    return i
                if t in PRECEDENCE and self.is_binary(i) and PRECEDENCE[t] <= precedence:
                    return i
            i += 1
        return i

    def postfix(self, i):
        """Past a name, number or bracket at i with its calls, members and subscripts; None if there is none."""
        if self.token[i] in ('(', '['):
            j = self.match[i] + 1
        elif self.kind[i] in ('name', 'number'):
            j = i + 1
        else:
            return None
        while j < len(self) and not self.gap(j):
            t = self.token[j]
            if t in '([{' and self.kind[j] == 'sign':
                j = self.match[j] + 1
            elif t in ('.', '->', '::'):
                j += 2
            elif t == '<' and self.template_end(j):
                j = self.template_end(j)
            else:
                break
        return j

    def template_end(self, i):
        """Past the `>` of template arguments that begin at i, or None."""
        depth = 0
        for j in range(i, min(i + 40, len(self))):
            t = self.token[j]
            if t == '<' and not self.is_binary(j):
                depth += 1
            elif t in ('>', '>>') and not self.is_binary(j):
                depth -= len(t)
                if depth <= 0:
                    return j + 1
            elif t in (';', '{', '}'):
                return None
        return None

    def arguments(self, paren):
        """The arguments of a call whose bracket opens at `paren`, as ranges of tokens."""
        close, parts, first, i = self.match[paren], [], paren + 1, paren + 1
        while i < close:
            t = self.token[i]
            if t in '([{' and self.kind[i] == 'sign':
                i = self.match[i]
            elif t == '<' and not self.is_binary(i) and self.template_end(i):
                i = self.template_end(i) - 1
            elif t == ',':
                parts.append((first, i))
                first = i + 1
            i += 1
        if first < close:
            parts.append((first, close))
        return parts
