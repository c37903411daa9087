// A listing as a page: each line of the forward pass, and beside it the lines of backward that it gives rise to.
//
// An equation is text, "dscores = probs ⊙ (dprobs - Σ(dprobs ⊙ probs))"; LaTeX and MathML are made from it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/derive/program.hpp"

namespace glim::derive {

struct Row {
  std::vector<int> nodes;  // on the tape: one of each of the layers that the line is for
  std::string forward, shape, where;
  std::vector<std::string> backward;
};
struct Section {
  std::string heading;  // "decoder.layers.0 … 1.multihead_attn"
  std::vector<Row> rows;
};
struct Sheet {
  std::string title;
  std::vector<std::string> notes;
  std::vector<Section> sections;
  int marked = -1;              // the node whose line text_of marks with =>
  std::set<std::string> names;  // of values; other words are prose
};

// The lines of the module, or of all (""). By the ops' equations, or (a listing without each_op) as backward recorded
// them. ValueError with the nearest names for an unknown module.
Sheet sheet_of(const Listing& listing, const Letters& letters, const std::string& module,
               bool equations);

// Adds a note for each node whose gradient a hook changed; `equations` as in sheet_of.
void add_notes_on_hooks(Sheet& sheet, const Pass& pass, bool equations);

std::string text_of(const Sheet& sheet);
std::string document_of(const Sheet& sheet, Format format);

}  // namespace glim::derive
