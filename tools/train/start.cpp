#include "tools/train/start.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/kinds/kind.hpp"

namespace glim {

FromStart start_of(const Row& row) {
  return row.from_start.value_or(row.group == std::string_view("Model") ? FromStart::Same
                                                                        : FromStart::Free);
}

std::unique_ptr<Checkpoint> starting_model(TrainOptions& o, const OptionGiven& is_given) {
  if (o.init_from.empty()) return nullptr;
  auto start = std::make_unique<Checkpoint>();
  *start = load_checkpoint(o.init_from);
  Checkpoint& c = *start;
  if (!is_given("kind")) o.kind = c.kind;
  const std::vector<std::string>& others = kind_named(o.kind).starts_of;
  if (std::ranges::find(others, c.kind) != others.end()) return nullptr;
  if (o.kind != c.kind)
    throw FileError(c.file,
                    fmt::format("holds a model of kind '{}'; --init-from needs one of kind "
                                "'{}'{}",
                                c.kind, o.kind, others.empty() ? "" : " or '" + others[0] + "'"));
  auto model = parse_json(c.described("model"), false);
  for (const Row& row : o.rows()) {
    const FromStart start_is = start_of(row);
    if (start_is == FromStart::Free) continue;
    const bool limit = start_is == FromStart::AtMost, free = start_is == FromStart::Default;
    const auto mine = stored(row), its = c.options.value(row.key());
    const std::string name = dashed(row.key());
    if (!is_given(name))
      restore(row, its);
    else if (!free && mine != its && !(limit && mine < its))
      throw ValueError(
          "--" + name,
          fmt::format("{} has {}, and a run that begins with it {}; leave the option out",
                      o.init_from, its.dump(), limit ? "can have less, not more" : "has the same"));
    if (free && model.is_object() && model.contains(row.name)) model[row.name] = stored(row);
  }
  c.description["model"] = model.is_object() ? model.dump() : c.description["model"];
  return start;
}

}  // namespace glim
