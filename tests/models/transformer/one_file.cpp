// The Transformer in one file (models/transformer/one_file.cpp, one_file.py) beside the library's, in float64.
//
// All start from weights drawn here, written as lines of a name and its numbers. `--hold` of the file prints the loss
// of 20 updates, the gradients of the first, the weights after the last, and what greedy decoding says.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "models/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "tensor/random.hpp"
#include "tests/models/common.hpp"
#include "tools/data/corpus/random.hpp"

namespace test_one_file {

using namespace glim;

namespace {

using Sentence = std::vector<Index>;
using Numbers = std::map<std::string, std::vector<double>>;

constexpr Index kWords = 10, kFirstWord = 3, kVocab = kFirstWord + kWords;

// The sentences of the copy task, as the file draws them.
struct CopyTask {
  std::uint64_t state = 3;
  Index below(Index n) {
    return static_cast<Index>(SplitMix64::mix(state += 0x9e3779b97f4a7c15u) %
                              static_cast<std::uint64_t>(n));
  }
  std::vector<Sentence> draw(int count) {
    std::vector<Sentence> sentences(count);
    for (Sentence& s : sentences) {
      s.resize(1 + below(10));
      for (Index& word : s) word = kFirstWord + below(kWords);
    }
    return sentences;
  }
};

// <s> y or y </s>, with padding.
Tensor padded(const std::vector<Sentence>& sentences, bool begins, bool ends) {
  std::size_t length = 0;
  for (const Sentence& s : sentences) length = std::max(length, s.size() + 1);
  std::vector<Index> rows;
  for (const Sentence& s : sentences) {
    if (begins) rows.push_back(1);
    rows.insert(rows.end(), s.begin(), s.end());
    if (ends) rows.push_back(2);
    rows.resize(rows.size() + length - s.size() - 1);
  }
  return from_vector(rows, {static_cast<Index>(sentences.size()), static_cast<Index>(length)});
}

std::string text_of(const Sentence& words) {
  std::string text;
  for (Index w : words) text += std::to_string(w - kFirstWord + 1) + " ";
  return text;
}

// What --hold prints of a model with these weights.
struct Held {
  Numbers gradients, weights;
  std::vector<double> losses;
  std::vector<std::string> said;
};

Held held_by(const std::string& command, const Transformer& model, bool tied) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("one_file" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  {
    std::ofstream out(folder / "weights");
    out.precision(17);
    for (const auto& [name, p] : model.named_parameters()) {
      out << name;
      for (double v : p.value().to_vector<double>()) out << " " << v;
      out << "\n";
    }
  }
  const std::string run = command + (tied ? " --tied" : "") + " --hold " +
                          (folder / "weights").string() + " >" + (folder / "held").string();
  INFO(run);
  REQUIRE(WEXITSTATUS(std::system(run.c_str())) == 0);
  Held held;
  std::ifstream in(folder / "held");
  for (std::string line, name; std::getline(in, line);) {
    std::istringstream words(line);
    words >> name;
    if (name == "said") {
      held.said.push_back(line.substr(5));
      continue;
    }
    const bool gradient = name.starts_with("grad.");
    std::vector<double>& to = name == "loss" ? held.losses
                              : gradient     ? held.gradients[name.substr(5)]
                                             : held.weights[name];
    for (double v; words >> v;) to.push_back(v);
  }
  std::filesystem::remove_all(folder);
  return held;
}

int status_of(const std::string& words) {
  return WEXITSTATUS(
      std::system((std::string(GLIM_ONE_FILE) + words + " >/dev/null 2>&1").c_str()));
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(found[i] - expected[i]));
  }
  CHECK(difference <= 1e-10 * largest);
}

// Every parameter is random, so that no gradient is hidden by a 0 or a 1.
std::unique_ptr<Transformer> library_model(bool tied) {
  auto c = sized<TransformerConfig>(kVocab, 32, 4, 64, 2);
  c.tie = tied ? Tie::All : Tie::None;
  seed(5);
  auto model = std::make_unique<Transformer>(c);
  model->to(DType::Float64);
  for (const Var& p : model->parameters())
    p.value().copy_(uniform(p.shape(), -0.4, 0.4, generator().next(), DType::Float64));
  return model;
}

void check_equal(const std::string& command, bool tied) {
  auto model = library_model(tied);
  const Held held = held_by(command, *model, tied);
  REQUIRE(held.losses.size() == 20);
  CHECK(held.gradients.size() == model->named_parameters().size());

  Adam adam(model->named_parameters(), Adam::transformer());
  const Schedule schedule = noam_schedule(32, 10, 0.5);
  CopyTask task;
  std::vector<double> losses;
  for (int step = 1; step <= 20; ++step) {
    const std::vector<Sentence> sentences = task.draw(32);
    const Tensor out = padded(sentences, false, true);
    const double tokens = sum(not_equal(out, 0)).item();
    Tape tape;
    Var logits = (*model)(out, padded(sentences, true, false));
    Var loss = label_smoothing_loss(reshape(logits, {-1, kVocab}), reshape(out, {-1}), 0.1, 0);
    loss = loss / tokens;
    tape.backward(loss);
    losses.push_back(loss.item());
    for (const auto& [name, p] : model->named_parameters()) {
      if (step > 1) continue;
      INFO("the gradient of " << name);
      REQUIRE(held.gradients.contains(name));
      check_close(held.gradients.at(name), p.grad().to_vector<double>());
    }
    adam.set_rate(schedule.rate(step));
    adam.step();
    adam.zero_grad();
  }
  check_close(held.losses, losses);
  for (const auto& [name, p] : model->named_parameters()) {
    INFO(name << " after 20 updates");
    REQUIRE(held.weights.contains(name));
    check_close(held.weights.at(name), p.value().to_vector<double>());
  }

  model->eval();
  const Tensor source = padded(task.draw(8), false, true);
  const std::vector<Index> limits(8, source.size(1));
  std::vector<std::string> said;
  for (const auto& found : model->generate_sequences(SourceBatch(source), limits, {}))
    said.push_back(text_of(found[0].tokens));
  CHECK(held.said == said);
}

}  // namespace

TEST_CASE("the Transformer in one file equals the library's", "[one_file][slow]") {
  for (bool tied : {false, true}) check_equal(GLIM_ONE_FILE, tied);
}

TEST_CASE("the Transformer in one file refuses what it has not", "[one_file]") {
  for (const char* words :
       {" --hold /no/file", " --show decoder.0.foo", " --show decoder.7.self"}) {
    INFO(words);
    CHECK(status_of(words) == 1);
  }
  CHECK(status_of(" --show encoder.0.self") == 0);
}

TEST_CASE("the Transformer in one file of NumPy equals the library's", "[one_file][numpy]") {
  const std::string python = "${GLIM_PYTHON:-python3} ";
  if (std::system((python + "-c 'import numpy' 2>/dev/null").c_str()) != 0) return;
  for (bool tied : {false, true}) check_equal(python + GLIM_ONE_FILE_PY, tied);
}

}  // namespace test_one_file
