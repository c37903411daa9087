#include "tools/inspect/look.hpp"

namespace glim {

Look look_at(Specimen& specimen, const LookOptions& options) {
  Look look;
  look.title = specimen.title();
  look.source_text = specimen.source_text();
  look.target_text = specimen.target_text();
  look.own_target = specimen.target_is_its_own();
  look.source = specimen.source();
  look.target_in = specimen.target_in();
  look.target_out = specimen.target_out();
  look.source_ids = specimen.source_ids();
  look.target_out_ids = specimen.target_out_ids();
  look.label_smoothing = specimen.label_smoothing();
  look.capture = capture(specimen);
  look.blocks = blocks_of(look.capture);
  look.junctions = residual_junctions(look.capture);
  look.memory = memory_junction(look.capture);
  if (options.attention) look.attention = attention_views(look.capture, specimen);
  auto s = static_cast<Index>(look.source.size()), t = static_cast<Index>(look.target_in.size());
  if (options.attention) look.rollout = token_rollout(look.attention, s, t);
  if (options.attribution_steps > 0)
    look.attribution = attribute(specimen, options.attribution_steps);
  look.remarks = remarks_on(look);
  return look;
}

}  // namespace glim
