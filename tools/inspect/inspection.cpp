#include "tools/inspect/inspection.hpp"

namespace glim {

Inspection inspect(Example& example, const InspectionOptions& options) {
  Inspection inspection;
  static_cast<ExampleText&>(inspection) = example;
  inspection.capture = capture(example);
  inspection.blocks = blocks_of(inspection.capture);
  if (example.source.empty() || example.target_in.empty())  // one stack
    for (Block& b : inspection.blocks) b.side = example.source.empty() ? "decoder" : "encoder";
  inspection.junctions = residual_junctions(inspection.capture);
  inspection.memory = memory_junction(inspection.capture);
  inspection.positions = positions_views(example.model());
  inspection.attention = attention_views(inspection.capture, example);
  if (!inspection.attention.empty())
    inspection.rollout = token_rollout(inspection.attention, std::ssize(example.source),
                                       std::ssize(example.target_in));
  if (options.attribution_steps > 0)
    inspection.attribution = attribute(example, options.attribution_steps);
  if (options.lens) inspection.lens = backward_lens(inspection.capture, example);
  inspection.remarks = remarks_on(inspection);
  return inspection;
}

}  // namespace glim
