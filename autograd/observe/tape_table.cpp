#include "autograd/observe/tape_table.hpp"

#include <algorithm>
#include <map>

#include "tensor/ops/reduce.hpp"
#include "tensor/print.hpp"

namespace glim {
namespace {

std::string fixed(double x, int digits) { return number_text(x, digits, std::chars_format::fixed); }

std::string bytes_text(Index n) {
  if (n < 1024) return std::to_string(n) + " B";
  double x = static_cast<double>(n);
  for (const char* unit : {" KiB", " MiB", " GiB"}) {
    x /= 1024;
    if (x < 1000 || unit[1] == 'G') return fixed(x, 1) + unit;
  }
  return {};
}

std::string time_text(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return fixed(seconds * 1e6, 1) + " µs";
  if (seconds < 1) return fixed(seconds * 1e3, 2) + " ms";
  return fixed(seconds, 2) + " s";
}

// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Aligned columns, of which `right` says whether they are flush right. From `first_optional` on, one that has nothing
// below its head is left out.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::string_view right,
                    std::size_t first_optional) {
  std::vector<std::size_t> widths(right.size());
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)  // the head last
    for (std::size_t c = 0; c < row->size(); ++c)
      if (c < first_optional || row + 1 != rows.rend() || widths[c] > 0)
        widths[c] = std::max(widths[c], width((*row)[c]));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths[c] == 0) continue;
      std::string gap(widths[c] - width(row[c]), ' ');
      line += (c ? "  " : "") + (right[c] == 'r' ? gap + row[c] : row[c] + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

// "a b y 1.5 KiB": inputs by letter.
std::string saved_text(const Node& node) {
  if (node.leaf) return "-";
  if (!node.op) return "freed";
  std::string text;
  for (const SavedValue& s : node.op->saved_values()) {
    if (!text.empty()) text += ' ';
    text += s.input == Op::kOutput ? "y"
            : s.input < 24         ? std::string(1, static_cast<char>('a' + s.input))
                                   : std::to_string(s.input);
  }
  return text.empty() ? "-" : text + " " + bytes_text(saved_bytes(node));
}

std::string inputs_text(const Node& node) {
  if (node.leaf) return "";
  std::string text;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (k) text += ' ';
    if (k == 8 && node.inputs.size() > 9)
      return text + "... (" + std::to_string(node.inputs.size()) + ")";
    text += node.inputs[k] < 0 ? "-" : std::to_string(node.inputs[k]);
  }
  return text;
}

std::string last_line(const Tape& tape) {
  std::size_t leaves = 0, used = 0;
  Index values = 0, saved = 0;
  for (const Node& n : tape.nodes()) {
    leaves += n.leaf != nullptr;
    used += !n.leaf && !n.op;
    values += n.bytes();
    saved += saved_bytes(n);
  }
  std::size_t ops = tape.nodes().size() - leaves;
  return std::to_string(ops) + " ops, " + std::to_string(leaves) + " leaves, values " +
         bytes_text(values) + ", saved for backward " + bytes_text(saved) +
         (used ? ", " + std::to_string(used) + " ops used up by backward" : "") + "\n";
}

}  // namespace

Index saved_bytes(const Node& node) {
  if (!node.op) return 0;
  Index total = 0;
  for (const Tensor& kept : node.op->kept_values())
    if (kept.defined()) total += kept.bytes();
  for (const SavedValue& s : node.op->saved_values())
    if (s.value.defined()) total += s.value.value().bytes();
  return total;
}

std::string to_table(const Tape& tape, const OpTimes* times, const Watch* watch) {
  const auto& nodes = tape.nodes();
  std::map<int, double> norms;
  for (const Watched& w : watch ? watch->values() : std::vector<Watched>())
    if (w.grad.defined() && w.node >= 0 && is_floating(w.grad.dtype()))
      norms[w.node] = norm(w.grad);
  std::vector<std::vector<std::string>> rows{{"no", "path", "op", "inputs", "shape", "dtype",
                                              "bytes", "saved", "line", "forward", "backward",
                                              "|gradient|"}};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    const Timing t = times ? times->of(static_cast<int>(i)) : Timing{};
    const bool timed = t.forward_seconds > 0;
    const auto norm = norms.find(static_cast<int>(i));
    rows.push_back({std::to_string(i), tape.path(static_cast<int>(i)), std::string(n.name()),
                    inputs_text(n), to_string(n.shape), std::string(name_of(n.dtype)),
                    bytes_text(n.bytes()), saved_text(n), n.leaf ? "" : to_string(n.where),
                    timed ? time_text(t.forward_seconds) : "",
                    timed ? time_text(t.backward_seconds) : "",
                    norm == norms.end() ? "" : number_text(norm->second, 3)});
  }
  return aligned(rows, "rlllllrllrrr", 9) + last_line(tape);
}

}  // namespace glim
