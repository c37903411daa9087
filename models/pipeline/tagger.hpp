// A label for each token of a sentence (kind tagger).
//
//   const Tagger tagger("model");                          // a folder of glim train, or one of its files
//   std::vector<Classified> found = tagger.tag({"Ada", "met", "Bob"});
//   tagger.labels().name(found[0].label);                  // "B-PER"
//
// All calls are const. Several threads may use one tagger at once.
//
// Errors: FileError naming the file for a folder that holds no such model, or naming the sentence for one without tokens,
// with a token that has white space, or beyond the model's maximum, unless it is to be cut.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/bert/bert.hpp"
#include "models/pipeline/classifier.hpp"

namespace glim {

class Tagger : public Labelled<TokenClassifier> {
 public:
  using Labelled::Labelled;
  explicit Tagger(const std::string& path) : Tagger(read_model(path)) {}
  explicit Tagger(const ModelFile& file);

  // One for each token, of a sentence that is cut one for each that is left. `name` is the sentence's place, for errors.
  std::vector<Classified> tag(const std::vector<std::string>& tokens, bool truncate = false,
                              const std::string& name = "sentence") const;
};

// <s> and the numbers of these tokens, one each. FileError naming `name`, as above.
std::vector<std::int64_t> token_numbers(const Tokenizer& tokenizer,
                                        const std::vector<std::string>& tokens,
                                        const std::string& name);

// The spans that labels say, of one sentence: B-X begins one of type X, I-X continues it, or begins one behind another
// type. O is outside. Of labels without B- and I- equal neighbours are one span.
struct Span {
  std::size_t begin, end;
  std::string type;
  bool operator==(const Span&) const = default;
};
std::vector<Span> spans_of(const std::vector<std::string>& labels);

// How many spans of both are equal in place and type (as conlleval counts).
struct SpanCounts {
  Index right = 0, found = 0, expected = 0;
  void add(const std::vector<std::string>& tags, const std::vector<std::string>& truth);
  double precision() const { return share(right, found); }
  double recall() const { return share(right, expected); }
  double f1() const { return share(2 * right, found + expected); }
  // "F1 of spans 0.9123 (precision 0.9200, recall 0.9048; 190 of 210)"
  std::string describe() const;

 private:
  static double share(Index part, Index whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
};

}  // namespace glim
