#include "tools/convert/weights.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "nn/attention/positions.hpp"
#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/number.hpp"

namespace glim {
namespace {

// "a, b and 3 more"
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
  std::string text = fmt::format("{}", fmt::join(first, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

// True if this is the table of positions that Glim adds: (L, D), or with an axis for the batch.
bool are_sines(const Tensor& value) {
  if (value.rank() < 2 || value.rank() > 3 ||
      value.size(-1) * std::max(value.size(0), value.size(1)) != value.numel())
    return false;
  Tensor table = reshape(value, {-1, value.size(-1)}).to(DType::Float64);
  Tensor sines = sinusoidal_positions(0, table.size(0), table.size(1), 10000, DType::Float64);
  return max(abs(sub(table, sines))).item() < 1e-4;
}

}  // namespace

void Misfits::refuse(const std::string& file, const Format& format) const {
  if (missing.empty() && unexpected.empty() && shapes.empty()) return;
  std::string text =
      fmt::format("these are not the weights of a model that --from {} takes", format.name);
  auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("; {}: {}", what, listed(names));
  };
  add("missing", missing);
  add("unexpected", unexpected);
  add("of another shape", shapes);
  bool biases = !missing.empty() &&
                std::all_of(missing.begin(), missing.end(),
                            [](const std::string& name) { return name.ends_with("bias"); });
  if (biases)
    text +=
        "; this kind of model has biases: with bias=False, zeros under these names are the same "
        "model";
  throw FileError(file, text);
}

const Tensor* ForeignWeights::find(const std::string& name) const {
  auto entry = ours.find(name);
  return entry == ours.end() ? nullptr : &entry->second;
}

std::string ForeignWeights::theirs(const std::string& name) const {
  auto names = their_names(format, name);
  return names.empty() ? name : names[0].name;
}

const Tensor& ForeignWeights::need(const std::string& name, int rank) {
  const Tensor* t = find(name);
  if (!t)
    misfits.missing.push_back(theirs(name));
  else if (t->rank() != rank)
    misfits.shapes.push_back(
        fmt::format("{} {}, which should have {} axes", theirs(name), to_string(t->shape()), rank));
  misfits.refuse(file, format);
  return *t;
}

void ForeignWeights::take(const StateDict& state) {
  bool wide = false;
  for (auto& [name, tensor] : state) wide = wide || tensor.dtype() == DType::Float64;
  for (auto& [name, tensor] : state)
    take(name, wide && is_floating(tensor.dtype()) ? tensor.to(DType::Float64) : tensor);
  join_thirds();
  misfits.refuse(file, format);
}

void ForeignWeights::compare(const StateDict& model) {
  for (auto& [name, tensor] : model)
    if (const Tensor* t = find(name); !t)
      misfits.missing.push_back(theirs(name));
    else if (t->shape() != tensor.shape())
      misfits.shapes.push_back(fmt::format("{} {} instead of {}", theirs(name),
                                           to_string(t->shape()), to_string(tensor.shape())));
  for (auto& [name, tensor] : ours)
    if (!model.count(name)) misfits.unexpected.push_back(theirs(name));
}

void ForeignWeights::take(const std::string& name, const Tensor& value) {
  auto renamed = our_name(format, name);
  if (!renamed) {
    misfits.unexpected.push_back(name);
    return;
  }
  auto& [key, layout] = *renamed;
  if (layout == Layout::Unused) return;
  if (!is_floating(value.dtype())) {
    misfits.shapes.push_back(fmt::format("{}, which is {}", name, name_of(value.dtype())));
    return;
  }
  if (!all_finite(value)) throw FileError(file, name + " holds numbers that are not finite");
  if (layout == Layout::Sines) {
    if (!are_sines(value))
      throw FileError(file,
                      name + " is not the table of interleaved sines and cosines that Glim adds");
    return;
  }
  auto require_same = [&](const Tensor& had, const Tensor& now) {
    if (!same_bits(had, now))
      throw FileError(file, name + " and another name of the same weight hold different values");
  };
  if (layout == Layout::Query || layout == Layout::Key || layout == Layout::Value) {
    Tensor& third =
        thirds_[key][static_cast<std::size_t>(layout) - static_cast<std::size_t>(Layout::Query)];
    if (third.defined()) require_same(third, value);
    third = value;
    return;
  }
  Tensor laid = value;
  if (layout == Layout::Conv1d && format.conv1d && value.rank() == 2)
    laid = transpose(value).contiguous();
  if (layout == Layout::Row && value.rank() == 2 && value.size(0) == 1) laid = select(value, 0, 0);
  if (const Tensor* had = find(key)) require_same(*had, laid);
  ours[key] = laid;
}

void ForeignWeights::join_thirds() {
  for (auto& [key, parts] : thirds_) {
    auto names = their_names(format, key);
    bool whole = true;
    for (std::size_t i = 0; i < 3; ++i)
      if (!parts[i].defined()) {
        misfits.missing.push_back(names[i].name);
        whole = false;
      } else if (parts[i].rank() == 0 || parts[i].shape() != parts[0].shape()) {
        misfits.shapes.push_back(names[i].name);
        whole = false;
      }
    if (whole) ours[key] = concatenate(std::vector<Tensor>{parts[0], parts[1], parts[2]}, 0);
  }
}

Index ForeignWeights::layers(const std::string& stack) {
  const std::string dir = stack + ".layers.";
  std::set<Index> numbers;
  for (auto& [name, tensor] : ours)
    if (name.starts_with(dir)) {
      const std::string number = name.substr(dir.size(), name.find('.', dir.size()) - dir.size());
      if (const auto n = number_in<Index>(number); n && *n >= 0)
        numbers.insert(*n);
      else
        misfits.unexpected.push_back(theirs(name));
    }
  const Index last = numbers.empty() ? -1 : *numbers.rbegin();
  // One that is missing is named; of a number far beyond the others the layers before it are not.
  return last < std::ssize(ours) ? last + 1 : std::ssize(numbers) + 1;
}

}  // namespace glim
