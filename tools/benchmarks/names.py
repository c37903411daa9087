"""Names and first weights of microgpt (microgpt.cpp), the same for every side that trains it."""
import random
import sys

SHAPES = [(27, 16), (16, 16), (48, 16), (16, 16), (64, 16), (16, 64), (27, 16)]


def drawn(count):
    """Words with about the lengths of makemore's names: 2 letters and more, 6.1 on average. Every second letter is a vowel."""
    draw = random.Random(1)
    for _ in range(count):
        first, length = draw.randrange(2), 2 + sum(draw.random() < 0.317 for _ in range(13))
        yield "".join(draw.choice("bcdfghjklmnprstvwxz" if (i + first) % 2 else "aeiouy") for i in range(length))


def letters():
    """The names of standard input, each between edges, letter 26, and cut to the context."""
    return [[26, *(ord(c) - ord("a") for c in line.strip()), 26][:17] for line in sys.stdin]


def weights():
    state = 1  # of C++'s minstd_rand0
    for rows, columns in SHAPES:
        w = []
        for _ in range(rows * columns):
            state = state * 16807 % 2147483647
            w.append(0.08 * 3 ** 0.5 * (2 * state / 2147483647 - 1))
        yield [w[i:i + columns] for i in range(0, len(w), columns)]
