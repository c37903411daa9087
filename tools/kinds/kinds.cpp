#include "models/pipeline/kinds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/random.hpp"
#include "tensor/system/machine.hpp"
#include "tools/kinds/embeddings.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

#define GLIM_KIND(name, ...) const Kind& name##_kind();  // in the file of its name
GLIM_KINDS(GLIM_KIND)
#undef GLIM_KIND

const std::vector<const Kind*>& kinds() {
#define GLIM_KIND(name, ...) &name##_kind(),
  static const std::vector<const Kind*> list = {GLIM_KINDS(GLIM_KIND)};
#undef GLIM_KIND
  return list;
}

std::vector<std::string> words(std::string_view text) {
  const auto parts = split_spaces(text);
  return {parts.begin(), parts.end()};
}

const Kind* find_kind(std::string_view name) {
  for (const Kind* kind : kinds())
    if (kind->name == name) return kind;
  return nullptr;
}

const Kind& kind_named(std::string_view name) {
  if (const Kind* kind = find_kind(name)) return *kind;
  throw ValueError("--kind", fmt::format("'{}' is not one of {}", name, names_of(kinds())));
}

std::string names_of(const std::vector<const Kind*>& these) {
  std::string names;
  for (const Kind* kind : these) names += (names.empty() ? "" : ", ") + kind->name;
  return names;
}

std::vector<const Kind*> kinds_that_give(std::initializer_list<Gives> these) {
  std::vector<const Kind*> list;
  for (const Kind* kind : kinds())
    if (std::ranges::find(these, kind->gives()) != these.end()) list.push_back(kind);
  return list;
}

namespace {

// The keys of the options that set its sizes.
std::vector<std::string> size_keys(const Kind& kind) {
  ModelSizes copy = kind.sizes;
  std::vector<std::string> keys;
  for (const Row& size : copy.rows())
    if (!size.help.empty()) keys.push_back(size.key());
  return keys;
}

// The kinds that have an option, where not every kind does.
using Owners = std::map<std::string, std::vector<const Kind*>, std::less<>>;
const Owners& owners() {
  static const Owners all = [] {
    Owners found;
    for (const Kind* kind : kinds()) {
      for (const std::string& option : kind->options) found[option].push_back(kind);
      for (const std::string& size : size_keys(*kind)) found[size].push_back(kind);
    }
    return found;
  }();
  return all;
}

void use_embeddings(const TrainOptions& o, Learner& learner, bool fresh) {
  Param& table = token_embeddings(learner.model()).weight;
  if (fresh) {
    const auto parts = learner.description();
    const auto source = parts.find("source_tokenizer");
    const TokenizerPtr tokenizer =
        deserialize_tokenizer(source == parts.end() ? parts.at("tokenizer") : source->second);
    const Index all = tokenizer->size() - kSpecialTokens,
                found = load_embeddings(o.embeddings, *tokenizer, table.value(),
                                        kind_named(o.kind).has("d_embed") ? "d-embed" : "d-model");
    learner.add_note(
        fmt::format("  embeddings: {} of {} tokens of the vocabulary are in {} ({:.1f} %){}", found,
                    all, o.embeddings, 100 * static_cast<double>(found) / static_cast<double>(all),
                    o.freeze_embeddings ? "; the table is not trained" : ""));
  }
  table.leaf().trainable = !o.freeze_embeddings;
}

}  // namespace

std::vector<const Kind*> kinds_with(std::string_view option) {
  const auto found = owners().find(option);
  return found == owners().end() ? kinds() : found->second;
}

bool Kind::has(std::string_view option) const {
  const auto found = owners().find(option);
  return found == owners().end() || std::ranges::find(found->second, this) != found->second.end();
}

Gives Kind::gives() const {
  return std::ranges::find_if(model_kinds(), [&](const ModelKind& k) { return k.name == name; })
      ->gives;
}

std::string not_an_option_of(const Kind& kind, std::string_view option) {
  const std::vector<const Kind*> its = kinds_with(option);
  std::string problem =
      fmt::format("is no option of --kind {}; it belongs to --kind {}", kind.name, names_of(its));
  const Kind& one = *its.at(0);
  const bool is_size = std::ranges::find(one.options, option) == one.options.end();
  if (!is_size) return problem;
  problem += "; a " + kind.name + " has";
  for (const std::string& size : size_keys(kind)) problem += " --" + dashed(size);
  return problem;
}

std::unique_ptr<Learner> make_learner(const TrainOptions& options, const ModelFile* init) {
  const Kind& kind = kind_named(options.kind);
  require_memory(options, static_cast<double>(inspect_machine().memory_bytes));
  seed(static_cast<std::uint64_t>(options.seed));
  check_rows(options);
  auto learner = kind.learner(options, init);
  if (options.precision == "float64") learner->model().to(DType::Float64);
  if (!options.embeddings.empty()) use_embeddings(options, *learner, init == nullptr);
  return learner;
}

}  // namespace glim
