#!/usr/bin/env python3
"""Writes bleu_reference.json: what sacreBLEU and str.lower say, for bleu.cpp.

    python3 tests/tools/data/bleu/make_bleu_reference.py > tests/tools/data/bleu/bleu_reference.json

Needs sacreBLEU 2.x; the tests read the file only.
"""
import json
import random

import sacrebleu
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

rng = random.Random(2017)


def noisy(words, sentence, rate):
    out = []
    for w in sentence:
        r = rng.random()
        if r < rate / 3:
            continue
        if r < 2 * rate / 3:
            out.append(rng.choice(words))
        out.append(w)
    if len(out) > 2 and rng.random() < rate:
        i = rng.randrange(len(out) - 1)
        out[i], out[i + 1] = out[i + 1], out[i]
    return out


def synthetic(words, lines, rate, refs, lengths):
    references = [[] for _ in range(refs)]
    hypotheses = []
    for _ in range(lines):
        s = [rng.choice(words) for _ in range(rng.randint(*lengths))]
        hypotheses.append(" ".join(noisy(words, s, rate)))
        for r in references:
            r.append(" ".join(noisy(words, s, rate / 2)))
    return hypotheses, references


LATIN = "the a of to and in is it man dog street , . red car's well-known 3.5 1,000 U.S. \"yes\" (no)".split()
GERMAN = "Der Mann mit der Mütze läuft über die Straße , ÄRGER ÖL ÜBER groß GRÖßE . Ein Hund".split()
GREEK = "Ο ΣΟΦΌΣ ΆΝΘΡΩΠΟΣ σοφός ΟΔΟΣ Σίσυφος και η ΘΆΛΑΣΣΑ .".split()
CYRILLIC = "Мужчина В СИНЕЙ куртке ИДЁТ по улице , ЩЁТКА Ёж .".split()

cases = [
    ("one sentence, equal", ["the cat sat on the mat"], [["the cat sat on the mat"]]),
    ("nothing in common", ["aa bb cc dd"], [["the cat sat on the mat"]]),
    ("one empty hypothesis", [""], [["the cat sat on the mat"]]),
    ("one empty among others", ["", "a man walks his dog ."], [["a man .", "a man walks his dog ."]]),
    ("empty reference", ["a man", "two dogs run fast"], [["", "two dogs run fast"]]),
    ("both empty", ["", "two dogs run fast today"], [["", "two dogs run fast"]]),
    ("all empty", ["", ""], [["", ""]]),
    ("only spaces", ["   ", " \t a b c d e "], [["x", "a b c d e"]]),
    ("one word", ["cat"], [["cat"]]),
    ("two words", ["the cat"], [["the cat"]]),
    ("three words", ["the cat sat"], [["the cat sat"]]),
    ("short and long", ["the cat", "a b c d e f"], [["the cat", "a b c d e f"]]),
    ("unigrams only", ["d c b a e"], [["a b c d e"]]),
    ("bigrams only", ["a b d c f e"], [["a b c d e f"]]),
    ("clipping", ["the the the the the the the"], [["the cat is on the mat"]]),
    ("too short", ["the cat sat on"], [["the cat sat on the mat with a hat"]]),
    ("too long", ["the cat sat on the mat with a hat and more"], [["the cat sat on the mat"]]),
    ("entities", ["&quot;a &amp; b&quot; &lt;c&gt; d &amp;lt; e"], [["\"a & b\" <c> d < e f"]]),
    ("skipped", ["a <skipped> b c d e <skipped>"], [["a b c d e"]]),
    ("punctuation", ["Hello, world! (really?) [yes] {no} a/b c\\d e_f g^h `i` j~k|l"],
     [["Hello , world ! ( really ? ) [ yes ] { no } a / b c \\ d e _ f g ^ h ` i ` j ~ k | l"]]),
    ("numbers", ["It costs 1,000.50 dollars, 3.5% more; 10-12 km, 5,a .5 5. -3 3-"],
     [["It costs 1,000.50 dollars , 3.5 % more ; 10 - 12 km , 5 , a .5 5 . -3 3 -"]]),
    ("dashes", ["well-known state-of-the-art 1990-2000 a-1 1-a -- --- 5--6"],
     [["well-known state - of - the - art 1990 - 2000 a-1 1 - a -- --- 5 - -6"]]),
    ("apostrophes", ["it's John's 'quoted' don't o'clock"], [["it 's John 's ' quoted ' don't o'clock"]]),
    ("dots", ["... a.b.c U.S.A. e.g., i.e. Mr. Smith.. ,. .,"], [["... a.b.c U.S.A . e.g. , i.e. Mr . Smith"]]),
    ("symbols", ["a@b.com #tag $5 50% x*y+z=w <tag> a;b:c"], [["a @ b.com # tag $ 5 50 % x * y + z = w < tag >"]]),
    ("line break inside", ["a b-\nc d\ne f g"], [["a bc d e f g"]]),
    ("spaces of all kinds", ["a\u00a0b\u2003c\u3000d e\u2028f\x1cg\x85h\u200bi"], [["a b c d e f g h i"]]),
    ("full width", ["你好，世界。 我 有 一 只 猫"], [["你好 ， 世界 。 我 有 一 只 猫"]]),
    ("emoji and accents", ["Café naïve 😀 👍🏽 ¿Qué? «oui» – — …"], [["café naive 😀 👍 ¿ Qué ? « oui » – — …"]]),
    ("combining", ["e\u0301te\u0301 a b c d"], [["été a b c d"]]),
    ("case", ["The CAT Sat ON the MAT ."], [["the cat sat on the mat ."]]),
    ("German case", ["ÄRGER ÜBER GROẞE STRAẞE und Maß"], [["ärger über große straße und Maß"]]),
    ("Greek case", ["ΟΔΥΣΣΕΥΣ ΟΔΟΣ. ΣΟΦΌΣ Σ ΑΣ' Σα"], [["οδυσσευς οδος. σοφός σ ας' σα"]]),
    ("Cyrillic case", ["ЁЖИК В ТУМАНЕ ИДЁТ"], [["ёжик в тумане идёт"]]),
    ("Turkish dotted I", ["İstanbul IĞDIR a b c"], [["i̇stanbul iğdir a b c"]]),
]
for name, words, lines, rate, refs, lengths in [
        ("synthetic, close", LATIN, 60, 0.2, 1, (1, 20)),
        ("synthetic, far", LATIN, 60, 0.8, 1, (1, 20)),
        ("synthetic, four references", LATIN, 40, 0.5, 4, (1, 15)),
        ("synthetic, short lines", LATIN, 40, 0.3, 2, (1, 4)),
        ("synthetic German", GERMAN, 40, 0.4, 1, (2, 15)),
        ("synthetic Greek", GREEK, 40, 0.4, 1, (2, 15)),
        ("synthetic Cyrillic", CYRILLIC, 40, 0.4, 2, (2, 15)),
        ("synthetic, almost random", LATIN, 30, 2.0, 1, (3, 12))]:
    cases.append((name, *synthetic(words, lines, rate, refs, lengths)))

