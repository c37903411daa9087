// The rule of a node's op, as the tape and the compiler know it: the op and its rule run again on a tape of their
// own, and the lines at which the rule's nodes were made are shown, with the functions around them.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>

#include "autograd/op.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tools/inspect/debugger/show.hpp"
#include "tools/inspect/debugger/sources.hpp"

namespace glim::step {
namespace {

using Lines = std::vector<std::string_view>;

// The lines at which the rule makes its nodes. Empty for a rule that hands dy on, and for a checkpointed region.
std::vector<Where> places_of_rule(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  if (!n.run) return {};
  Tape tape;
  std::vector<Var> operands;
  for (std::size_t k = 0; k < n.operands.size(); ++k)
    operands.push_back(n.inputs[k] < 0 ? Var(n.operands[k]) : Var::leaf(n.operands[k]));
  const Var y = n.run(operands), dy = Var::leaf(ones(y.shape(), y.dtype()));
  const std::size_t first = tape.nodes().size();
  tape.nodes()[static_cast<std::size_t>(tape.node_of(y))].op->gradient(dy);
  std::vector<Where> places;
  for (std::size_t k = first; k < tape.nodes().size(); ++k)
    if (!tape.nodes()[k].leaf) places.push_back(tape.nodes()[k].where);
  return places;
}

std::size_t indent(std::string_view line) { return line.find_first_not_of(' '); }

struct FunctionLines {
  std::size_t first, last;
};

// Around this line. Functions begin at the left edge, or within a struct there.
FunctionLines function_around(const Lines& lines, std::size_t line) {
  FunctionLines f{line, line};
  std::size_t edge = line;
  while (edge > 0 && indent(lines[edge]) > 0) {
    const std::size_t inner = indent(lines[edge]);
    while (edge > 0 && indent(lines[edge]) >= inner) --edge;  // an empty line's is npos
    if (indent(lines[edge]) >= 2) f.first = edge;
  }
  if (!lines[edge].starts_with("struct ")) f.first = edge;
  const std::size_t outer = indent(lines[f.first]);
  f.last = f.first;
  while (f.last + 1 < lines.size() && indent(lines[f.last + 1]) > outer) ++f.last;
  if (f.last + 1 < lines.size() && lines[f.last + 1].substr(outer).starts_with('}')) ++f.last;
  return f;
}

}  // namespace

std::vector<std::string_view> source_lines(const Where& where) {
  const std::string_view file = where.file_name();
  for (const Source& source : sources()) {
    if (!file.ends_with(source.name)) continue;
    Lines lines;
    for (std::string_view text = source.text; !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  }
  return {};
}

std::string rule_text(const Pass& pass, int i) {
  const PassNode& n = pass[i];
  if (n.is_leaf()) return {};
  std::map<std::pair<std::string, std::size_t>, std::string> functions;  // by file and line
  for (const Where& where : places_of_rule(pass, i)) {
    const Lines lines = source_lines(where);
    if (lines.empty()) continue;
    const FunctionLines f = function_around(lines, static_cast<std::size_t>(where.line()) - 1);
    std::string& code = functions[{where.file_name(), f.first}];
    if (!code.empty()) continue;
    const std::string file = std::filesystem::path(where.file_name()).filename().string();
    code = fmt::format("  {}:{}\n", file, f.first + 1);
    const std::size_t left = indent(lines[f.first]);
    for (std::size_t k = f.first; k <= f.last; ++k)
      code += fmt::format("    {}\n", lines[k].substr(std::min(left, lines[k].size())));
  }
  std::string text = fmt::format("the rule of {}\n", n.op);
  for (const auto& [place, code] : functions) text += code;
  if (functions.empty())
    for (std::string_view equation : n.formula->gradients)
      if (!equation.empty()) text += fmt::format("    {}\n", equation);
  return text;
}

}  // namespace glim::step
