#include "models/pipeline/scorer.hpp"

#include <algorithm>

#include "autograd/ops.hpp"
#include "models/pipeline/copying.hpp"
#include "models/pipeline/described.hpp"
#include "models/pipeline/padded.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "tensor/error.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

std::vector<std::int64_t> encoded(const Tokenizer& tokenizer, const char* what,
                                  const std::string& text, Index most) {
  std::vector<std::int64_t> ids;
  try {
    ids = tokenizer.encode(text, most);
  } catch (const ValueError& e) {
    throw ValueError(what, e.problem());
  }
  if (std::ssize(ids) >= most)  // </s> besides
    throw ValueError(what, "has more tokens than the model takes, " + std::to_string(most - 1));
  return ids;
}

Score score_of(const Var& logits, const Tensor& target, Index pad) {
  const Var rows = reshape(logits, {-1, logits.size(-1)});  // (1, T, V) -> (T, V)
  const Measures sums = label_smoothing_loss(rows, target, 0, pad).sums;
  return {-sums.nll, sums.tokens};
}

}  // namespace

double Score::perplexity() const { return portable::exp(-log_prob / static_cast<double>(tokens)); }

Scorer::Scorer(const ModelFile& m) : file_(m.file), kind_(m.kind) {
  require_gives(m, {Gives::Text, Gives::Translations}, "give a text a probability");
  if (kind_of(m).gives == Gives::Text) {
    const TextGenerator generator(m);
    language_ = generator.model();
    tokenizers_ = {generator.tokenizer(), generator.tokenizer()};
  } else {
    const Translator translator(m);
    translating_ = translator.model();
    tokenizers_ = translator.tokenizers();
  }
}

Score Scorer::score(const std::string& text) const {
  if (!language_)
    throw ValueError("text", "a model of kind '" + kind_ + "' scores a source and its target");
  NoGrad no_tape;
  std::vector<Index> ids;
  try {
    ids = tokenizers_.target->encode_text(text);
  } catch (const ValueError& e) {
    throw ValueError("text", e.problem());
  }
  std::erase_if(ids, [&](Index id) { return id < language_->config().never_predicted; });
  if (ids.size() < 2) throw ValueError("text", "a text of one token has no next one to predict");
  Score all;
  const Index context = language_->config().context, last = std::ssize(ids) - 1;
  for (Index start = 0; start < last; start += context) {
    const auto begin = ids.begin() + start;
    const Index length = std::min(context, last - start);
    const std::vector<Index> in(begin, begin + length), out(begin + 1, begin + 1 + length);
    const Score part =
        score_of((*language_)(from_vector(in, {1, length})), from_vector(out, {length}), kPad);
    all.log_prob += part.log_prob;
    all.tokens += part.tokens;
  }
  return all;
}

Score Scorer::score(const std::string& source, const std::string& target) const {
  if (!translating_)
    throw ValueError("source", "a model of kind '" + kind_ + "' scores a text alone");
  NoGrad no_tape;
  const Index most = translating_->max_len();
  const auto source_ids = encoded(*tokenizers_.source, "source", source, most),
             target_ids = encoded(*tokenizers_.target, "target", target, most);
  if (source_ids.empty()) throw ValueError("source", "is blank");
  SourceBatch batch(padded_rows({&source_ids}, false, true));
  Tensor target_out = padded_rows({&target_ids}, false, true);
  if (translating_->copies()) {
    const CopyNumbers numbers = CopyNumbering(tokenizers_).number(source, target);
    target_out = number_words(batch, {&numbers});
  }
  const TeacherForced taught = translating_->teach(batch, padded_rows({&target_ids}, true, false));
  return score_of(taught.logits, reshape(target_out, {-1}), translating_->pad());
}

}  // namespace glim
