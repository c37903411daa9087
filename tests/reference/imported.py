"""Folders as transformers' save_pretrained writes them, with tokenizers, and their answers to sentences as typed:
convert/gpt2 and convert/marian; imported.json has ids of lines, imported.safetensors log-probabilities and
∂L/∂A, and the logits of the models of convert.py under other settings.

The tokenizers are learned here from SENTENCES. Marian's SentencePiece models have a character map of a few rules, not
the 240 KB of nmt_nfkc, which imported_lines.py has.
"""

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import sentencepiece
import torch
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer
from transformers import (GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast, MarianConfig, MarianMTModel,
                          MarianTokenizer)

from common import Draw, Reference
from convert import filled

SENTENCES = [
    ("The cat sat on the mat, and the dog didn't.", "Die Katze saß auf der Matte, der Hund nicht."),
    ("We've seen the cats; they're in the garden.", "Wir haben die Katzen gesehen; sie sind im Garten."),
    ("There are 12 cats and 345 dogs in the town.", "Es gibt 12 Katzen und 345 Hunde in der Stadt."),
    ("I'll give the dog the ball that the cat had.", "Ich gebe dem Hund den Ball, den die Katze hatte."),
    ("She said: \"The garden is in the town.\"", "Sie sagte: „Der Garten ist in der Stadt.“"),
    ("Кошка и собака в саду.", "我有一只猫，他买了两本书。"),
    ("الكلب في الحديقة", "बिल्ली और कुत्ता बगीचे में हैं"),
    ("고양이와 개가 정원에 있다", "猫と犬が庭にいる。"),
]
LINES = [line for pair in SENTENCES for line in pair] + [
    "I'm sure they'd've said it's John's, wasn't it? 'Twas 'SHOUTING'S",
    "two  spaces   three    four ",
    "   before and\ttab\t\tafter   ",
    "x=1;y2=3.14e-10,½+Ⅷ٣५๓²",
    "naïve café, cafe\u0301, ﬁne, Straße, ＡＢＣ１２３, İıẞ",
    "👩‍👩‍👧‍👦 and 🇩🇪 🤦🏽‍♂️!",
    "no\u00a0break\u2003em\u2009thin\u3000wide\u202fnarrow\u200bzero",
    "next\u0085line\u001cfile\u2028line\u2029paragraph",
    "ภาษาไทยไม่มีช่องว่าง ગુજરાતી தமிழ் ქართული ᚠᛇᚻ 𐍈𐌰 𝒜𝟙 㐀𠀀",
    "한국어 in decomposed letters",
    "tail: <|endoftext|> is one token<|endoftext|>",
    "(\u2026) \u2014 \u00ab\u00bb \u0001\u007f \ufeff \ue000 \ufffd",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa catcatcatcatcat",
    ">>fr<< the cat",
    "▁the cat▁ sat",
]


def train_byte_level(folder, size=400):
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([line for pair in SENTENCES for line in pair] * 3, size, show_progress=False,
                                  special_tokens=["<|endoftext|>"])
    tokenizer.save_model(str(folder))
    fast = GPT2TokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"))
    fast.save_pretrained(folder)  # tokenizer.json beside both
    return fast


def train_pieces(folder, side, lines, size, **options):
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):  # a model says its paths
        Path("rules.tsv").write_text("FF21\t41\nFF22\t42\nFF23\t43\nFB01\t66 69\n65 301\tE9\n3000\t20\n")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix="spm", vocab_size=size, hard_vocab_limit=False,
            num_threads=1, minloglevel=2, **(options or {"normalization_rule_tsv": "rules.tsv"}))
        shutil.copy("spm.model", folder / f"{side}.spm")


def train_marian(folder, sides=None, size=110, **options):
    for i, side in enumerate(("source", "target")):
        train_pieces(folder, side, sides[i] if sides else [pair[i] for pair in SENTENCES], size, **options)
    pieces = {"</s>": 0, "<unk>": 1}
    for side in ("target", "source"):
        spm = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        for i in range(spm.get_piece_size()):
            if not (spm.is_control(i) or spm.is_unknown(i) or i % 13 == 5):  # some have no number
                pieces.setdefault(spm.id_to_piece(i), len(pieces))
    pieces[">>fr<<"] = len(pieces)
    pieces["<pad>"] = len(pieces)
    (folder / "vocab.json").write_text(json.dumps(pieces))
    tokenizer = MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"))
    tokenizer.save_pretrained(folder)
    return tokenizer


def save(model, folder):
    model.float().save_pretrained(folder)
    model.double()


def ids_of(gpt2, marian, lines):
    marian_source = [marian(line).input_ids[:-1] for line in lines]
    marian_target = [marian(text_target=line).input_ids[:-1] for line in lines]
    return {
        "lines": lines,
        "gpt2": [gpt2(line).input_ids for line in lines],
        "source": marian_source,
        "target": marian_target,
        "gpt2_text": [gpt2.decode(gpt2(line).input_ids, clean_up_tokenization_spaces=False) for line in lines],
        "target_text": [marian.decode(ids) for ids in marian_target],
    }


def attended(ref, name, loss, attentions):
    loss.backward()
    for kind, list_ in attentions.items():
        for i, a in enumerate(list_):
            ref.put(f"{name}.{kind}.{i}.a", a[0])
            ref.put(f"{name}.{kind}.{i}.da", a.grad[0])


