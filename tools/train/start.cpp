#include "tools/train/start.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/train/option_list.hpp"

namespace glim {

std::unique_ptr<Checkpoint> starting_model(TrainOptions& o,
                                           const std::function<bool(const char*)>& given) {
  if (o.init_from.empty()) return nullptr;
  auto start = std::make_unique<Checkpoint>();
  *start = load_checkpoint(o.init_from);
  Checkpoint& c = *start;
  if (!given("kind")) o.kind = c.kind;
  const bool labels = o.kind == "classifier" || o.kind == "tagger";
  if (labels && c.kind == "bert") return nullptr;
  if (o.kind != c.kind)
    throw FileError(c.file,
                    fmt::format("holds a model of kind '{}'; --init-from needs one of kind '{}'{}",
                                c.kind, o.kind, labels ? " or 'bert'" : ""));
  auto model = parse_json(c.described("model"), false);
  for (const TrainOption& t : train_options()) {
    if (t.from_start == FromStart::Free) continue;
    const bool limit = t.from_start == FromStart::AtMost, free = t.from_start == FromStart::Default;
    const auto mine = t.json(o), its = t.json(c.options);
    if (!given(t.name.c_str()))
      t.copy(c.options, o);
    else if (!free && mine != its && !(limit && mine < its))
      throw ValueError(
          "--" + t.name,
          fmt::format("{} has {}, and a run that begins with it {}; leave the option out",
                      o.init_from, its.dump(), limit ? "can have less, not more" : "has the same"));
    if (free && model.is_object() && model.contains(t.key)) model[t.key] = t.json(o);
  }
  c.description["model"] = model.is_object() ? model.dump() : c.description["model"];
  return start;
}

}  // namespace glim
