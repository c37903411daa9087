// A model and one example to inspect. Its loss can be recorded on a tape.
//
//   Tape tape({.replay = true});
//   Var loss = example.loss();       explicit: attention, norms and losses as their primitives
//   tape.backward(loss);
//
// The loss is the one of training, its mean over the predicted tokens. The model is in eval(): no dropout, so that two
// inspections agree. The kind of model decides what is read and what is predicted:
//
//   transformer and the like   a sentence                            its translation, token by token
//   gpt                        a text, but for its last token        the same, but for its first
//   bert                       a sentence, some of its tokens hidden the hidden ones
//   classifier                 a sentence                            its class
//   tagger                     a sentence                            the class of each token
//   vit, cnn                   an image                              its class
//
// Parts that are not given come from the task, or from a trained model's answer. A fresh model has no sensible answer.
// Its target is the task's translation, or class "1" of a classifier's two and a vit's ten. A batch holds this one
// example, so that nothing is padding.
//
// Errors: ValueError naming the option, for one that this kind does not take, an empty text, one longer than the
// model's maximum, and what must be given; FileError for a model or an image that cannot be read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.hpp"
#include "models/tokenizers/tokenizer.hpp"
#include "nn/module.hpp"
#include "tools/data/images/image_set.hpp"
#include "tools/kinds/options.hpp"
#include "tools/pass/changes.hpp"

namespace glim {

struct ExampleOptions {
  std::string model = "model";  // a trained one ...
  bool init = false;            // ... or a fresh one with the sizes in `fresh`
  TrainOptions fresh;
  std::string source, target;  // sentence or text, translation
  std::vector<std::string>
      hide;  // tokens by number, <s> being token 0, "3", or "3=cat"; none: the one in the middle
  std::string label, image;          // a class by name; a PNG file, or FILE:N of an IDX file
  std::vector<std::uint8_t> pixels;  // (C, H, W), in the file's place: in a page, which has none
  std::vector<Index> size;           // C, H and W of them
  std::vector<std::string> paint;    // pixels of the image that are changed: ROW,COLUMN=VALUE
  bool float64 = false;
  Changes changes;

  Rows rows();  // what is looked at: options of the command line, and of a page's requests
};

// The tokens that the model reads and those it must predict.
struct ExampleText {
  std::string kind, source_text, target_text;
  std::vector<std::string> takes;                          // options of an example of this kind
  std::string title;                                       // "transformer, trained (model)"
  bool own_target = false;                                 // the model's own answer
  std::vector<std::string> source, target_in, target_out;  // by token, as pictures show them
  std::vector<std::int64_t> source_ids, target_out_ids;    // target_out_ids: rows of the logits
  double label_smoothing = 0;
  bool is_one_stack() const { return source.empty() || target_in.empty(); }
};

class Example : public ExampleText {
 public:
  Module& model() { return *module; }
  Var loss();                   // records on the open tape
  std::string heading() const;  // the title, and ", label smoothing ε = 0.1", where the loss has it
  void change(const Changes& changes) { changes_ = changes; }  // the label smoothing stays
  const Changes& changes() const { return changes_; }          // loss() makes those of the forward

  TokenizerPair tokenizers;  // none, where nothing is read as tokens
  ImageSet images;  // the one that is read, and those of its file that a live page offers beside it

  // From the kind: the model, and its logits (N, C) for the N targets, none of which is `pad`; or the loss itself, of
  // training, label smoothing included, summed over the targets.
  std::shared_ptr<Module> module;
  std::function<Var()> logits, summed_loss;
  Index pad = -1;

 private:
  Changes changes_;
};

std::unique_ptr<Example> make_example(const ExampleOptions& options);

// Shared by the kinds. shown_tokens: a line's tokens as they are read, unknown ones marked. text_or_phrase: the text, or
// the task's if empty. require_fits: ValueError unless there are 1 to `most` tokens, one of them known (unless null).
std::vector<std::string> shown_tokens(const Tokenizer& tokenizer, const std::string& line);
inline constexpr std::string_view kUnknownMark = " (unknown)";
void require_fits(const std::string& option, const std::vector<std::int64_t>& ids, Index most,
                  const Tokenizer* tokenizer);
// <s> sentence </s>, which an encoder reads, of `most` tokens without its ends.
void read_sentence(Example& example, const std::string& sentence, Index most);
std::string text_or_phrase(const std::string& text, const TrainOptions& trained);
// The class asked for, or else the most probable of a trained model's logits (1, C), or a fresh one's "1".
class Labels;
void ask_label(Example& example, const ExampleOptions& options, const Labels& labels);

}  // namespace glim
