#include "tools/inspect/inspection.hpp"

namespace glim {
namespace {

// The findings that need only a pass. The text gives the names of its positions.
Inspection seen_in(Pass pass, const ExampleText& text, const derive::NamedConstants& names = {}) {
  Inspection inspection;
  static_cast<ExampleText&>(inspection) = text;
  inspection.lines =
      derive::sheet_of(derive::Listing(derive::forward_of(pass, names), true), {}, "", true);
  inspection.blocks = blocks_of(pass);
  inspection.junctions = residual_junctions(pass);
  inspection.memory = memory_junction(pass);
  inspection.attention = attention_views(pass, text);
  inspection.pass = std::move(pass);
  return inspection;
}

void measure_without_heads(Inspection& inspection) {
  for (AttentionView& v : inspection.attention)
    if (v.probs.size() == 1) v.without = without_heads(inspection.pass, v.probs[0]);
}

}  // namespace

Pass pass_of(Example& example, derive::NamedConstants* names) {
  derive::ConstantNames constants;
  Pass pass(
      [&] {
        Tape::current()->observe(constants);
        return example.loss();
      },
      Roles(example.model()));
  if (names) *names = std::move(constants.names);
  run_changed(pass, example.changes());
  pass.end();
  return pass;
}

Pass pass_of_other(const Example& example, ExampleOptions options, const std::string& other) {
  if (options.pixels.empty())
    (example.images.files.empty() ? options.source : options.image) = other;
  if (!example.is_one_stack()) options.target = example.target_text;
  return pass_of(*make_example(options));
}

Inspection inspect(Example& example, const InspectionOptions& options) {
  derive::NamedConstants names;
  Pass pass = pass_of(example, &names);
  Inspection inspection = seen_in(std::move(pass), example, names);
  if (example.changes().any())
    inspection.lines.notes.push_back(
        "This pass was changed: its gradients are not only those of the equations.");
  if (example.is_one_stack())
    for (Block& b : inspection.blocks) b.side = example.source.empty() ? "decoder" : "encoder";
  inspection.positions = positions_views(example.model());
  if (!inspection.attention.empty())
    inspection.rollout = token_rollout(inspection.attention, std::ssize(example.source),
                                       std::ssize(example.target_in));
  if (options.attribution_steps > 0)
    inspection.attribution = attribute(example, options.attribution_steps);
  if (options.without_heads) measure_without_heads(inspection);
  if (options.lens) inspection.lens = backward_lens(inspection.pass, example);
  inspection.remarks = remarks_on(inspection);
  return inspection;
}

Inspection inspect(Pass pass, ExampleText text) {
  while (pass.current() >= 0) pass.step();
  text.target_text = pass[pass.loss()].path;
  Inspection inspection = seen_in(std::move(pass), text);
  measure_without_heads(inspection);
  add_notes_on_hooks(inspection.lines, inspection.pass, true);
  if (inspection.pass.dy().defined())
    inspection.lines.notes.push_back(
        "The loss is Σ y·dy, and the gradient of y is the dy given, not 1.");
  if (!inspection.pass.roles().knows_sides())
    for (Block& b : inspection.blocks) b.side = "model";
  inspection.remarks = remarks_on(inspection);
  return inspection;
}

}  // namespace glim
