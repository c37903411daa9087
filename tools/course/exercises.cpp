// The functions of exercises 1 to 10, on Glim's ops.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/random.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/toml.hpp"
#include "tools/course/exercise.hpp"

namespace glim {

extern const std::string_view kCourseFiles;  // each after a line ==== NAME

namespace course {
namespace {

Var layer_norm_of(const Var& x, const Var& weight, const Var& bias) {
  const Var centered = named(x - mean(x, {-1}, true), "centered");
  const Var std = named(sqrt(mean(centered * centered, {-1}, true) + 1e-5), "std");
  const Var normalized = named(centered / std, "normalized");
  return normalized * weight + bias;
}

Var feed_forward(const Var& x, const Recording& r) {
  const Var hidden = named(relu(matmul(x, transpose(r["weight1"]))), "hidden");
  return matmul(hidden, transpose(r["weight2"]));
}

Var attention_of(const Var& query, const Var& key, const Var& value, const Tensor& keep = {}) {
  const double root = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Var scores = named(root * matmul(query, transpose(key)), "scores");
  const Var weights =
      named(keep.defined() ? masked_softmax(scores, keep) : softmax(scores), "weights");
  return matmul(weights, value);
}

// q: 1 - 0.1 at the target, and 0.1 over all classes.
Tensor smoothed(const Tensor& target, Index rows, Index classes) {
  const Tensor q = full({rows, classes}, 0.1 / static_cast<double>(classes), DType::Float64);
  return scatter_add(q, 1, unsqueeze(target, 1), full({rows, 1}, 0.9, DType::Float64));
}

const std::vector<Size> kAttentionSizes{
    {"B", 5, 2, 4}, {"T", 3, 3, 24}, {"S", 7, 5, 24}, {"D", 11, 4, 24}, {"E", 13, 7, 24}};
const std::vector<Size> kRows{{"R", 7, 4, 60}, {"V", 11, 6, 60}};
const std::vector<Size> kResidualSizes{
    {"B", 5, 2, 4}, {"T", 3, 3, 16}, {"F", 13, 7, 48}, {"D", 7, 4, 24}};
const std::vector<Input> kResidualInputs{{"x", {"B", "T", "D"}},
                                         {"weight1", {"F", "D"}},
                                         {"weight2", {"D", "F"}},
                                         {"gamma", {"D"}},
                                         {"beta", {"D"}}};

std::map<std::string, std::vector<ExerciseFunction>> functions() {
  std::map<std::string, std::vector<ExerciseFunction>> all;
  all["sums"] = {{"sums",
                  {{"B", 5, 2, 16}, {"T", 3, 3, 24}, {"D", 7, 4, 24}},
                  {{"x", {"B", "T", "D"}}, {"scale", {"T", "1"}}, {"bias", {"D"}}},
                  [](Recording& r) { return r["x"] * r["scale"] + r["bias"]; }}};
  all["linear"] = {
      {"linear",
       {{"B", 5, 2, 4}, {"T", 3, 3, 16}, {"D", 7, 4, 24}, {"E", 11, 5, 24}},
       {{"x", {"B", "T", "D"}}, {"weight", {"E", "D"}}, {"bias", {"E"}}},
       [](Recording& r) { return matmul(r["x"], transpose(r["weight"])) + r["bias"]; }}};
  all["softmax"] = {
      {"softmax", {{"R", 5, 3, 60}, {"C", 7, 5, 60}}, {{"x", {"R", "C"}}}, [](Recording& r) {
         return softmax(r["x"]);
       }}};
  all["cross_entropy"] = {{"cross_entropy",
                           kRows,
                           {{"logits", {"R", "V"}}, {"target", {"R"}, Kind::Class}},
                           [](Recording& r) {
                             const Tensor index =
                                 r.named("index", unsqueeze(r.given("target"), 1).clone());
                             const Var log_p = named(log_softmax(r["logits"]), "log_p");
                             return -mean(gather(log_p, 1, index));
                           },
                           "index = target[:, None]\n",
                           "const Tensor index = unsqueeze(target, 1);\n"}};
  all["layer_norm"] = {
      {"layer_norm",
       {{"B", 5, 2, 8}, {"T", 3, 3, 16}, {"D", 7, 5, 32}},
       {{"x", {"B", "T", "D"}}, {"weight", {"D"}}, {"bias", {"D"}}},
       [](Recording& r) { return layer_norm_of(r["x"], r["weight"], r["bias"]); }}};
  const std::vector<Input> qkv{
      {"query", {"B", "T", "D"}}, {"key", {"B", "S", "D"}}, {"value", {"B", "S", "E"}}};
  all["attention"] = {{"attention", kAttentionSizes, qkv, [](Recording& r) {
                         return attention_of(r["query"], r["key"], r["value"]);
                       }}};
  std::vector<Input> qkv_keep = qkv;
  qkv_keep.push_back({"keep", {"B", "T", "S"}, Kind::Keep});
  all["masks"] = {{"masked_attention", kAttentionSizes, qkv_keep, [](Recording& r) {
                     const Tensor keep = r.named("keep", r.given("keep"));
                     return attention_of(r["query"], r["key"], r["value"], keep);
                   }}};
  all["heads"] = {
      {"multihead_attention",
       {{"B", 5, 3, 2}, {"T", 3, 5, 16}, {"D", 22, 8, 32}, {"K", 11, 4, 16}, {"3 * D", 66, 24, 96}},
       {{"x", {"B", "T", "D"}},
        {"in_proj_weight", {"3 * D", "D"}},
        {"out_proj_weight", {"D", "D"}}},
       [](Recording& r) {
         const Index B = r.sizes["B"], T = r.sizes["T"], D = r.sizes["D"], K = r.sizes["K"];
         const Var qkv_of_x = named(matmul(r["x"], transpose(r["in_proj_weight"])), "qkv");
         std::vector<Var> heads;
         const char* names[] = {"query", "key", "value"};
         for (Index k = 0; k < 3; ++k)
           heads.push_back(
               named(permute(reshape(narrow(qkv_of_x, -1, k * D, D), {B, T, 2, K}), {0, 2, 1, 3}),
                     names[k]));
         const Var context = named(
             reshape(permute(attention_of(heads[0], heads[1], heads[2]), {0, 2, 1, 3}), {B, T, D}),
             "context");
         return matmul(context, transpose(r["out_proj_weight"]));
       },
       "K = x.shape[2] // 2\n",
       "const Index K = x.size(2) / 2;\n"}};
  all["residual"] = {{"post_norm", kResidualSizes, kResidualInputs,
                      [](Recording& r) {
                        const Var sum = named(r["x"] + feed_forward(r["x"], r), "sum");
                        return layer_norm_of(sum, r["gamma"], r["beta"]);
                      }},
                     {"pre_norm", kResidualSizes, kResidualInputs, [](Recording& r) {
                        const Var norm =
                            named(layer_norm_of(r["x"], r["gamma"], r["beta"]), "norm");
                        return r["x"] + feed_forward(norm, r);
                      }}};
  all["label_smoothing"] = {
      {"label_smoothing",
       kRows,
       {{"logits", {"R", "V"}}, {"target", {"R"}, Kind::Class}},
       [](Recording& r) {
         const Tensor q = r.named("q", smoothed(r.given("target"), r.sizes["R"], r.sizes["V"]));
         const Tensor log_q = r.named("log_q", log(q));
         const Var log_p = named(log_softmax(r["logits"]), "log_p");
         return sum(q * (log_q - log_p)) / static_cast<double>(r.sizes["R"]);
       },
       "q = np.full(logits.shape, 0.1 / logits.shape[1])\n"
       "q[np.arange(len(target)), target] += 0.9\n"
       "log_q = np.log(q)\n",
       "const Index rows = logits.size(0), classes = logits.size(1);\n"
       "const Tensor q = scatter_add(full({rows, classes}, 0.1 / classes, DType::Float64), 1,\n"
       "                             unsqueeze(target, 1), full({rows, 1}, 0.9, "
       "DType::Float64));\n"
       "const Tensor log_q = log(q);\n"}};
  const std::vector<Input> step{{"parameter", {}}, {"gradient", {}}, {"m", {}},
                                {"v", {}},         {"step", {}},     {"rate", {}}};
  all["adam"] = {{"adam_step", {}, step},
                 {"warm_up", {}, {{"step", {}}, {"d_model", {}}, {"steps", {}}}}};
  all["copy_task"] = {{"copy_task", {}, {}}};
  for (const char* name : {"softmax", "cross_entropy", "label_smoothing"})
    all[name][0].large_values = 1000;
  for (const char* name : {"attention", "masks", "heads"}) all[name][0].large_values = 100;
  return all;
}

std::vector<Exercise> read_exercises() {
  const auto made = functions();
  std::vector<Exercise> all;
  for (const TomlEntry& entry :
       parse_toml(std::string(course_file("exercises.toml")), "exercises.toml")) {
    if (entry.is_table) {
      Exercise e;
      e.number = static_cast<int>(all.size()) + 1;
      e.name = entry.table;
      e.functions = made.at(e.name);
      all.push_back(std::move(e));
      continue;
    }
    Exercise& e = all.back();
    (entry.key == "title"  ? e.title
     : entry.key == "look" ? e.look
                           : e.term) = fmt::format("{}", fmt::join(entry.values, " "));
  }
  return all;
}

const std::string kThreeD = "3 * D";

Index size_of(const Size& s, Sizes sizes) {
  return sizes == Sizes::Recorded ? s.recorded : sizes == Sizes::Checked ? s.checked : s.large;
}

}  // namespace

std::string_view course_file(std::string_view name) {
  const std::string head = "==== " + std::string(name) + "\n";
  std::size_t begin = kCourseFiles.find(head);
  if (begin == std::string_view::npos) return {};
  begin += head.size();
  return kCourseFiles.substr(
      begin, std::min(kCourseFiles.find("\n==== ", begin), kCourseFiles.size()) - begin);
}

const std::vector<Exercise>& exercises() {
  static const std::vector<Exercise> all = read_exercises();
  return all;
}

const Exercise& exercise_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Exercise& e : exercises()) {
    if (e.name == name || std::to_string(e.number) == name) return e;
    names.push_back(e.name);
  }
  throw ValueError("course", "no exercise '" + name + "'" + nearest_names(name, names));
}

