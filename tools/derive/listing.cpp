#include "tools/derive/listing.hpp"

#include <algorithm>

#include "tensor/ops/elementwise.hpp"
#include "tools/common/ascii.hpp"
#include "tools/derive/fill.hpp"
#include "tools/derive/notation.hpp"

namespace glim::derive {
namespace {

constexpr int kLongest = 10;  // of an expression on one line, in ops; a view counts half

bool is_given(const std::string& op) {
  return op == "leaf" || op == "constant" || op == "number" || op == "zero";
}

// A program has functions and variables of these names.
bool reserved(const std::string& name) {
  static const std::set<std::string_view> keywords{
      "w",      "d",       "s",    "p",  "i",   "x",  "batch", "arrays", "known",   "load", "name",
      "number", "largest", "math", "np", "off", "os", "sys",   "json",   "windows", "path"};
  return keywords.contains(name) || !notation(name, kText).empty();
}

}  // namespace

bool is_view(const std::string& op) {
  return op == "permute" || op == "reshape" || op == "slice" || op == "broadcast_to";
}

std::string identifier(std::string path) {
  for (char& c : path)
    if (!is_letter_or_digit(c)) c = '_';
  return reserved(path) ? path + "_" : path;
}

Home home_of(const std::string& path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (begin > 0 && !part.empty() && part.size() < 10 && std::ranges::all_of(part, is_digit))
      return {path.substr(0, begin - 1), end < path.size() ? path.substr(end + 1) : "",
              std::stoi(std::string(part))};
    begin = end + 1;
  }
  return {"", path, -1};
}

Listing::Listing(Trace trace, bool each_op) : trace_(std::move(trace)), each_op_(each_op) {
  for (int v = 0; v < static_cast<int>(trace_.values.size()); ++v) order_.push_back(v);
  start_sums_at_zero();
  live_ = trace_.live();
  for (const auto& [name, leaf] : trace_.parameters)
    if (const int g = trace_.gradient(leaf); g >= 0) targets_[g].push_back(leaf);
  name_gradients();
  users_.resize(trace_.values.size());
  for (int v : order_) {
    if (!live_[static_cast<std::size_t>(v)]) continue;
    auto read = [&](int x) {
      if (x >= 0) users_[static_cast<std::size_t>(x)].push_back(v);
    };
    for (int x : trace_[v].inputs) read(x);
    for (const auto& [name, x] : trace_[v].tensors) read(x);
  }
  choose_lines();
  name_gradients();
  make_parts();
  std::vector<Part> apart = std::move(parts_);
  parts_.clear();
  for (std::size_t k = 0; k < apart.size();) {
    // As many layers as are equal to this one.
    Part run = apart[k];
    for (++k; k < apart.size() && !run.stack.empty() && apart[k].stack == run.stack &&
              apart[k].backward == run.backward;
         ++k) {
      Part longer{run.stack, run.layers, run.backward, run.values};
      longer.layers.push_back(apart[k].layers[0]);
      longer.values.push_back(apart[k].values[0]);
      if (!fold(longer)) break;
      run = std::move(longer);
    }
    keep_ports(run);
    parts_.push_back(std::move(run));
    const Part& added = parts_.back();
    for (std::size_t j = 0; j < added.values.size(); ++j)
      for (std::size_t l = 0; l < added.values[j].size(); ++l) {
        part_of_[added.values[j][l]] = static_cast<int>(parts_.size()) - 1;
        place_[added.values[j][l]] = {j, l};
      }
  }
  name_all();
}

const std::vector<int>& Listing::targets(int v) const {
  static const std::vector<int> none;
  auto found = targets_.find(v);
  return found == targets_.end() ? none : found->second;
}

Home Listing::home(int v) const {
  const Value& x = trace_[v];
  if (!x.backward) return home_of(x.path);
  return x.during < 0 ? Home() : home_of(trace_[x.during].path);
}

int Listing::line_of(int v) const {
  while (!has_line(v)) {
    const auto& readers = users(v);
    if (readers.empty() || trace_[readers[0]].backward) return v;
    v = readers[0];
  }
  return v;
}

// The value of a shared gradient is the one that is named, or else has a line, or else is the last.
void Listing::name_gradients() {
  for (const auto& [v, g] : trace_.gradients) {
    if (g < 0) continue;
    auto rank = [&](int x) {
      return std::pair(!trace_[x].label.empty(), !line_.empty() && has_line(x));
    };
    const auto [entry, fresh] = gradient_of_.emplace(g, v);
    if (!fresh && rank(v) >= rank(entry->second)) entry->second = v;
  }
}