out = {"sacrebleu": sacrebleu.__version__, "cases": [], "tokenize_13a": [], "tokenize_zh": [], "lower": []}
for name, hypotheses, references in cases:
    if len(references) > 1:  # drawn, so that the rest stays as it is; Glim takes one
        continue
    case = {"name": name, "hypotheses": hypotheses, "references": references, "scores": []}
    for tokenizer in ("13a", "zh", "none"):
        for lowercase in (False, True):
            metric = BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)
            b = metric.corpus_score(hypotheses, references)
            case["scores"].append({
                "tokenizer": tokenizer, "lowercase": lowercase, "score": b.score,
                "precisions": b.precisions, "matches": b.counts, "totals": b.totals, "bp": b.bp,
                "hyp_len": b.sys_len, "ref_len": b.ref_len, "line": str(b),
                "signature": str(metric.get_signature())})
    out["cases"].append(case)

ALPHABET = list("ab Z09.,-'\"&;<>()/\\ \t!") + ["&amp;", "&quot;", "&lt;", "<skipped>", "-\n", "\n", "é", "中",
                                                 "。", "\u00a0", "\u3000", "1.5", "9,0", "..", "😀", "٣"]
for _ in range(400):
    line = "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 25)))
    out["tokenize_13a"].append([line, Tokenizer13a()(line)])

for _ in range(300):
    line = "".join(rng.choice(list("ΣσςΑα'.\u0301\u00ad 1-ß中Жİ") + ["ΣΣ", "\u02b0", "\u0345"])
                   for _ in range(rng.randint(1, 8)))
    out["lower"].append([line, line.lower()])

# Each character that the tokeniser for Chinese sets apart, and lines of them.
apart = [f"a{chr(c)}b" for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and not chr(c).isspace()]
zh = TokenizerZh()
h = 0xcbf29ce484222325
for line in apart:
    for byte in zh(line).encode():
        h = ((h ^ byte) * 0x100000001b3) % 2**64
out["zh_of_all"] = f"{h:016x}"
ALPHABET += ["我", "有", "，", "“", "”", "—", "…", "３", "％", "か", "한", "\U00020000"]
for _ in range(400):
    line = "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 25)))
    out["tokenize_zh"].append([line, zh(line)])

# FNV-1a over the lower case of each code point alone.
h = 0xcbf29ce484222325
for c in range(0x110000):
    if 0xD800 <= c <= 0xDFFF:
        continue
    for byte in chr(c).lower().encode():
        h = ((h ^ byte) * 0x100000001b3) % 2**64
out["lower_of_all"] = f"{h:016x}"

compact = {"ensure_ascii": True, "separators": (",", ":")}
fields = []
for key, value in out.items():
    if isinstance(value, list):
        fields.append(f'"{key}": [\n' + ",\n".join(json.dumps(v, **compact) for v in value) + "\n]")
    else:
        fields.append(f'"{key}": {json.dumps(value, **compact)}')
print("{" + ",\n".join(fields) + "}")