Extents extents_of(const ExerciseFunction& f, Sizes sizes) {
  Extents extents{{"1", 1}};
  for (const Size& s : f.sizes) extents[s.letter] = size_of(s, sizes);
  return extents;
}

Extents resized(Extents extents, const std::string& letter, Index extent) {
  if (letter == "K" || letter == kThreeD) return extents;
  extents[letter] = extent;
  if (letter != "D") return extents;
  if (extents.contains("K")) extents["D"] = 2 * (extents["K"] = (extent + 1) / 2);
  if (extents.contains(kThreeD)) extents[kThreeD] = 3 * extents["D"];
  return extents;
}

std::vector<GradcheckInput> drawn_inputs(const ExerciseFunction& f, const Extents& extents,
                                         std::uint64_t seed, double scale) {
  std::vector<GradcheckInput> all;
  for (const Input& input : f.inputs) {
    Shape shape;
    for (const std::string& letter : input.shape) shape.push_back(extents.at(letter));
    const RandomKey key{seed, all.size() + 1};
    Tensor x = normal(shape, 0, scale, key, DType::Float64);
    if (input.kind == Kind::Keep) {
      x = greater(x, -0.5 * scale);
      // The first query of the first sentence keeps nothing.
      select(select(x, 0, 0), 0, 0).copy_(zeros({shape[2]}, DType::Bool));
    }
    if (input.kind == Kind::Class) {
      const auto classes = static_cast<double>(extents.at(f.sizes.back().letter));
      std::vector<std::int64_t> values;
      for (double v : uniform(shape, 0, 1, key, DType::Float64).to_vector<double>())
        values.push_back(static_cast<std::int64_t>(v * classes));
      x = from_vector(values, shape);
    }
    all.emplace_back(input.name, x, input.kind == Kind::Real);
  }
  return all;
}