// A value from outside a stack that several of its layers read: its gradient begins as 0, so that each layer adds to it.
void Listing::start_sums_at_zero() {
  std::map<int, std::vector<int>> sums;  // of values: the adds of its gradient, in order
  for (int v : order_)
    if (trace_[v].backward && trace_[v].op == "add" && trace_[v].source >= 0) {
      const Value& a = trace_[v];
      if (home(v).stack != home_of(trace_[a.source].path).stack) sums[a.source].push_back(v);
    }
  for (const auto& [value, adds] : sums) {
    const int first = trace_[adds[0]].inputs[0];
    const Home h = home(first);
    if (h.stack.empty() || h.stack == home_of(trace_[value].path).stack) continue;
    const bool several = std::ranges::any_of(
        adds, [&](int a) { return home(a).stack == h.stack && home(a).number != h.number; });
    // Only its engine's sum may be of this form: the rule's own value came first.
    if (!several || !trace_[first].backward) continue;
    Value zero;
    zero.op = "zero";
    zero.value = zeros(trace_[value].shape(), trace_[value].value.dtype());
    Value sum = trace_[adds[0]];
    sum.during = trace_[first].during;
    sum.value = trace_[first].value;
    const int z = static_cast<int>(trace_.values.size());
    trace_.values.push_back(std::move(zero));
    sum.inputs = {z, first};
    trace_.values.push_back(std::move(sum));
    trace_.values[static_cast<std::size_t>(adds[0])].inputs[0] = z + 1;
    auto position = std::ranges::find(order_, first);
    order_.insert(position + 1, {z, z + 1});
  }
}

void Listing::choose_lines() {
  line_.resize(trace_.values.size());
  std::vector<int> weights(trace_.values.size());
  for (int v : order_) {
    const std::size_t i = static_cast<std::size_t>(v);
    const Value& x = trace_[v];
    if (!live_[i] || is_given(x.op)) continue;
    int weight = is_view(x.op) ? 1 : 2;
    for (int input : x.inputs)
      if (input >= 0 && !line_[static_cast<std::size_t>(input)])
        weight += weights[static_cast<std::size_t>(input)];
    const bool of_given = (is_view(x.op) || x.node < 0) && is_given(trace_[x.inputs[0]].op);
    const Home home_of_v = home(v);
    const bool elsewhere = std::ranges::any_of(users_[i], [&](int u) {
      return trace_[u].backward != x.backward || !(home(u) == home_of_v) ||
             (!x.backward && home(u).module() != home_of_v.module());
    });
    bool line = !x.label.empty() || users_[i].size() > 1 || elsewhere || weight > kLongest;
    if (x.backward) {
      auto entry = gradient_of_.find(v);
      line = line || (entry != gradient_of_.end() && !trace_[entry->second].label.empty());
    }
    line = line || (each_op_ && !x.backward && !is_view(x.op));
    if (x.op == "broadcast_to" || (of_given && x.label.empty())) line = false;
    line_[i] = line || v == trace_.loss || targets_.contains(v);
    weights[i] = weight;
  }
}

void Listing::make_parts() {
  for (int v : order_) {
    if (!line_[static_cast<std::size_t>(v)]) continue;
    const Home h = home(v);
    const bool backward = trace_[v].backward;
    if (parts_.empty() || parts_.back().backward != backward || parts_.back().stack != h.stack ||
        parts_.back().layers[0] != h.number) {
      Part p;
      p.stack = h.stack;
      p.layers = {h.number};
      p.backward = backward;
      p.values.emplace_back();
      parts_.push_back(std::move(p));
    }
    parts_.back().values[0].push_back(v);
  }
}

// Splits a line: its own computation, and the values that it reads from elsewhere, in order.
void Listing::signature(int v, bool root, std::string& text, std::vector<int>& refs) const {
  const Value& x = trace_[v];
  if (x.op == "number" && !root) {
    text += fill_in("{}{}", x.number(), to_string(x.shape()));
    return;
  }
  if (!root && (line_[static_cast<std::size_t>(v)] || is_given(x.op))) {
    text += "@" + to_string(x.shape());
    refs.push_back(v);
    return;
  }
  text += x.op + to_string(x.shape()) + "(";
  for (const Argument& a : x.arguments)
    text += fill_in("{}{}{},", a.name, a.number, to_string(a.dims));
  for (int input : x.inputs)
    if (input >= 0)
      signature(input, false, text, refs);
    else
      text += "-";
  for (const auto& [name, t] : x.tensors) {
    text += name;
    signature(t, false, text, refs);
  }
  text += ")";
}

