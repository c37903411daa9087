#include "tools/train/option_kinds.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tools/common/utf8.hpp"

namespace glim {
namespace {

struct Owners {
  const char *kinds, *options;
};

// An option that stands in no row is every kind's.
constexpr Owners kOwners[] = {
    {"transformer rnn conv non-autoregressive",
     "source target valid-source valid-target pairs valid-pairs target-tokenizer "
     "target-vocabulary-file shared-vocabulary examples teacher "
     "teacher-beam guided-attention guided-width try-every enough"},
    {"transformer rnn conv non-autoregressive gpt bert classifier",
     "tokenizer vocabulary vocabulary-file min-frequency"},
    {"transformer rnn conv non-autoregressive bert classifier", "max-length"},
    {"transformer rnn conv", "scheduled-sampling sampling-schedule sampling-steps"},
    {"transformer conv non-autoregressive", "decoder-layers"},
    {"transformer non-autoregressive gpt bert classifier vit", "heads d-ff"},
    {"transformer non-autoregressive gpt bert classifier", "norm activation tie positions"},
    {"transformer non-autoregressive",
     "attention-dropout activation-dropout embedding-init recompute"},
    {"transformer rnn", "copy"},
    {"rnn", "d-embed cell attention"},
    {"conv", "kernel"},
    {"non-autoregressive", "length"},
    {"gpt bert", "text valid-text"},
    {"gpt bert classifier", "init"},
    {"gpt", "block bias"},
    {"transformer rnn conv non-autoregressive classifier", "columns"},
    {"classifier", "labelled valid-labelled word-dropout"},
    {"classifier vit", "pooling"},
    {"vit",
     "images labels valid-images valid-labels image-folder valid-image-folder train-first "
     "valid-last patch shift rotation"},
};

}  // namespace

std::vector<std::string> kinds_with(const std::string& option) {
  for (const Owners& owners : kOwners)
    for (std::string_view name : split_spaces(owners.options)) {
      if (name != option) continue;
      std::vector<std::string> kinds;
      for (std::string_view kind : split_spaces(owners.kinds)) kinds.emplace_back(kind);
      return kinds;
    }
  return {};
}

bool takes(const std::string& kind, const std::string& option) {
  auto kinds = kinds_with(option);
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string no_option_of(const std::string& kind, const std::vector<std::string>& owners) {
  return fmt::format("is no option of --kind {}; it belongs to --kind {}", kind,
                     fmt::join(owners, ", "));
}

void refuse_strangers(const TrainOptions& o) {
  for (const std::string& name : differences(o, TrainOptions{}))
    if (!takes(o.kind, name)) throw ValueError("--" + name, no_option_of(o.kind, kinds_with(name)));
}

}  // namespace glim
