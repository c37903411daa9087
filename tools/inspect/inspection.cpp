#include "tools/inspect/inspection.hpp"

namespace glim {

Inspection inspect(Example& example, const InspectionOptions& options) {
  Inspection inspection;
  inspection.title = example.title();
  inspection.source_text = example.source_text();
  inspection.target_text = example.target_text();
  inspection.own_target = example.target_is_its_own();
  inspection.source = example.source();
  inspection.target_in = example.target_in();
  inspection.target_out = example.target_out();
  inspection.source_ids = example.source_ids();
  inspection.target_out_ids = example.target_out_ids();
  inspection.label_smoothing = example.label_smoothing();
  inspection.capture = capture(example);
  inspection.blocks = blocks_of(inspection.capture);
  if (inspection.source.empty())
    for (Block& b : inspection.blocks) b.side = "decoder";
  inspection.junctions = residual_junctions(inspection.capture);
  inspection.memory = memory_junction(inspection.capture);
  if (options.attention) inspection.attention = attention_views(inspection.capture, example);
  auto s = static_cast<Index>(inspection.source.size()),
       t = static_cast<Index>(inspection.target_in.size());
  if (options.attention && s > 0) inspection.rollout = token_rollout(inspection.attention, s, t);
  if (options.attribution_steps > 0 && s > 0)
    inspection.attribution = attribute(example, options.attribution_steps);
  if (options.lens) inspection.lens = backward_lens(inspection.capture, example);
  inspection.remarks = remarks_on(inspection);
  return inspection;
}

}  // namespace glim
