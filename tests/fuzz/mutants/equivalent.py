"""equivalent.txt: mutants that change nothing that a test could see, and why.

A block is a reason and the mutants that it holds for; an empty line divides blocks:

    # One element more is read, and not used.
    FILE | FUNCTION | BEFORE => AFTER
"""


def read_equivalents(path):
    """The reason by the mutant's key; keys without a reason are an error."""
    reasons, reason = {}, ''
    with open(path, encoding='utf-8') as file:
        for line in file.read().split('\n'):
            line = line.strip()
            if not line:
                reason = ''
            elif line.startswith('#'):
                reason = (reason + ' ' + line[1:].strip()).strip()
            elif not reason:
                raise SystemExit(f'equivalent.txt: no reason for: {line}')
            else:
                reasons[line] = reason
    return reasons
