// Shared by the tests of models.
#pragma once

#include <string>
#include <vector>

#include "nn/loss.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/models/prefix_decoder.hpp"
#include "tests/nn/check_case.hpp"
#include "tools/gradient_cases/ids.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim {

inline double model_tolerance(DType dtype) { return dtype == DType::Float64 ? 1e-10 : 1e-4; }

// Logits, their mean cross-entropy and the gradient of every parameter equal those stored under NAME.
inline void check_model(const Reference& ref, const std::string& name, Module& model, DType dtype,
                        const std::function<Var()>& forward, const std::string& tied = "") {
  INFO(name << " " << name_of(dtype));
  std::string at = name + ".";
  load_case(ref, at, model, dtype, tied);
  Tape tape;
  Var logits = forward();
  CHECK(close(logits.value(), ref.get(at + "logits"), model_tolerance(dtype)));
  Var loss = cross_entropy(logits, ref.get(at + "targets"));
  CHECK(close(loss.value(), ref.get(at + "loss"), model_tolerance(dtype)));
  tape.backward(loss);
  check_gradients(ref, at, model, model_tolerance(dtype));
}

// Weights large enough that outputs differ.
inline void spread(Module& model) {
  for (auto& [name, p] : model.named_parameters())
    p.value().copy_(uniform(p.shape(), -1, 1, generator().next(), p.dtype()));
}

inline void evaluate_in_float64(Module& model) {
  model.to(DType::Float64);
  model.eval();
}

// Two sentences decoded with what steps share kept give what their whole prefixes give: step by step,
// with beams that move between rows and every token up to `columns`, and by search.
inline void check_cached(SequenceModel& model, const SourceBatch& source, Index columns, int steps,
                         double tolerance) {
  auto cached = model.decoder_for(source);
  PrefixDecoder plain(model, source);
  std::vector<Index> tokens{1, 1};
  for (int step = 0; step < steps; ++step) {
    Tensor a = cached->step(tokens), b = plain.step(tokens);
    CHECK(a.shape() == Shape{2, columns});
    CHECK(close(a, b, tolerance));
    CHECK(close(cached->attention(), plain.attention(), tolerance));
    CHECK(close(sum(cached->attention(), {1}), ones({2}, DType::Float64), tolerance));
    std::vector<Index> rows{step % 3 == 0 ? 1 : 0, 1};
    cached->select_rows(rows);
    plain.select_rows(rows);
    tokens = {3 + step % (columns - 3), columns - 1 - step % 5};
  }
  for (int beam : {1, 4}) {
    SearchOptions o;
    o.beam = beam;
    auto found = model.generate_sequences(source, {12, 12}, o);
    auto expected = search_prefixes(model, source, {12, 12}, o);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(found[i][0].tokens == expected[i][0].tokens);
      CHECK(found[i][0].score == Approx(expected[i][0].score).epsilon(1e-10));
    }
  }
}

}  // namespace glim
