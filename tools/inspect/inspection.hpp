// All results of inspecting one pass, for pages, files and pictures.
#pragma once

#include "tools/derive/sheet.hpp"
#include "tools/inspect/attention_view.hpp"
#include "tools/inspect/attribution.hpp"
#include "tools/inspect/blocks.hpp"
#include "tools/inspect/junctions.hpp"
#include "tools/inspect/lens.hpp"
#include "tools/inspect/positions_view.hpp"

namespace glim {

// A computed sentence, with the rule that produced it.
struct Remark {
  std::string text, rule;
  std::string view;  // of the page that shows it: model, attention, walk, tokens
};

struct Inspection : ExampleText {
  Pass pass;
  derive::Sheet lines;  // the pass written out
  std::vector<Block> blocks;
  std::vector<Junction> junctions;
  Junction memory;
  std::vector<AttentionView> attention;
  std::vector<PositionsView> positions;
  Attribution attribution;
  TokenRollout rollout;
  std::vector<LensMatrix> lens;
  std::vector<Remark> remarks;
};

struct InspectionOptions {
  int attribution_steps = 32;  // 0: none
  bool lens = true;
  bool without_heads = true;  // the loss without each head
};
Inspection inspect(Example& example, const InspectionOptions& options = {});
// The pass runs to its end. It may come from any program. The text has its title, and the tokens of its positions, where
// they are known; a model of one stack has them as both source and target. Attributions, rollout and the lens are left out.
Inspection inspect(Pass pass, ExampleText text);
// The whole pass of an example, with its changes, and the names of its constants. It is over, and its tape has ended.
Pass pass_of(Example& example, derive::NamedConstants* names = nullptr);
// The pass of another sentence or image by the same options, to the same translation. Pixels in the options are those of
// the other image.
Pass pass_of_other(const Example& example, ExampleOptions options, const std::string& other);

// Remarks for the reader (remarks.cpp has the thresholds).
std::vector<Remark> remarks_on(const Inspection& inspection);

}  // namespace glim
