"""The peer of `glim_bench decode` by CTranslate2, as a server (serving.py).

    peer_ctranslate2.py SETTING_JSON --batch N --beam K --type float32|int8
"""
import argparse
import json
import os
import random
import tempfile

import ctranslate2
import numpy
from ctranslate2.specs import transformer_spec

from serving import serve


def filled(spec, s):
    """The 2017 Transformer of this setting with random weights."""
    numbers = numpy.random.default_rng(1)
    d, d_ff, vocab = s["d"], s["d_ff"], s["vocab"]

    def weights(*shape):
        return numbers.normal(0, shape[-1] ** -0.5, shape).astype(numpy.float32)

    def linear(layer, outputs, inputs):
        layer.weight, layer.bias = weights(outputs, inputs), weights(outputs)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(d, numpy.float32), numpy.zeros(d, numpy.float32)

    for stack in (spec.encoder, spec.decoder):
        embeddings = stack.embeddings[0] if stack is spec.encoder else stack.embeddings
        embeddings.weight = weights(vocab, d)
        stack.scale_embeddings = True
        stack.position_encodings.encodings = weights(512, d)
        for layer in stack.layer:
            linear(layer.self_attention.linear[0], 3 * d, d)
            linear(layer.self_attention.linear[1], d, d)
            norm(layer.self_attention.layer_norm)
            if stack is spec.decoder:
                for linear_layer, parts in zip(layer.attention.linear, (1, 2, 1)):
                    linear(linear_layer, parts * d, d)
                norm(layer.attention.layer_norm)
            linear(layer.ffn.linear_0, d_ff, d)
            linear(layer.ffn.linear_1, d, d_ff)
            norm(layer.ffn.layer_norm)
    linear(spec.decoder.projection, vocab, d)


def decode(s, batch, beam, number_type):
    spec = transformer_spec.TransformerSpec.from_config(s["layers"], s["heads"], pre_norm=False)
    filled(spec, s)
    words = ["<unk>", "<s>", "</s>"] + [str(i) for i in range(3, s["vocab"])]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    with tempfile.TemporaryDirectory() as folder:
        spec.validate()
        spec.optimize()
        spec.save(folder)
        threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
        translator = ctranslate2.Translator(folder, compute_type=number_type, intra_threads=threads)
    random.seed(1)
    source = [[random.choice(words[3:]) for _ in range(32)] for _ in range(batch)]

    def work():  # every output has 32 tokens
        found = translator.translate_batch(source, beam_size=beam, disable_unk=True, min_decoding_length=32,
                                           max_decoding_length=32)
        assert all(len(r.hypotheses[0]) == 32 for r in found)
    return work


parser = argparse.ArgumentParser()
parser.add_argument("setting", type=json.loads)
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--beam", type=int, default=1)
parser.add_argument("--type", default="float32", choices=["float32", "int8"])
a = parser.parse_args()
serve(lambda: decode(a.setting, a.batch, a.beam, a.type))
