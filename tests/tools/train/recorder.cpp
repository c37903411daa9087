// The recorder's numbers against the definitions, and that looking inside disturbs nothing.
#include "tools/train/recorder.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/kind.hpp"

namespace test_recorder {

using namespace glim;
using glim::test::message_of;

namespace {

std::unique_ptr<Learner> small_learner() {
  TrainOptions o;
  o.task = "copy";
  o.examples = 40;
  o.set("layers", 2).set("heads", 2);
  o.set("d_model", 16);
  o.set("d_ff", 24);
  o.set("dropout", 0.3);
  return make_learner(o);
}

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

struct Folder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("glim-recorder-" + std::to_string(::getpid())))
          .string();
  ~Folder() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("token similarity is the mean cosine between different rows", "[recorder]") {
  CHECK(token_similarity(ones({4, 3})) == Approx(1));
  CHECK(token_similarity(eye(3)) == Approx(0).margin(1e-12));
  CHECK(token_similarity(reshape(tensor({1, 0, -5, 0}), {2, 2})) == Approx(-1));
  Tensor x = normal({5, 7}, 0, 1, {1, 0}, DType::Float64);
  double sum = 0;
  auto v = x.to_vector<double>();
  auto dot = [&](std::size_t a, std::size_t b) {
    double s = 0;
    for (std::size_t j = 0; j < 7; ++j) s += v[a * 7 + j] * v[b * 7 + j];
    return s;
  };
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b)
      if (a != b) sum += dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
  CHECK(token_similarity(x) == Approx(sum / 20).epsilon(1e-12));
  CHECK(std::isnan(token_similarity(ones({1, 3}))));
  CHECK(std::isnan(token_similarity(zeros({2, 3}))));
}

TEST_CASE("a look inside leaves the random numbers, the mode and the gradients alone",
          "[recorder]") {
  auto learner = small_learner();
  generator().set_state(7, 11);
  learner->model().train();
  Probed a = probe_inside(*learner), b = probe_inside(*learner);
  CHECK(generator().stream() == 11);
  CHECK(learner->model().training());
  for (auto& [name, p] : learner->model().named_parameters()) CHECK_FALSE(p.grad().defined());
  REQUIRE(a.layers.size() == 4);
  CHECK(a.layers[0].name == "encoder.layers.0");
  CHECK(a.layers[3].name == "decoder.layers.1");
  REQUIRE(a.attention.size() == 6);
  CHECK(a.attention[3].name == "decoder.layers.0.multihead_attn");
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    CHECK(a.layers[i].rms == b.layers[i].rms);  // no dropout
    CHECK(a.layers[i].rms > 0);
    CHECK(std::abs(a.layers[i].similarity) <= 1);
  }
  for (const ProbedAttention& m : a.attention) {
    REQUIRE(m.entropy.size() == 2);
    for (double e : m.entropy) CHECK(e > 0);
    for (double s : m.saturation) CHECK((s > -1e-9 && s < 1));
  }
}

TEST_CASE("queries and keys of 0 give uniform attention: its entropy knows the causal mask",
          "[recorder]") {
  auto learner = small_learner();
  for (auto& [name, p] : learner->model().named_parameters())
    if (name.ends_with("in_proj_weight")) narrow(p.value(), 0, 0, 32).fill_(0);
  Probed look = probe_inside(*learner);
  // With n allowed keys the entropy is ln n: the encoder's queries see all keys, the decoder's own
  // see 1, 2, ... of them.
  for (const ProbedAttention& a : look.attention) {
    for (double s : a.saturation) CHECK(s == Approx(0).margin(1e-6));
    for (double s : a.score) CHECK(s == 0);
    if (a.name == "decoder.layers.0.self_attn") {
      CHECK(a.entropy[0] < look.attention[0].entropy[0]);
      CHECK(a.entropy[0] > 0.5);
    }
  }
}

TEST_CASE("a hopelessly saturated head is 1, though its small probabilities are 0 like masked ones",
          "[recorder]") {
  auto learner = small_learner();
  for (auto& [name, p] : learner->model().named_parameters())
    if (name == "encoder.layers.0.self_attn.in_proj_weight")
      p.value().copy_(mul(p.value(), scalar(1e3)));
  Probed look = probe_inside(*learner);
  CHECK(look.attention[0].saturation[0] > 0.9);
  CHECK(look.attention[0].entropy[0] < 0.2);
}

TEST_CASE("the recorder writes ‖g‖ and ‖Δw‖/‖w‖ of each module", "[recorder]") {
  auto learner = small_learner();
  Folder file;
  StepRecorder recorder(file.path, *learner, 10, 0, 100);
  CHECK(recorder.due(1));
  CHECK(recorder.due(20));
  CHECK_FALSE(recorder.due(2));
  learner->begin(Split::Train, 0);
  Tape tape;
  tape.backward(learner->loss(Split::Train, 0, 0));
  NamedParameters wanted;
  for (auto& [name, p] : learner->model().named_parameters())
    if (name.starts_with("encoder.layers.1.linear1.")) wanted.emplace_back(name, p);
  REQUIRE(wanted.size() == 2);
  double norm = gradient_norm(wanted);
  double size = std::sqrt(sum_of_squares(wanted[0].second.value()) +
                          sum_of_squares(wanted[1].second.value()));
  recorder.gradients_ready(20);
  SgdOptions o;
  o.momentum = 0;
  Sgd sgd(learner->model().named_parameters(), o);
  sgd.set_rate(0.01);
  sgd.step();
  recorder.gradients_ready(21);  // not due
  StepReport report;
  report.sums = {.kl = 7, .tokens = 2};
  report.rate = 0.01;
  report.step = 20;
  recorder.stepped(report);
  auto lines = lines_of(file.path);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["glim_recording"] == 1);
  CHECK(lines[0]["kind"] == "transformer");
  CHECK(lines[0]["attention"][0] ==
        nlohmann::json{{"name", "encoder.layers.0.self_attn"}, {"heads", 2}});
  std::vector<std::string> modules = lines[0]["modules"];
  auto at = std::find(modules.begin(), modules.end(), "encoder.layers.1.linear1") - modules.begin();
  CHECK(lines[1]["step"] == 20);
  CHECK(lines[1]["loss"] == 3.5);
  CHECK(lines[1]["gradient_norm"][at].get<double>() == Approx(norm).epsilon(1e-5));
  CHECK(lines[1]["update_ratio"][at].get<double>() == Approx(0.01 * norm / size).epsilon(1e-4));
  CHECK(lines[1]["entropy"].size() == 6);
  CHECK(lines[1]["saturation"][2].size() == 2);
  CHECK(lines[1]["score"][2].size() == 2);
  CHECK(lines[1]["rms"].size() == lines[0]["layers"].size());
}

TEST_CASE("a recording beyond its limit says which interval fits, and that one does",
          "[recorder]") {
  auto learner = small_learner();
  Folder file;
  std::string said =
      message_of<ValueError>([&] { StepRecorder recorder(file.path, *learner, 1, 0, 1'000'000); });
  auto at = said.find("--record-every ");
  REQUIRE(at != std::string::npos);
  Index every = std::stol(said.substr(at + 15));
  CHECK(every > 1);
  CHECK_FALSE(std::filesystem::exists(file.path));
  StepRecorder recorder(file.path, *learner, every, 0, 1'000'000);
  CHECK(std::filesystem::exists(file.path));
}

}  // namespace test_recorder
