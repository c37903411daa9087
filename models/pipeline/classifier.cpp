#include "models/pipeline/classifier.hpp"

#include "autograd/tape.hpp"
#include "models/pipeline/described.hpp"
#include "models/pipeline/padded.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"

namespace glim {

std::vector<Classified> classified(const Tensor& logits) {
  Tensor probs = softmax(logits).to(DType::Float64).contiguous();
  std::vector<Classified> found;
  for (Index best : argmax(probs, -1).to_vector<Index>())
    found.push_back({best, select(probs, 0, std::ssize(found)).to_vector<double>()});
  return found;
}

Classifier::Classifier(const ModelFile& m) {
  DescribedClassifier d = described_classifier(m, Gives::Class);
  labels_ = std::move(d.labels);
  tokenizer_ = std::move(d.tokenizer);
  model_ = loaded_model<SequenceClassifier>(m, d.config, labels_.size(), d.pooling);
}

std::vector<Classified> Classifier::classify(const std::vector<std::string>& sentences,
                                             bool truncate,
                                             const std::vector<std::string>& names) const {
  NoGrad no_tape;
  const Index longest = model_->bert.config().max_len;
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const std::string where = i < names.size() ? names[i] : "sentence " + std::to_string(i + 1);
    if (auto bad = first_invalid_utf8(sentences[i]))
      throw FileError(where, describe_invalid_utf8(sentences[i], *bad));
    EncodedSentence e = encoded_sentence(*tokenizer_, sentences[i], longest);
    if (e.cut && !truncate)
      throw FileError(where, "more than " + std::to_string(longest - 2) +
                                 " tokens, the model's longest sentence (--truncate cuts it)");
    if (e.ids.size() == 1) throw FileError(where, "is blank: there is nothing to classify");
    all.push_back(std::move(e.ids));
  }
  std::vector<const std::vector<std::int64_t>*> rows;
  for (const auto& ids : all) rows.push_back(&ids);
  return rows.empty() ? std::vector<Classified>()
                      : classified((*model_)(padded_rows(rows, false, true)).value());
}

ImageClassifier::ImageClassifier(const ModelFile& m) {
  DescribedImageModel d = described_image_model(m);
  labels_ = std::move(d.labels);
  load_weights(*d.model, m);
  model_ = std::move(d.model);
}

std::vector<Classified> ImageClassifier::classify(const Tensor& images) const {
  NoGrad no_tape;
  return classified((*model_)(Var(images.to(model_->pixel_mean.dtype()))).value());
}

}  // namespace glim
