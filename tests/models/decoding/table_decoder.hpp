// A language model whose distributions are known, to search in.
#pragma once

#include "models/decoding/decoding.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"

namespace glim {

// The next token's distribution is a function of the whole prefix.
class TableDecoder final : public StepDecoder {
 public:
  TableDecoder(Index rows, Index classes, std::uint64_t seed, double sharpness = 2)
      : classes_(classes),
        seed_(seed),
        sharpness_(sharpness),
        prefixes_(static_cast<std::size_t>(rows)) {
    for (std::size_t i = 0; i < prefixes_.size(); ++i)
      prefixes_[i].push_back(static_cast<Index>(i) + 100);
  }
  std::vector<double> next(const std::vector<Index>& prefix) const {
    std::uint64_t hash = seed_;
    for (Index t : prefix) hash = hash * 1000003 + static_cast<std::uint64_t>(t) + 17;
    Tensor scores = normal({classes_}, 0, sharpness_, {hash, 5}, DType::Float64);
    return log_softmax(scores).to_vector<double>();
  }
  Tensor step(const std::vector<Index>& tokens) override {
    std::vector<double> rows;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      prefixes_[i].push_back(tokens[i]);
      auto row = next(prefixes_[i]);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    ++steps;
    return from_vector(rows, {static_cast<Index>(tokens.size()), classes_});
  }
  void select_rows(const std::vector<Index>& rows) override {
    std::vector<std::vector<Index>> picked;
    for (Index r : rows) picked.push_back(prefixes_[static_cast<std::size_t>(r)]);
    prefixes_ = picked;
  }
  int steps = 0;

 private:
  Index classes_;
  std::uint64_t seed_;
  double sharpness_;
  std::vector<std::vector<Index>> prefixes_;
};

}  // namespace glim