// True if the layers of `all` are equal; then it is a loop.
bool Listing::fold(Part& all) {
  const std::size_t count = all.layers.size(), lines = all.values[0].size();
  for (std::size_t j = 1; j < count; ++j)
    if (all.values[j].size() != lines ||
        all.layers[j] != all.layers[j - 1] + (all.backward ? -1 : 1))
      return false;
  std::map<int, std::pair<std::size_t, std::size_t>> pos;  // value -> layer, line
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t l = 0; l < lines; ++l) pos[all.values[j][l]] = {j, l};
  const Part* before = all.backward ? forward_of(all) : nullptr;
  if (all.backward && !before) return false;
  auto forward_place = [&](int v) -> std::pair<int, std::size_t> {  // number of the layer, line
    const auto part = part_of_.find(v);
    if (!before || part == part_of_.end() ||
        &parts_[static_cast<std::size_t>(part->second)] != before)
      return {-1, 0};
    return {before->layers[place_[v].first], place_[v].second};
  };
  auto local = [&](int v, std::size_t j) -> std::string {  // of a parameter or constant of layer j
    const Home h = home_of(trace_[v].path);
    return h.stack == all.stack && h.number == all.layers[j] ? h.local : std::string();
  };
  // One text for one value: how the first layer's lines read it.
  enum Read { Outside, Own, Line, Kept, Port, Carried };
  std::map<int, std::pair<Read, std::size_t>> reads;
  auto reads_as = [&](int v, Read how, std::size_t which = 0) {
    return reads.emplace(v, std::pair(how, which)).first->second == std::pair(how, which);
  };
  for (std::size_t l = 0; l < lines; ++l) {
    std::vector<std::vector<int>> refs(count);
    std::string first;
    for (std::size_t j = 0; j < count; ++j) {
      std::string text;
      signature(all.values[j][l], true, text, refs[j]);
      for (int leaf : targets(all.values[j][l]))
        text += "=" + (local(leaf, j).empty() ? trace_[leaf].path : local(leaf, j));
      if (j == 0) first = text;
      if (text != first || refs[j].size() != refs[0].size()) return false;
    }
    for (std::size_t r = 0; r < refs[0].size(); ++r) {
      const int v = refs[0][r];
      auto each = [&](auto is) {
        for (std::size_t j = 0; j < count; ++j)
          if (!is(refs[j][r], j)) return false;
        return true;
      };
      if (!pos.contains(v) && each([&](int x, std::size_t) { return x == v; })) {
        if (!reads_as(v, Outside)) return false;
      } else if (is_given(trace_[v].op) && !local(v, 0).empty() && each([&](int x, std::size_t j) {
                   return is_given(trace_[x].op) && local(x, j) == local(v, 0);
                 })) {
        if (!reads_as(v, Own)) return false;
        all.locals.insert(v);
      } else if (pos.contains(v) && pos[v].first == 0 && each([&](int x, std::size_t j) {
                   return pos.contains(x) && pos[x] == std::pair(j, pos[v].second);
                 })) {
        if (!reads_as(v, Line)) return false;
      } else if (all.backward && forward_place(v).first == all.layers[0] &&
                 each([&](int x, std::size_t j) {
                   return forward_place(x) == std::pair(all.layers[j], forward_place(v).second);
                 })) {
        if (!reads_as(v, Kept)) return false;
        all.kept.insert(v);
      } else if (auto handed =
                     [&](const Carry& c) {
                       return each([&](int x, std::size_t j) {
                         if (all.layers[j] == before->layers[0]) return x == c.before;
                         return forward_place(x) == std::pair(all.layers[j] - 1, c.line);
                       });
                     };
                 all.backward && std::ranges::any_of(before->carries, handed)) {
        const auto c = std::ranges::find_if(before->carries, handed);
        if (!reads_as(v, Port, static_cast<std::size_t>(c - before->carries.begin()))) return false;
        all.ports[v] = c->name;
      } else {
        const int next = refs[1][r];
        if (!pos.contains(next) || pos[next].first != 0) return false;
        const std::size_t line = pos[next].second;
        if (!each([&](int x, std::size_t j) {
              return j == 0 || (pos.contains(x) && pos[x] == std::pair(j - 1, line));
            }))
          return false;
        std::size_t k = 0;
        while (k < all.carries.size() &&
               !(all.carries[k].line == line && all.carries[k].before == v))
          ++k;
        if (!reads_as(v, Carried, k)) return false;
        if (k == all.carries.size()) {
          // A second loop of the stack has variables of its own: backward reads those of the first.
          const bool second = std::ranges::any_of(parts_, [&](const Part& p) {
            return p.loop() && p.stack == all.stack && p.backward == all.backward;
          });
          const std::string number = k > 0 ? std::to_string(k + 1) : "";
          all.carries.push_back({identifier(all.stack) +
                                     (second ? fill_in("_{}", all.layers[0]) : "") +
                                     (all.backward ? "_dx" : "_x") + number,
                                 line, v, ""});
        }
        all.carried[v] = k;
      }
    }
  }
  return true;
}