def log_likelihood(ref, name, logits, targets):
    log_probs = logits.log_softmax(-1)
    ref.put(f"{name}.log_probs", log_probs)
    loss = -log_probs[range(len(targets)), targets].mean()
    ref.put(f"{name}.loss", loss)
    return loss


def gpt2_folder(ref, folder):
    tokenizer = train_byte_level(folder)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=48, n_embd=8, n_layer=2, n_head=2, n_inner=12,
                        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
                        scale_attn_by_inverse_layer_idx=True, attn_implementation="eager")
    model = filled(GPT2LMHeadModel(config), 21).eval()
    save(model, folder)
    ids = tokenizer(SENTENCES[1][0]).input_ids
    out = model(torch.tensor([ids[:-1]]), output_attentions=True)
    for a in out.attentions:
        a.retain_grad()
    attended(ref, "gpt2", log_likelihood(ref, "gpt2", out.logits[0], ids[1:]), {"self": out.attentions})
    return tokenizer


def marian_folder(ref, folder):
    tokenizer = train_marian(folder)
    pad = tokenizer.pad_token_id
    config = MarianConfig(vocab_size=len(tokenizer), d_model=8, encoder_layers=2, decoder_layers=2,
                          encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=12,
                          decoder_ffn_dim=12, max_position_embeddings=64, activation_function="swish",
                          scale_embedding=True, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad,
                          attn_implementation="eager")
    model = filled(MarianMTModel(config), 22).eval()
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions._init_weight()
    model.final_logits_bias.copy_(Draw(5).normal(1, len(tokenizer), scale=0.3))
    save(model, folder)
    source, target = tokenizer(SENTENCES[1][0]).input_ids, tokenizer(text_target=SENTENCES[1][1]).input_ids
    out = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[pad] + target[:-1]]),
                output_attentions=True)
    attentions = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    for list_ in attentions.values():
        for a in list_:
            a.retain_grad()
    attended(ref, "marian", log_likelihood(ref, "marian", out.logits[0], target), attentions)
    return tokenizer


# Settings that convert.py's models have with the same weights.
GPT2_SETTINGS = [
    *({"activation_function": f} for f in ("relu", "gelu", "silu", "swish", "gelu_fast", "gelu_pytorch_tanh",
                                           "gelu_python", "gelu_accurate")),
    {"scale_attn_weights": False},
    {"scale_attn_by_inverse_layer_idx": True},
    {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True},
    {"reorder_and_upcast_attn": True},
    {"layer_norm_epsilon": 0.01},
    {"n_head": 4},
    {"num_attention_heads": 1},
]
MARIAN_SETTINGS = [
    *({"activation_function": f} for f in ("relu", "gelu", "gelu_new", "silu")),
    {"scale_embedding": False},
    {"encoder_attention_heads": 4, "decoder_attention_heads": 4},
    {"normalize_before": False, "static_position_embeddings": True, "add_final_layer_norm": False},
]


def with_settings(ref, here):
    """The models of convert/*.safetensors under other settings."""
    inputs = load_file(here / "convert.safetensors")
    weights = load_file(here / "convert/gpt2.safetensors")
    plain = dict(vocab_size=13, n_positions=7, n_embd=8, n_layer=2, n_head=2, attn_implementation="eager")
    for i, settings in enumerate(GPT2_SETTINGS):
        model = GPT2LMHeadModel(GPT2Config(**{**plain, **settings})).double().eval()
        model.transformer.load_state_dict({k: v for k, v in weights.items() if k.split(".")[-2:] != ["attn", "bias"]})
        model.tie_weights()
        if "reorder_and_upcast_attn" in settings:  # for float32 alone
            model = model.float()
        ref.put(f"gpt2.settings.{i}", model(inputs["gpt2.ids"]).logits.double())
    weights = load_file(here / "convert/marian.safetensors")
    plain = dict(vocab_size=13, d_model=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
                 decoder_attention_heads=2, encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=16,
                 activation_function="swish", scale_embedding=True, pad_token_id=12, decoder_start_token_id=12)
    for i, settings in enumerate(MARIAN_SETTINGS):
        model = MarianMTModel(MarianConfig(**{**plain, **settings})).double().eval()
        model.load_state_dict(weights, strict=False)
        model.tie_weights()
        src, tgt = inputs["marian.src"], inputs["marian.tgt_in"]
        ref.put(f"marian.settings.{i}", model(input_ids=src, attention_mask=src != 12, decoder_input_ids=tgt).logits)


def write(folder):
    folder = Path(folder)
    ref = Reference("imported", "What models of transformers say of sentences as they are typed, in float64.",
                    gpt2=GPT2_SETTINGS, marian=MARIAN_SETTINGS, sentence=SENTENCES[1][0], translation=SENTENCES[1][1])
    tokenizers = []
    for name, make in (("gpt2", gpt2_folder), ("marian", marian_folder)):
        place = folder / "convert" / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        with contextlib.redirect_stderr(None):
            tokenizers.append(make(ref, place))
        for file in place.iterdir():
            file.chmod(0o644)
            if file.name in ("generation_config.json", "special_tokens_map.json"):  # which Glim does not read
                file.unlink()
    with_settings(ref, folder)
    said = {**ids_of(*tokenizers, LINES), "configs": [GPT2Config().to_dict(), MarianConfig().to_dict()]}
    (folder / "imported.json").write_text(
        "{" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in said.items()) + "}\n")
    print(ref.save(folder))
