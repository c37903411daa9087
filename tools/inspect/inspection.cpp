#include "tools/inspect/inspection.hpp"

namespace glim {

Pass pass_of(Example& example) {
  Pass pass([&] { return example.loss(); }, Roles(example.model()));
  run_changed(pass, example.changes());
  pass.end();
  return pass;
}

Inspection inspect(Example& example, const InspectionOptions& options) {
  Inspection inspection;
  static_cast<ExampleText&>(inspection) = example;
  inspection.pass = pass_of(example);
  const Pass& pass = inspection.pass;
  inspection.lines =
      derive::sheet_of(derive::Listing(derive::forward_of(pass), true), {}, "", true);
  if (example.changes().any())
    inspection.lines.notes.push_back(
        "This pass was changed: its gradients are not only those of the equations.");
  inspection.blocks = blocks_of(pass);
  if (example.source.empty() || example.target_in.empty())  // one stack
    for (Block& b : inspection.blocks) b.side = example.source.empty() ? "decoder" : "encoder";
  inspection.junctions = residual_junctions(pass);
  inspection.memory = memory_junction(pass);
  inspection.positions = positions_views(example.model());
  inspection.attention = attention_views(pass, example);
  if (!inspection.attention.empty())
    inspection.rollout = token_rollout(inspection.attention, std::ssize(example.source),
                                       std::ssize(example.target_in));
  if (options.attribution_steps > 0)
    inspection.attribution = attribute(example, options.attribution_steps);
  if (options.lens) inspection.lens = backward_lens(pass, example);
  inspection.remarks = remarks_on(inspection);
  return inspection;
}

}  // namespace glim
