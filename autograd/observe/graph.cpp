// The language: Gansner & North 2000; its grammar: graphviz.org/doc/info/lang.html.
#include "autograd/observe/graph.hpp"

#include <map>
#include <memory>

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

struct Cluster {
  std::string name;
  std::vector<int> nodes;
  std::vector<std::unique_ptr<Cluster>> children;
  std::map<std::string, Cluster*> by_name;

  Cluster& child(const std::string& part) {
    Cluster*& found = by_name[part];
    if (!found) {
      children.push_back(std::make_unique<Cluster>());
      found = children.back().get();
      found->name = part;
    }
    return *found;
  }
};

class Writer {
 public:
  explicit Writer(const Tape& tape) : tape_(tape) {}

  std::string write() {
    out_ = "digraph tape {\n  node [shape=box, fontsize=10];\n";
    Cluster root;
    for (int i = 0; i < static_cast<int>(tape_.nodes().size()); ++i) {
      Cluster* place = &root;
      std::vector<std::string> parts = parts_of(tape_.path(i));
      for (std::size_t p = 0; p + 1 < parts.size(); ++p) place = &place->child(parts[p]);
      place->nodes.push_back(i);
    }
    write(root, "  ");
    for (std::size_t i = 0; i < tape_.nodes().size(); ++i)
      for (int input : tape_.nodes()[i].inputs)
        if (input >= 0) out_ += "  n" + std::to_string(input) + " -> n" + std::to_string(i) + ";\n";
    return out_ + "}\n";
  }

 private:
  void write(const Cluster& cluster, const std::string& indent) {
    for (int i : cluster.nodes) {
      const Node& n = tape_.nodes()[i];
      std::string label = parts_of(tape_.path(i)).back();
      if (!n.leaf && !n.label.empty()) label.append("\n").append(n.name);
      label.append("\n").append(to_string(n.shape)).append(" ").append(name_of(n.dtype));
      out_ += indent + "n" + std::to_string(i) + " [label=" + dot_text(label);
      if (n.leaf)
        out_ += ", shape=ellipse";
      else if (!n.op)
        out_ += ", style=dashed";
      out_ += "];\n";
    }
    for (const auto& child : cluster.children) {
      out_ += indent + "subgraph cluster_" + std::to_string(clusters_++) + " {\n";
      out_ += indent + "  label=" + dot_text(child->name) + ";\n";
      write(*child, indent + "  ");
      out_ += indent + "}\n";
    }
  }

  const Tape& tape_;
  std::string out_;
  int clusters_ = 0;
};

}  // namespace

std::string to_dot(const Tape& tape) { return Writer(tape).write(); }

}  // namespace glim
