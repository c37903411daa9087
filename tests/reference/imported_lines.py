#!/usr/bin/env python3
"""imported_lines.py TOKEN_IDS: 10,000 lines of many scripts, tokenized by Glim and by PyPI's tokenizers and transformers.

Learns a byte-level BPE and a pair of SentencePiece models with nmt_nfkc, as Marian's have, from half of the lines, imports
each with random weights (build/tests/tools/token_ids is the program), and compares the ids of every line and the text
that they decode to. Exits 1 where one differs.
"""

import json
import random
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

from imported import LINES, train_byte_level, train_marian
import imported

SCRIPTS = {
    "latin": (0x41, 0x24F), "greek": (0x370, 0x3FF), "cyrillic": (0x400, 0x52F), "armenian": (0x531, 0x58A),
    "hebrew": (0x590, 0x5F4), "arabic": (0x600, 0x6FF), "devanagari": (0x900, 0x97F), "bengali": (0x980, 0x9FE),
    "tamil": (0xB82, 0xBFA), "thai": (0xE01, 0xE5B), "tibetan": (0xF00, 0xFDA), "georgian": (0x10A0, 0x10FF),
    "jamo": (0x1100, 0x11FF), "ethiopic": (0x1200, 0x137C), "khmer": (0x1780, 0x17F9), "mongolian": (0x1800, 0x18AA),
    "punctuation": (0x2000, 0x206F), "signs": (0x2070, 0x214F), "numbers": (0x2150, 0x218B), "arrows": (0x2190, 0x23FF),
    "kana": (0x3000, 0x30FF), "han": (0x4E00, 0x9FFF), "hangul": (0xAC00, 0xD7A3), "private": (0xE000, 0xE0FF),
    "forms": (0xF900, 0xFAFF), "halfwidth": (0xFF00, 0xFFEF), "gothic": (0x10330, 0x1034A), "mathematical": (0x1D400, 0x1D7FF),
    "emoji": (0x1F300, 0x1FAFF), "han-b": (0x20000, 0x2A6DF), "tags": (0xE0020, 0xE007F), "control": (0x01, 0x1F),
}
SPACES = [" "] * 12 + ["  ", "   ", "\t", "\u00a0", "\u2003", "\u3000", "\u0085", "\u2028", "\x0b", "\x1c", "\u202f"]
ENDINGS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "’s", "n't", "'", "''s", "'lll"]


def lines_of(count, seed):
    rng = random.Random(seed)
    base = [word for line in LINES for word in line.split()]
    alphabets = {name: [chr(c) for c in range(first, last + 1)] for name, (first, last) in SCRIPTS.items()}
    names = list(alphabets)

    def word():
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(base)
        if kind < 0.45:
            return rng.choice(base) + rng.choice(ENDINGS)
        if kind < 0.55:
            return str(rng.randrange(10 ** rng.randrange(1, 12))) + rng.choice(["", "%", "th", "e-3", "½", "²"])
        letters = "".join(rng.choice(alphabets[rng.choice(names[:3])]) for _ in range(rng.randrange(1, 9)))
        if kind < 0.65:
            return unicodedata.normalize("NFD", letters)
        script = alphabets[rng.choice(names)]
        return "".join(rng.choice(script) for _ in range(rng.randrange(1, 12)))

    lines = []
    for _ in range(count):
        line = rng.choice(["", "", "", " ", "  ", "\t"])
        for _ in range(rng.randrange(1, 20)):
            line += word() + rng.choice(SPACES if rng.random() < 0.9 else ["", "-", ".", ",", "…", "!?"])
        lines.append(line.replace("\n", " ").replace("\r", " "))
    return lines


def glim(program, folder, *kind, lines):
    done = subprocess.run([program, str(folder), *kind], input="\n".join(map(json.dumps, lines)) + "\n",
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]  # not at U+0085


def compare(what, lines, mine, theirs, score=None):
    """Prints how many are equal; of pieces, two ways to cut a line with the same score are a tie, which SentencePiece's
    versions break differently (Debian 12 has 0.1.97)."""
    wrong = [i for i in range(len(lines)) if mine[i] != theirs[i]]
    ties = [i for i in wrong if score and abs(score(mine[i]) - score(theirs[i])) < 1e-3]
    wrong = [i for i in wrong if i not in ties]
    print(f"{what}: {len(lines) - len(wrong) - len(ties)} of {len(lines)} equal" + (f", {len(ties)} ties" if score else ""))
    for i in wrong[:5]:
        print(f"  {lines[i]!r}\n    Glim {mine[i]}\n    they {theirs[i]}")
    return len(wrong)


def main(program):
    lines = lines_of(10_000, 40)
    print(f"{len(lines)} lines, {len(set(''.join(lines)))} different characters")
    pairs = [(a, b) for a, b in zip(lines[:5000:2], lines[1:5000:2])]
    imported.SENTENCES = pairs  # to learn from
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        gpt2, marian = Path(place) / "gpt2", Path(place) / "marian"
        gpt2.mkdir(), marian.mkdir()
        t = train_byte_level(gpt2, 8000)
        GPT2LMHeadModel(GPT2Config(vocab_size=len(t), n_positions=8, n_embd=4, n_layer=1, n_head=1)).save_pretrained(gpt2)
        ids = t(lines).input_ids
        for form in ("tokenizer.json", "vocab.json and merges.txt"):
            said = glim(program, gpt2, "gpt2", lines=lines)
            wrong += compare(f"GPT-2, {form}, ids", lines, [[i - 4 for i in s["ids"]] for s in said], ids)
            wrong += compare(f"GPT-2, {form}, text", lines, [s["text"] for s in said], t.batch_decode(ids))
            (gpt2 / "tokenizer.json").unlink(missing_ok=True)
        t = train_marian(marian, size=10000, normalization_rule_name="nmt_nfkc", character_coverage=0.98)
        rows, pad = len(t), t.pad_token_id
        MarianMTModel(MarianConfig(vocab_size=rows, d_model=4, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=4,
                                   decoder_ffn_dim=4, encoder_attention_heads=1, decoder_attention_heads=1, pad_token_id=pad,
                                   decoder_start_token_id=pad, max_position_embeddings=8)).save_pretrained(marian)
        ours = {0: 2, 1: 3, pad: 0} | {i: i + 2 for i in range(2, rows - 1)}
        for side in ("source", "target"):
            said = glim(program, marian, "marian", side, lines=lines)
            ids = [(t(line) if side == "source" else t(text_target=line)).input_ids[:-1] for line in lines]
            spm = t.spm_source if side == "source" else t.spm_target
            pieces = {mine: t.decoder[i] for i, mine in ours.items()}

            def score(numbers):
                return sum(spm.get_score(spm.piece_to_id(pieces[n])) for n in numbers)

            wrong += compare(f"Marian, {side}, ids", lines, [s["ids"] for s in said], [[ours[i] for i in x] for x in ids],
                             score)
            wrong += compare(f"Marian, {side}, text", lines, [s["text"] for s in said],
                             [t.decode(x, use_source_tokenizer=side == "source") for x in ids])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