// The forward loop that has the layers of a backward part, or null.
const Part* Listing::forward_of(const Part& backward) const {
  for (const Part& p : parts_)
    if (!p.backward && p.loop() && p.stack == backward.stack &&
        p.layers.front() <= backward.layers.back() && backward.layers.front() <= p.layers.back())
      return &p;
  return nullptr;
}

// The layers of a forward loop keep what they were handed, where this backward loop reads it.
void Listing::keep_ports(const Part& backward) {
  for (const auto& [v, name] : backward.ports)
    for (Part& p : parts_)
      for (Carry& c : p.carries)
        if (c.name == name) c.port = name.substr(name.rfind('_') + 1);
}

// Several of a module have the same path: the second is "matmul_2", also if the first has no line.
void Listing::name_forward() {
  std::map<std::string, int> count;
  for (int v : order_) {
    const Value& x = trace_[v];
    if (x.backward || is_given(x.op) || (is_view(x.op) && !has_line(v))) continue;
    const int n = ++count[x.path];
    suffixes_[v] = n > 1 ? fill_in("_{}", n) : "";
  }
}

std::string Listing::own_name(int v, bool within) const {
  const Value& x = trace_[v];
  auto name = [&](int f) {
    const Home h = home_of(trace_[f].path);
    const auto number = suffixes_.find(f);
    return (within && !h.local.empty() ? h.local : trace_[f].path) +
           (number == suffixes_.end() ? "" : number->second);
  };
  if (v == trace_.loss) return "loss";
  if (!x.backward) return name(v);
  auto elsewhere = [&](int f) {
    const Home h = home_of(trace_[f].path);
    return within && !h.stack.empty() && !(h == home(v));
  };
  if (const int y = gradient_of(v); y >= 0) return elsewhere(y) ? "dx" : "d" + name(y);
  if (x.source < 0) return "d" + x.op;
  if (x.op == "add" && elsewhere(x.source)) return "dx_sum";
  return "d" + name(x.source) + (x.op == "add" ? "_sum" : "." + x.op);
}

bool Listing::handed_on(const Part& loop, int v) const {
  const auto [layer, line] = place_.at(v);
  return layer + 1 == loop.values.size() &&
         std::ranges::any_of(loop.carries, [l = line](const Carry& c) { return c.line == l; });
}

void Listing::name_all() {
  // Which values are read outside the layer that computes them. The first layer of a loop stands for all.
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    for (int v : part.values[0]) {
      std::string text;
      std::vector<int> refs;
      signature(v, true, text, refs);
      for (int r : refs) {
        if (!part_of_.contains(r) || part_of_[r] == static_cast<int>(p) || part.ports.contains(r))
          continue;
        const Part& source = parts_[static_cast<std::size_t>(part_of_[r])];
        if (!source.loop() || (handed_on(source, r) && !part.kept.contains(r))) continue;
        for (const auto& values : source.values) stored_.insert(values[place_[r].second]);
      }
    }
  }
  // Names are unique in a stack's layers, and those between layers in all.
  name_forward();
  std::map<std::string, std::set<std::string>> used;  // by stack
  auto name_part = [&](const Part& part, auto taken) {
    for (std::size_t l = 0; l < part.values[0].size(); ++l) {
      const std::string first = own_name(part.values[0][l], part.loop());
      std::string name = first;
      for (int n = 2; taken(identifier(name)); ++n) name = fill_in("{}_{}", first, n);
      used[part.loop() ? part.stack : ""].insert(identifier(name));
      for (const auto& layer : part.values) names_[layer[l]] = name;
    }
  };
  for (const Part& part : parts_)
    for (const Carry& c : part.carries) {
      used[""].insert(c.name);
      if (!c.port.empty()) used[part.stack].insert(c.port);
    }
  for (const Part& part : parts_)
    if (part.loop())
      name_part(part, [&](const std::string& n) { return used[part.stack].contains(n); });
  for (const Part& part : parts_)
    if (!part.loop())
      name_part(part, [&](const std::string& n) {
        return std::ranges::any_of(used, [&](const auto& u) { return u.second.contains(n); });
      });
}

}  // namespace glim::derive