Recording make_recording(const ExerciseFunction& f, const Extents& extents, std::uint64_t seed) {
  Recording r;
  r.sizes = extents;
  for (const GradcheckInput& input : drawn_inputs(f, extents, seed))
    r.inputs[input.name] = input.check ? Var::leaf(input.value, input.name) : Var(input.value);
  return r;
}

Callbacks reference(const ExerciseFunction& f) {
  auto recording = [&f](const Tensors& x) {
    Recording r;
    r.sizes = extents_of(f, Sizes::Checked);  // also those that no input has
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Input& input = f.inputs[k];
      r.inputs[input.name] = input.kind == Kind::Real ? Var::leaf(x[k], input.name) : Var(x[k]);
      for (std::size_t axis = 0; axis < input.shape.size(); ++axis)
        r.sizes[input.shape[axis]] = x[k].size(static_cast<int>(axis));
    }
    if (r.sizes.contains("K")) r.sizes["K"] = r.sizes["D"] / 2;
    return r;
  };
  return {[=, &f](const Tensors& x) {
            const NoGrad no_tape;
            Recording r = recording(x);
            return Tensors{f.forward(r).value()};
          },
          [=, &f](const Tensors& x, const Tensors& dy) {
            Tape tape;
            Recording r = recording(x);
            tape.backward(sum(f.forward(r) * dy[0]));
            Tensors dx;
            for (const Input& input : f.inputs)
              dx.push_back(input.kind == Kind::Real ? r[input.name].grad() : Tensor());
            return dx;
          }};
}

}  // namespace course
}  // namespace glim
