// The language: Gansner & North 2000; its grammar: graphviz.org/doc/info/lang.html.
#include <vector>

#include "autograd/observe/tape_table.hpp"

namespace glim {
namespace {

// Within double quotes only " and \ mean something; a label's line ends are written out.
std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

// Cuts a path at its dots, but not at those within d(...), the scope of a recorded backward.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (char c : path) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == '.' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace

std::string to_dot(const Tape& tape) {
  std::string out = "digraph tape {\n  node [shape=box, fontsize=10];\n";
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    const Node& n = tape.nodes()[i];
    std::vector<std::string> parts = parts_of(tape.path(static_cast<int>(i)));
    std::string label = parts.back(), cluster = "cluster", ends;
    parts.pop_back();
    // Subgraphs of one name are one cluster.
    for (const std::string& part : parts) {
      cluster += '.' + part;
      out += "subgraph " + dot_text(cluster) + " { label=" + dot_text(part) + "; ";
      ends += " }";
    }
    if (!n.leaf && !n.label.empty()) label.append("\n").append(n.name());
    label.append("\n").append(to_string(n.shape)).append(" ").append(name_of(n.dtype));
    out += "n" + std::to_string(i) + " [label=" + dot_text(label);
    out += n.leaf ? ", shape=ellipse" : n.op ? "" : ", style=dashed";
    out += "];" + ends + "\n";
    for (int input : n.inputs)
      if (input >= 0) out += "n" + std::to_string(input) + " -> n" + std::to_string(i) + ";\n";
  }
  return out + "}\n";
}

}  // namespace glim
