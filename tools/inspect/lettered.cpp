#include "tools/inspect/lettered.hpp"

#include <algorithm>

#include "tensor/error.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/checkpoint.hpp"

namespace glim {
namespace {

std::vector<derive::Extent> extents_of(Example& e, const TrainOptions& o) {
  std::vector<derive::Extent> all;
  auto add = [&](const char* letter, const char* means, Index size) {
    if (size > 1) all.push_back({letter, means, size});
  };
  const auto width = static_cast<Index>(o.number("d_model")),
             heads = static_cast<Index>(o.number("heads"));
  add("D", "width of the model", width);
  if (heads > 0) {
    add("H", "heads", heads);
    add("Dh", "width of a head, D / H", width / heads);
  }
  add("F", "width of the hidden layer", static_cast<Index>(o.number("d_ff")));
  if (!e.source.empty()) add("S", "tokens of the source", std::ssize(e.source));
  add("T", e.source.empty() ? "tokens" : "tokens of the target",
      std::max(std::ssize(e.target_in), std::ssize(e.target_out)));
  for (const TokenizerPtr& t : {e.tokenizers.target, e.tokenizers.source})
    if (t && t == e.tokenizers.target && all.back().letter != "V")
      add("V", "vocabulary", t->size());
    else if (t && all.back().letter != "V")
      add("V'", "vocabulary of the source", t->size());
  if (e.logits) {
    const NoGrad no_tape;
    const Index classes = e.logits().value().size(-1);
    if (std::ranges::none_of(
            all, [&](const derive::Extent& x) { return x.letter[0] == 'V' && x.size == classes; }))
      add("C", "classes", classes);
  }
  return all;
}

// The letter of each size. False if two extents are equal; S and V stand for the target's, too, if `alike`.
bool give_letters(derive::Letters& letters, const std::vector<derive::Extent>& extents,
                  bool alike) {
  std::set<Index> shared;
  auto give = [&](const std::string& letter, Index n) {
    const auto [known, fresh] = letters.names.emplace(n, letter);
    const std::string pair = known->second + letter;
    if (!fresh && pair != "VV'" && pair != "VV" && !(alike && pair == "ST")) shared.insert(n);
  };
  for (const derive::Extent& e : extents) give(e.letter, e.size);
  if (const Index width = extents.empty() ? 0 : extents[0].size; width > 1)
    for (const auto& [letter, n] : {std::pair{"3D", 3 * width}, {"2D", 2 * width}}) give(letter, n);
  for (const Index n : shared) letters.names.erase(n);
  return shared.empty();
}

bool same_ops(const Pass& a, const Pass& b) {
  const auto &x = a.nodes(), &y = b.nodes();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const PassNode& p, const PassNode& q) {
                      return p.op == q.op && p.path == q.path && p.inputs == q.inputs;
                    });
}

}  // namespace

Var recorded_loss(Example& example, derive::ConstantNames& names) {
  Tape::current()->observe(names);
  return example.loss();
}

std::unique_ptr<LetteredPass> lettered_pass(const ExampleOptions& options, Example& example,
                                            const Pass& pass, const RecordedLoss& record) {
  ExampleOptions twin = options;
  if (!options.init) twin.fresh = trained_options(read_model(options.model));
  const std::vector<derive::Extent> extents = extents_of(example, twin.fresh);
  twin.init = true;
  const auto its_heads = static_cast<Index>(twin.fresh.number("heads"));
  for (int tries = 0; tries < 10; ++tries) {
    const Index heads = std::max<Index>(its_heads, 2) * (1 + tries % 3);
    auto set = [&](const char* size, Index n) {
      if (!twin.fresh.value(size).is_null()) twin.fresh.set(size, n);
    };
    if (its_heads > 0) set("heads", heads);
    set("d_model", (20 + 2 * tries) * heads);
    set("d_ff", 48 + 10 * tries);
    if (tries == 0) {
      twin.source = twin.target = "";
      if (twin.fresh.task == "files") {  // a task whose sentences any tokenizer splits
        const auto& tasks = kind_named(twin.fresh.kind).tasks;
        twin.fresh.task = std::ranges::find(tasks, "copy") == tasks.end() ? tasks[0] : "copy";
      }
    } else if (tries == 5) {
      twin.source = options.source;
      twin.target = options.target;
    }
    try {
      auto made = std::make_unique<LetteredPass>();
      made->example = make_example(twin);
      if (const Example& e = *made->example;  // a copy is as long as its source
          tries == 0 && e.source.size() == e.target_in.size()) {
        twin.source = e.source_text;
        twin.target = e.target_text + " " + e.target_text;
      }
      if (!give_letters(made->letters, extents_of(*made->example, twin.fresh), tries > 4)) continue;
      made->pass = Pass([&] { return record(*made->example, made->names); });
      if (!same_ops(pass, made->pass)) continue;
      made->letters.extents = extents;
      return made;
    } catch (const Error&) {  // the model does not take this text or these sizes
    }
  }
  auto fallback = std::make_unique<LetteredPass>();
  fallback->pass = Pass([&] { return record(example, fallback->names); });
  give_letters(fallback->letters, extents, true);
  fallback->letters.extents = extents;
  return fallback;
}

}  // namespace glim
