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
struct Sign {
  std::string sign, means;
  bool extent = false;  // of a shape
};
struct Section {
  std::string heading;  // "decoder.layers.0 … 1.multihead_attn"
  std::vector<Row> rows;
  std::vector<Sign> signs = {};  // of this section alone
};
struct Sheet {
  std::string title;
  std::vector<std::string> notes;
  std::vector<Sign> signs;  // that the lines have
  std::vector<Section> sections;
  int marked = -1;                // the node whose line text_of marks with =>
  std::set<std::string> names;    // of values; other words are prose
  std::set<std::string> extents;  // letters of sizes
  bool paper = false;  // W_Q^h is a letter with indices, and LaTeX has the lines of a column
};

// The lines of the module, or of all (""). By the ops' equations, or (a listing without each_op) as backward recorded
// them. With letters the values of an attention have the paper's, Q K V S A O, and the sheet a table of its signs.
// `module` may be the end of one name. ValueError with the nearest names for an unknown module.
Sheet sheet_of(const Listing& listing, const Letters& letters, const std::string& module,
               bool equations);

// Adds a note for each node whose gradient a hook changed; `equations` as in sheet_of.
void add_notes_on_hooks(Sheet& sheet, const Pass& pass, bool equations);

// Adds the table of signs, with the letters of extents.
void add_signs(Sheet& sheet, const Letters& letters);

std::string text_of(const Sheet& sheet);
// `bare`: the equations alone, for a slide.
std::string document_of(const Sheet& sheet, Format format, bool bare = false);
// By the format's name: text, markdown, latex, align (the equations alone) or html. ValueError for another.
std::string written_as(const Sheet& sheet, const std::string& format);

// The module of this name, or of the one name that ends with it. ValueError as of sheet_of.
std::string module_named(const Trace& trace, const std::string& name);

}  // namespace glim::derive
