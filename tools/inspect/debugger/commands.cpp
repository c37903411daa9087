// The debugger's commands.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/ops/reduce.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/number.hpp"
#include "tools/derive/sheet.hpp"
#include "tools/inspect/debugger/debugger.hpp"
#include "tools/inspect/debugger/difference.hpp"
#include "tools/inspect/debugger/show.hpp"
#include "tools/inspect/debugger/why.hpp"
#include "tools/inspect/lettered.hpp"
#include "tools/measure/statistics.hpp"
#include "tools/pass/node_names.hpp"
#include "tools/render/pictures_asked.hpp"

namespace glim::step {
namespace {

// A whole positive number.
int count_in(const std::string& command, const std::string& text) {
  const int n = number_in<int>(text).value_or(0);
  if (n < 1) throw ValueError(command, fmt::format("'{}' is not a whole number above 0", text));
  return n;
}

std::string patch_text(const Patch& patch) {
  if (!patch.factor) return "freeze";
  const std::string part = patch.part.empty() ? "" : "[" + patch.part + "] ";
  return part + (*patch.factor == 0 ? "zero" : fmt::format("scale {:g}", *patch.factor));
}

// "norm>1", "norm<1e-9", "max>10", "nan", "zero": of a gradient.
std::function<bool(const Tensor&)> condition_of(const std::string& text) {
  if (text == "nan") return [](const Tensor& g) { return statistics(g).not_finite > 0; };
  if (text == "zero") return [](const Tensor& g) { return statistics(g).zeros == 1; };
  const std::size_t sign = text.find_first_of("<>");
  const std::string what = text.substr(0, sign);
  const double bound =
      number_in<double>(sign == text.npos ? "" : text.substr(sign + 1)).value_or(std::nan(""));
  if (!std::isfinite(bound) || (what != "norm" && what != "max"))
    throw ValueError("break", fmt::format("'{}' is no condition: use norm > X, norm < X, max > X, "
                                          "max < X, nan or zero",
                                          text));
  return [bound, norm = what == "norm", is_larger = text[sign] == '>'](const Tensor& g) {
    const Statistics s = statistics(g);
    const double size = norm ? s.norm : std::max(std::abs(s.low), std::abs(s.high));
    return is_larger ? size > bound : size < bound;
  };
}

}  // namespace

// ---- going on ----

void Debugger::next(const Words& words) {
  int times = words.size() > 1 ? count_in("next", words[1]) : 1;
  for (int t = 0; t < times; ++t) {
    const PassNode& n = pass_.step();
    if (times == 1) show_flows(n);
    if (pass_.current() < 0 || hits_here() || stopped()) break;
  }
  select_current();
  show_place();
}

void Debugger::go_on(const Words&) {
  do pass_.step();
  while (pass_.current() >= 0 && !hits_here() && !stopped());
  select_current();
  show_place();
}

void Debugger::show_flows(const PassNode& n) {
  if (n.is_leaf()) print_(fmt::format("added to the gradient of {}\n", n.path));
  for (const Flow& f : n.flows)
    print_(fmt::format("sent as d{} to #{} {}  |flow| {}\n", input_name(n.op, f.input), f.node,
                       pass_[f.node].path, four_digits(norm(f.gradient))));
}

bool Debugger::stopped() {
  if (!interrupted_ || !interrupted_()) return false;
  print_("interrupted\n");
  return true;
}

bool Debugger::hits_here() { return hits(pass_.current(), pass_.gradient(pass_.current())); }

bool Debugger::hits(int node, const Tensor& gradient) {
  for (Breakpoint& b : breaks_) {
    if (std::find(b.nodes.begin(), b.nodes.end(), node) == b.nodes.end()) continue;
    if (b.condition && !b.condition(gradient)) continue;
    ++b.hits;
    print_(fmt::format("breakpoint {}, {}\n", b.id, b.name));
    return true;
  }
  return false;
}

void Debugger::back(const Words& words) {
  pass_.back(pass_.taken() - (words.size() > 1 ? count_in("back", words[1]) : 1));
  select_current();
  show_place();
}

void Debugger::back_to_break(const Words&) {
  const std::vector<int> order = pass_.order();
  std::size_t place = order.size();
  if (place == 0) throw StateError("reverse-continue", "the pass is at its beginning");
  while (place > 0 && !hits(order[place - 1], pass_.gradient(order[place - 1]))) --place;
  pass_.back(static_cast<int>(place > 0 ? place - 1 : 0));
  select_current();
  show_place();
}

void Debugger::why(const Words& words) {
  Words names = words;
  std::string picture;
  if (names.size() > 1 && names.back().ends_with(".svg")) {
    picture = names.back();
    names.pop_back();
  }
  at_most(names, 1);
  const std::vector<int> list = nodes(names, 1);
  if (!picture.empty() && list.size() > 1)
    throw ValueError("why",
                     fmt::format("a picture shows one node, {} names {}", names[1], list.size()));
  for (int i : list) {
    const Paths ways = ways_to(pass_, i);
    print_(why_text(pass_, i, ways));
    if (picture.empty()) continue;
    write_file_atomically(picture, why_svg(pass_, i, ways));
    print_(picture + "\n");
  }
}

void Debugger::set_break(const Words& words) {
  const auto when = std::find(words.begin(), words.end(), "if");
  const Words before(words.begin(), when);
  at_most(before, 1);
  Breakpoint b{next_break_, {}, {}, {}, 0};
  if (when != words.end()) {
    std::string text;
    for (auto w = when + 1; w != words.end(); ++w) text += *w;
    b.condition = condition_of(text);
    text.clear();
    for (auto w = when; w != words.end(); ++w) text += " " + *w;
    b.name = (before.size() > 1 ? before[1] : "any node") + text;
  }
  if (before.size() == 1 && b.condition)
    for (int i = 0; i < pass_.size(); ++i) b.nodes.push_back(i);
  else
    b.nodes = nodes_of(before.size() > 1 ? before[1] : ".");
  if (b.name.empty())
    b.name = before.size() > 1 && before[1] != "." ? before[1] : fmt::format("#{}", b.nodes[0]);
  auto to_come = std::count_if(b.nodes.begin(), b.nodes.end(),
                               [&](int i) { return pass_.state(i) == GradientState::ToCome; });
  ++next_break_;
  print_(fmt::format("breakpoint {}: {} ({}, {} still to come)\n", b.id, b.name,
                     counted(b.nodes.size(), "node"), to_come));
  breaks_.push_back(std::move(b));
}

void Debugger::remove_break(const Words& words) {
  if (words.size() == 1) {
    print_(fmt::format("{} removed\n", counted(breaks_.size(), "breakpoint")));
    breaks_.clear();
    return;
  }
  int id = count_in("delete", words[1]);
  if (std::erase_if(breaks_, [id](const Breakpoint& b) { return b.id == id; }) == 0)
    throw ValueError("delete",
                     fmt::format("there is no breakpoint {}; `info breakpoints` lists them", id));
}

void Debugger::again(const Words&) {
  pass_.restart();
  select_current();
  show_place();
}

void Debugger::quit(const Words&) { leaving_ = true; }

// ---- looking ----

void Debugger::print_tensor(const Words& words) {
  bool gradient = words.size() > 1 && words[1] == "d";
  std::string text;  // "scores[0, 1]" is one name
  for (std::size_t i = gradient ? 2 : 1; i < words.size(); ++i) text += words[i];
  // A part alone is a part of the node that is looked at.
  const NodeName named = split_part(text);
  for (int i : nodes({"print", named.name}, 1)) {
    Tensor x = pass_[i].value;
    std::string what = pass_[i].path, note;
    if (gradient) {
      what = "d " + what;
      note = gradient_note(pass_, i);
      x = pass_.gradient(i);
      if (!x.defined()) {
        print_(fmt::format("#{} {}: {}\n", i, what, note));
        continue;
      }
    }
    if (!named.part.empty()) what += "[" + named.part + "]";
    x = part_of(x, named.part);
    print_(fmt::format("#{} {}  {} {}{}\n{}\n", i, what, to_string(x.shape()), name_of(x.dtype()),
                       note.empty() ? "" : "  (so far: " + note + ")", tensor_text(x)));
  }
}

// A module is written out; a node is shown among its neighbours.
void Debugger::list(const Words& words) {
  const auto paths = all_paths(pass_);
  auto within = [&](const std::string& path) { return path.starts_with(words[1] + "."); };
  if (words.size() > 1 && std::ranges::any_of(paths, within) &&
      std::ranges::find(paths, words[1]) == paths.end()) {
    const auto twin = lettered_ ? lettered_() : nullptr;
    const derive::Listing listing(
        twin ? derive::forward_of(twin->pass, twin->names.names) : derive::forward_of(pass_), true);
    derive::Sheet sheet =
        derive::sheet_of(listing, twin ? twin->letters : derive::Letters(), words[1], true);
    sheet.signs.clear();  // `glim derive` has them
    sheet.title = words[1];
    if (const int now = pass_.current(); now >= 0) {
      const derive::Trace& trace = listing.trace();
      sheet.marked = trace[listing.line_of(trace.of_node[static_cast<std::size_t>(now)])].node;
    }
    if (!pass_.patches().empty())
      sheet.notes.push_back(
          "Gradients were changed by `set` or `freeze`: the equations are those without.");
    return print_(derive::text_of(sheet));
  }
  int node = words.size() > 1 ? nodes(words, 1)[0] : std::max(selected_, 0);
  print_(list_text(pass_, node));
}

void Debugger::info(const Words& words) {
  const std::vector<std::string> topics{"breakpoints", "sets", "nodes"};
  const std::string about = words.size() > 1 ? words[1] : "";
  auto topic = std::find_if(topics.begin(), topics.end(),
                            [&](const std::string& t) { return t.starts_with(about); });
  if (about.empty()) throw ValueError("info", "needs breakpoints, sets or nodes NAME");
  if (topic == topics.end())
    throw ValueError("info", "unknown topic '" + about + "': use breakpoints, sets or nodes NAME" +
                                 nearest_names(about, topics));
  at_most(words, *topic == "nodes" ? 2 : 1);
  if (*topic == "nodes") {
    for (int i : nodes_of(words.size() > 2 ? words[2] : "*")) print_(node_line(pass_, i) + "\n");
  } else if (*topic == "breakpoints") {
    if (breaks_.empty()) print_("no breakpoints\n");
    for (const Breakpoint& b : breaks_)
      print_(fmt::format("{}  {}  {}, hit {}\n", b.id, b.name, counted(b.nodes.size(), "node"),
                         counted(b.hits, "time")));
  } else {
    if (pass_.patches().empty()) print_("nothing is set\n");
    for (const auto& [i, patches] : pass_.patches())
      for (const Patch& p : patches)
        print_(fmt::format("#{} {}  {}\n", i, pass_[i].path, patch_text(p)));
  }
}

// The names are those of inspect.safetensors: a path, with the node's number where several share it,
// and ".grad" behind it for the gradient.
void Debugger::write_out(const Words& words) {
  if (words.size() < 2) throw ValueError("export", "needs a file to write");
  bool named = words.size() > 2;
  std::vector<int> all = named ? nodes_of(words[2]) : std::vector<int>();
  for (int i = 0; !named && i < pass_.size(); ++i)
    if (pass_[i].is_leaf()) all.push_back(i);
  std::map<std::string, Tensor> tensors;
  std::size_t complete = 0;
  for (int i : all) {
    const std::string& name = pass_[i].name;
    if (named) tensors[name] = pass_[i].value.contiguous();
    if (GradientState t = pass_.state(i); t != GradientState::Now && t != GradientState::Taken)
      continue;
    tensors[name + ".grad"] = pass_.gradient(i).contiguous();
    ++complete;
  }
  if (tensors.empty())
    throw StateError("export",
                     "no parameter has its gradient yet; `continue` goes on with the pass");
  write_safetensors(words[1], tensors);
  print_(fmt::format("wrote {} of {} gradients{} to {}{}\n", complete, all.size(),
                     named ? ", with the values," : "", words[1],
                     complete < all.size() ? "; the others are not complete yet" : ""));
}

// ---- along the graph ----

void Debugger::up(const Words& words) {
  int node = nodes_of(".")[0];
  std::vector<int> readers;
  for (const Reader& r : pass_[node].readers) readers.push_back(r.node);
  step_to(words, readers, "is read by nothing", "readers");
}

void Debugger::down(const Words& words) {
  int node = nodes_of(".")[0];
  std::vector<int> inputs;
  for (int i : pass_[node].inputs)
    if (i >= 0) inputs.push_back(i);
  step_to(words, inputs, "is a leaf", "inputs on the tape");
}

void Debugger::step_to(const Words& words, const std::vector<int>& nodes, const char* none,
                       const char* what) {
  int node = nodes_of(".")[0];
  if (nodes.empty()) throw ValueError(words[0], pass_[node].path + " " + none);
  auto k = static_cast<std::size_t>(words.size() > 1 ? count_in(words[0], words[1]) : 1);
  if (k > nodes.size())
    throw ValueError(words[0], fmt::format("it has {} {}, not {}", nodes.size(), what, k));
  selected_ = nodes[k - 1];
  print_(node_line(pass_, selected_) + "\n");
  if (nodes.size() < 2) return;
  std::string text = fmt::format("  one of {} {}:", nodes.size(), what);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    text += fmt::format(" {} #{}{}", i + 1, nodes[i], i + 1 < nodes.size() ? "," : "");
  print_(text + "\n");
}

// ---- changing, checking ----

void Debugger::set(const Words& words) {
  std::size_t position = 1;  // of what is done, behind "scores[0, 1]"
  std::string text = words.size() > 1 ? words[position++] : "";
  while (text.find('[') != text.npos && !text.ends_with(']') && position < words.size())
    text += words[position++];
  if (position >= words.size()) throw ValueError("set", "needs NAME and zero, freeze or scale C");
  const NodeName target = split_part(text);
  Patch patch{target.part};
  const std::string& how = words[position];
  if (how == "scale") {
    at_most(words, position + 1);
    const std::string factor = words.size() > position + 1 ? words[position + 1] : "";
    patch.factor = number_in<double>(factor).value_or(std::nan(""));
    if (!std::isfinite(*patch.factor))
      throw ValueError("set", fmt::format("scale needs a number, not '{}'", factor));
  } else if (how == "zero" || how == "freeze") {
    at_most(words, position);
    if (how == "freeze") patch.factor.reset();
    if (!patch.factor && !patch.part.empty())
      throw ValueError("set", "'" + text + "': a whole node is frozen; zero takes a part");
  } else {
    throw ValueError("set", "unknown change '" + how + "': use zero, freeze or scale C" +
                                nearest_names(how, {"zero", "freeze", "scale"}));
  }
  auto found = nodes_of(target.name);
  std::vector<int> can;
  for (int i : found)
    if (GradientState t = pass_.state(i); t == GradientState::ToCome || t == GradientState::Now)
      can.push_back(i);
  if (can.empty())
    throw StateError("set", "the pass has gone past " + text + "; `run` starts it again");
  for (int i : can) patched(patch, pass_[i].value);  // whether it fits
  int before = pass_.current();
  // The current node last: once it is frozen the pass goes on, beyond others perhaps.
  for (auto i = can.rbegin(); i != can.rend(); ++i) pass_.change(*i, patch);
  print_(fmt::format("{}: {}{}\n", patch_text(patch), counted(can.size(), "node"),
                     can.size() < found.size() ? fmt::format(", the pass has gone past {} more",
                                                             found.size() - can.size())
                                               : ""));
  if (pass_.current() != before) {
    if (selected_ == before) select_current();
    show_place();
  }
}

void Debugger::diff(const Words& words) {
  Index most = words.size() > 2 ? count_in("diff", words[2]) : 64;
  for (int i : nodes(words, 1)) print_(to_text(pass_, i, difference(pass_, i, most, interrupted_)));
}

}  // namespace glim::step
