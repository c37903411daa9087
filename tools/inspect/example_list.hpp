// The options of an example, each stated once: name, member, help, range. The command line of glim inspect and glim
// step, and a live page's requests (request.hpp), go by them. A fresh model's are rows of tools/train/option_table.hpp.
#pragma once

#include "tools/common/range.hpp"
#include "tools/inspect/example.hpp"

namespace glim {

enum class Changed { Nothing, Forward, Backward };  // by an option

// f(changed, name, member, help[, range, what is shown as default]) for each. `Options` may be const. Requests alone have
// `pixels` and `size`.
template <class Options, class F>
void each_example_option(Options& o, const F& f) {
  using enum Changed;
  f(Nothing, "model", o.model, "folder of a model, or one of its files");
  f(Nothing, "sentence", o.source, "sentence to read (without: one of the task's)");
  f(Nothing, "translation", o.target,
    "its translation (without: the task's, or a trained model's own)");
  f(Nothing, "hide", o.hide,
    "tokens of the sentence that a bert has to guess, <s> being token 0: 3, or 3=cat to "
    "show cat there (without: the middle one)");
  f(Nothing, "label", o.label,
    "the class to look at, of a classifier, a vit or a cnn, or the class of each token, of a "
    "tagger "
    "(without: a trained model's own answer, a fresh one's 1)");
  f(Nothing, "image", o.image,
    "image for a vit or a cnn: FILE.png, or FILE:N for image N of an IDX file, from 0 on (fresh: "
    "a drawn 1)");
  f(Nothing, "pixels", o.pixels, nullptr);
  f(Nothing, "size", o.size, nullptr);
  f(Nothing, "paint", o.paint,
    "pixels of the image that are changed: ROW,COLUMN=VALUE from 0 to 1, of all channels "
    "or CHANNEL,ROW,COLUMN=VALUE; * is every row or column");
  auto& c = o.changes;
  f(Forward, "scale", c.scale, "the factor of Q Kᵀ in the scores of every attention", Range{},
    "1/√Dk");
  f(Forward, "mask", c.mask,
    "a query may not attend to a key: MODULE:QUERY,KEY, numbers from 0 on or *");
  f(Forward, "unmask", c.unmask, "the same, and it may");
  f(Forward, "label-smoothing", c.label_smoothing, "ε of the loss", kShare, "as in training");
  f(Forward, "dropout", c.dropout, "with the model's dropout");
  f(Forward, "remove-head", c.remove_heads,
    "the context of these heads is 0: decoder.layers.1.multihead_attn:2");
  f(Forward, "remove", c.remove,
    "without a layer, or a part of it: encoder.layers.1, encoder.layers.1.norm2, "
    "….skip2, ….sublayer2");
  f(Backward, "zero", c.zero,
    "the gradient of these nodes is 0: NODE, or a part: NODE:HEAD, NODE[0,1:3]");
  f(Backward, "freeze", c.freeze, "none of these nodes' gradient reaches the nodes below them");
  f(Backward, "scale-gradient", c.scale_gradient,
    "the gradient of these nodes times a number: NODE=C, NODE:HEAD=C, NODE[0,1:3]=C");
}

}  // namespace glim
