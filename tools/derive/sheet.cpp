#include "tools/derive/sheet.hpp"

#include <algorithm>
#include <array>

#include "tensor/error.hpp"
#include "tools/common/ascii.hpp"
#include "tools/common/nearest.hpp"
#include "tools/derive/fill.hpp"

namespace glim::derive {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kAttention{
    {{"query", "Q"},
     {"key", "K"},
     {"value", "V"},
     {"scores", "S"},
     {"probs", "A"},
     {"context", "O"}}};

class Equations final : public Expressions {
 public:
  Equations(const Listing& listing, const Letters& letters, Sheet& sheet)
      : Expressions(listing, kText), letters_(letters), sheet_(sheet) {
    names_[""];  // values between layers, also if there are none
    for (const Part& p : listing.parts())
      for (int v : p.values[0])
        if (!at(v).backward)
          names_[p.stack].insert(p.loop() ? listing.name(v) : home_of(at(v).path).local);
  }

  // Where the next lines are: a part, of a loop its first layer.
  void enter(const Part& p) { part = &p, layer = p.layers[0]; }

  std::string prefix;  // left out before names: of the section
  const Part* part = nullptr;
  int layer = -1;
  mutable std::map<std::string, int> read;  // names that the lines have, and a value of each
  mutable std::set<std::pair<std::string, int>>
      constants;  // all values of those without a gradient

  std::string ref(int v) const override {
    const Value& x = at(v);
    auto handed = [&](const std::string& carry) {  // "x" of "encoder_layers_x"
      return *sheet_.names.insert(carry.substr(carry.rfind('_') + 1)).first;
    };
    if (const auto c = part->carried.find(v); c != part->carried.end())
      return handed(part->carries[c->second].name);
    if (const auto port = part->ports.find(v); port != part->ports.end())
      return handed(port->second);
    if (x.op == "zero") return "0";
    const bool external = x.op == "leaf" || x.op == "constant";
    std::string name = external || !listing_.has_line(v) ? x.path : listing_.name(v);
    if (!listing_.targets(v).empty()) name = "d" + at(listing_.targets(v)[0]).path;
    const Part* home_part = external || !listing_.has_line(v) || !listing_.targets(v).empty()
                                ? nullptr
                                : &listing_.parts()[static_cast<std::size_t>(listing_.part_of(v))];
    if (home_part && home_part->loop()) {  // its name is the layer's
      const auto [index, line] = listing_.place_of(v);
      const int number = home_part->layers[index];
      for (const Carry& c : home_part->carries)
        if (c.line == line && home_part->stack == part->stack && number == layer - 1)
          return handed(c.name);
      const int whole = listing_.gradient_of(v);
      if (whole >= 0 && home_part->stack != part->stack)
        name = "d" + at(whole).path;
      else
        name.insert(x.backward ? 1 : 0, fill_in("{}.{}.", home_part->stack, number));
    }
    name = short_of(name, x.backward ? 1 : 0);
    if (const std::string_view letter = home_part ? letter_of(name.substr(x.backward ? 1 : 0)) : "";
        !letter.empty())
      name = (x.backward ? "d" : "") + std::string(letter);
    sheet_.names.insert(name);
    read.emplace(name, v);
    if (x.op == "constant") constants.emplace(name, v);
    return name;
  }
  // The paper's letter of a value of an attention.
  std::string_view letter_of(const std::string& name) const {
    if (letters_.extents.empty()) return "";
    for (const auto& [word, letter] : kAttention)
      if (name == word) return letter;
    return "";
  }
  // Without the layer's path and the module's, unless it is then another value's name.
  std::string short_of(std::string name, std::size_t start) const {
    auto cut = [&](const std::string& before) {
      if (before.empty() || name.compare(start, before.size(), before) != 0) return false;
      name.erase(start, before.size());
      return true;
    };
    const bool shortened = part->stack.empty() || cut(fill_in("{}.{}.", part->stack, layer));
    if (shortened && !prefix.empty() && name.compare(start, prefix.size(), prefix) == 0 &&
        !names_.at(part->stack).contains(name.substr(start + prefix.size())))
      cut(prefix);
    return name;
  }
  std::string dims(const Dims& d, bool batch) const override { return letters_.shape(d, batch); }
  std::string size(Index n) const override { return letters_.size(n); }

  std::string forward(int v) const {
    const Value& x = at(v);
    if (!notation(x.op, kText).empty()) return ref(v) + " = " + expression(v).text;
    if (x.formula && !x.formula->gradients[0].empty())
      return replaced(x, v, std::string(x.formula->value));
    std::string operands;  // of an op without equations
    for (int input : x.inputs)
      if (input >= 0) operands += (operands.empty() ? "" : ", ") + factor(input);
    return fill_in("{} = {}({})", ref(v), x.op, operands);
  }

  // A line of backward, below a line of `forward`. "dmatmul = d(a b) = ..." where a b has no line.
  std::string backward(int b, const Part& forward) {
    const int value = listing_.gradient_of(b);
    std::string text;
    if (value >= 0 && notation(at(value).op, kText).size() && !listing_.has_line(value)) {
      enter(forward);
      layer = home_of(at(value).path).number;
      text = fill_in("d({}) = ", expression(value).text);
    }
    enter(listing_.parts()[static_cast<std::size_t>(listing_.part_of(b))]);
    text = fill_in("{} = {}{}", ref(b), text, expression(b).text);
    enter(forward);
    return text;
  }

  // The gradients that the rule of a line gives to its operands, by its formula.
  std::vector<std::string> by_formula(int v) const {
    const Value& x = at(v);
    std::vector<std::string> all;
    for (std::size_t k = 0; k < x.inputs.size(); ++k) {
      int input = x.inputs[k];
      if (input < 0 || at(input).is_number() || at(input).op == "constant" || !x.formula) continue;
      std::string_view gradient = x.formula->gradients[std::min<std::size_t>(k, 3)];
      for (std::size_t l = std::min<std::size_t>(k, 3); gradient.empty() && l-- > 0;)
        gradient = x.formula->gradients[l];
      const std::size_t is = gradient.find(" = ");
      std::string right = is == std::string_view::npos ? fill_in("rule of {} (d{})", x.op, ref(v))
                          : is_view(x.op)              ? undone(x, "d" + ref(v))
                                          : replaced(x, v, std::string(gradient.substr(is + 3)));
      if (x.op == "matmul") right = summed_back(x, at(input), right);
      int reader = v;  // of the value that has a name
      for (; !listing_.has_line(input) && is_view(at(input).op); input = at(input).inputs[0]) {
        right = undone(at(input), right);
        reader = input;
      }
      if (at(input).op == "constant" || at(input).is_number()) continue;
      // In the order in which backward comes to the readers.
      std::vector<int> forward;
      for (int r : listing_.users(input))
        if (!at(r).backward) forward.push_back(r);
      // One that reads it twice sends the gradient of its first operand first.
      const std::ptrdiff_t behind =
          std::ranges::count_if(forward, [&](int r) { return r > reader; }) +
          std::count(x.inputs.begin(), x.inputs.begin() + static_cast<std::ptrdiff_t>(k),
                     x.inputs[k]);
      if (forward.size() > 1)
        right = fill_in("+= {}    ({} of {})", right, behind + 1, forward.size());
      else
        right = "= " + right;
      all.push_back("d" + ref(input) + " " + right);
    }
    return all;
  }

 private:
  // A product's gradient has all its leading axes; an operand that was broadcast has fewer.
  std::string summed_back(const Value& product, const Value& operand, const std::string& g) const {
    const Shape s = operand.shape(),
                wide = with_matrix(leading(product.shape()), s[s.rank() - 2], s[s.rank() - 1]);
    const Dims axes = reduced_axes(wide, s, product.batch && !operand.batch);
    return axes.empty() ? g : fill_in("Σ_{}({})", axes_of(axes, wide), g);
  }
  // The gradient of a view's input, from that of the view.
  std::string undone(const Value& view, const std::string& g) const {
    const std::size_t blank = blank_in(g);
    const bool simple = blank == std::string::npos;
    const std::string in = simple ? g : "(" + g + ")";
    if (view.op == "permute") {
      const Dims& axes = view.arguments[0].dims;
      Dims inverse = axes, swapped = axes;
      for (int i = 0; i < axes.rank(); ++i) inverse[static_cast<int>(axes[i])] = i;
      if (axes.rank() > 1) std::swap(swapped[axes.rank() - 1], swapped[axes.rank() - 2]);
      for (int i = 0; i < axes.rank(); ++i)
        if (swapped[i] != i) return fill_in("permute({}, {})", g, to_string(inverse));
      if (const std::size_t open = g.find('('); simple && g.starts_with("Σ_") && g.ends_with(')'))
        return g.substr(0, open + 1) + undone(view, g.substr(open + 1, g.size() - open - 2)) + ")";
      if (simple || blank_in(g, blank + 1) != std::string::npos) return in + "ᵀ";
      return turned(g.substr(blank + 1)) + " " + turned(g.substr(0, blank));  // (a b)ᵀ
    }
    const Value& x = at(view.inputs[0]);
    if (view.op == "reshape") return fill_in("{} as {}", in, dims(x.shape(), x.batch));
    if (view.op == "slice") return fill_in("{} at {} of zeros", in, argument(view, "at", view.op));
    const std::string_view form = notation(form_of_sum(view.shape(), x.shape()), kText);
    std::string text(form.substr(2));
    auto put = [&](std::string_view mark, const std::string& is) {
      if (const std::size_t position = text.find(mark); position != std::string::npos)
        text.replace(position, mark.size(), is);
    };
    put("{0}", g);
    put("{reduced}",
        axes_of(reduced_axes(view.shape(), x.shape(), view.batch && !x.batch), view.shape()));
    put("{shape}", dims(x.shape(), x.batch));
    return text;
  }
  // The first blank outside parentheses.
  static std::size_t blank_in(const std::string& g, std::size_t begin = 0) {
    int open = 0;
    for (std::size_t i = begin; i < g.size(); ++i) {
      open += (g[i] == '(' || g[i] == '[') - (g[i] == ')' || g[i] == ']');
      if (g[i] == ' ' && open == 0) return i;
    }
    return std::string::npos;
  }
  static std::string turned(const std::string& x) {
    return x.ends_with("ᵀ") ? x.substr(0, x.size() - 3) : x + "ᵀ";
  }

  std::string factor(int input) const {
    const std::string text =
        at(input).is_number() ? shown(at(input).number())
        : listing_.has_line(input) || at(input).op == "leaf" || at(input).op == "constant"
            ? ref(input)
            : expression(input).text;
    return blank_in(text) == std::string::npos ? text : "(" + text + ")";
  }

  // The formula with names for its letters.
  std::string replaced(const Value& x, int v, const std::string& formula) const {
    std::string out;
    const std::string_view sum = "Σ";
    for (std::size_t i = 0; i < formula.size();) {
      if (formula.compare(i, sum.size(), sum) == 0 && formula[i + sum.size()] != '_') {
        const bool has_axis =
            std::ranges::any_of(x.arguments, [](const Argument& a) { return a.name == "axis"; });
        out += fill_in("Σ_{}", has_axis ? argument(x, "axis", x.op) : "-1");
        i += sum.size();
        continue;
      }
      std::size_t end = i;
      while (end < formula.size() && is_letter(formula[end])) ++end;
      if (end == i) {
        out += formula[i++];
        continue;
      }
      const std::string word = formula.substr(i, end - i);
      i = end;
      std::string is = word;
      if (word == "y") is = ref(v);
      if (word == "dy") is = "d" + ref(v);
      for (std::size_t k = 0; k < x.inputs.size(); ++k)
        if (x.inputs[k] >= 0 && word == x.formula->input_name(k)) is = factor(x.inputs[k]);
      for (const auto& [name, t] : x.tensors)
        if (word == name) is = factor(t);
      for (const Argument& a : x.arguments)
        if (word == a.name && a.dims.rank() == 0 && word.size() == 1) is = argument(x, word, x.op);
      out += is;
    }
    for (std::size_t i; (i = out.find("ᵀ)ᵀ")) != std::string::npos;)
      out.erase(i, 3).erase(i + 1, 3);
    for (std::size_t i; (i = out.find("ᵀᵀ")) != std::string::npos;) out.erase(i, 6);
    return out;
  }

  const Letters& letters_;
  Sheet& sheet_;
  std::map<std::string, std::set<std::string>> names_;  // by stack, without their layers
};

std::string section_of(const Part& part, const std::string& path, const std::string& module) {
  const Home h = home_of(path);
  std::string heading = h.stack;
  if (!h.stack.empty()) {
    heading += part.loop() && module.empty()
                   ? fill_in(".{} … {}", part.layers.front(), part.layers.back())
                   : fill_in(".{}", h.number);
  }
  const std::size_t dot = h.local.find('.');
  if (heading.empty() && dot == std::string::npos) return "model";
  if (dot != std::string::npos) heading += (heading.empty() ? "" : ".") + h.local.substr(0, dot);
  return heading;
}

}  // namespace

std::string module_named(const Trace& trace, const std::string& name) {
  std::set<std::string> modules;
  for (const Value& x : trace.values)
    if (!x.backward && x.op != "leaf" && x.op != "constant")
      for (std::size_t dot = x.path.find('.'); dot != std::string::npos;
           dot = x.path.find('.', dot + 1))
        modules.insert(x.path.substr(0, dot));
  if (name.empty() || modules.contains(name)) return name;
  std::vector<std::string> ends;
  for (const std::string& m : modules)
    if (m.ends_with("." + name)) ends.push_back(m);
  if (ends.size() == 1) return ends[0];
  if (ends.empty())
    throw ValueError("--module", fill_in("the model has no module '{}'{}", name,
                                         nearest_names(name, {modules.begin(), modules.end()})));
  std::string all;
  for (const std::string& m : ends) all += (all.empty() ? "" : ", ") + m;
  throw ValueError("--module", fill_in("'{}' is the end of several: {}", name, all));
}

Sheet sheet_of(const Listing& listing, const Letters& letters, const std::string& request,
               bool equations) {
  const Trace& trace = listing.trace();
  const std::string module = module_named(trace, request);
  Sheet sheet;
  Equations write(listing, letters, sheet);
  std::set<std::string> loops;
  std::set<std::pair<int, std::size_t>> shown;    // part and line
  std::vector<std::pair<int, std::string>> sent;  // values, and the names of their gradients
  // Backward lines by the forward line that they come from: part and line.
  std::map<std::pair<int, std::size_t>, std::vector<int>> sources;
  if (!equations)
    for (const Part& p : listing.parts())
      if (p.backward)
        for (int b : p.values[0]) {
          const int f = trace[b].during < 0 ? -1 : listing.line_of(trace[b].during);
          if (f >= 0 && listing.has_line(f))
            sources[{listing.part_of(f), listing.place_of(f).second}].push_back(b);
        }
  int number = -1;
  for (const Part& part : listing.parts()) {
    ++number;
    if (part.backward) continue;
    write.enter(part);
    for (std::size_t l = 0; l < part.values[0].size(); ++l) {
      const int v = part.values[0][l];  // equal layers have equal lines
      const std::string* first_path = nullptr;
      std::vector<int> nodes;
      for (const auto& layer : part.values) {
        const std::string& path = trace[layer[l]].path;
        if (!module.empty() && !path.starts_with(module + ".")) continue;
        if (!first_path) first_path = &path;
        nodes.push_back(trace[layer[l]].node);
      }
      if (!first_path) continue;
      const Value& x = trace[v];
      const std::string heading = section_of(part, *first_path, module);
      if (sheet.sections.empty() || sheet.sections.back().heading != heading) {
        sheet.sections.push_back({heading, {}});
        const std::string local = home_of(x.path).local;
        const std::size_t dot = local.find('.');
        write.prefix = dot == std::string::npos ? "" : local.substr(0, dot + 1);
      }
      Row row{std::move(nodes),
              write.forward(v),
              letters.shape(x.shape(), x.batch),
              to_string(x.where),
              {}};
      if (equations)
        row.backward = write.by_formula(v);
      else
        for (int b : sources[{number, l}]) {
          row.backward.push_back(write.backward(b, part));
          shown.insert({listing.part_of(b), listing.place_of(b).second});
        }
      shown.insert({number, l});
      if (equations) {
        if (v == trace.loss) row.backward.insert(row.backward.begin(), "dloss = 1");
        sent.emplace_back(v, "d" + write.ref(v));
      }
      sheet.sections.back().rows.push_back(std::move(row));
      if (part.loop()) loops.insert(part.stack);
    }
  }
  Part between;
  between.layers = {-1};
  write.enter(between);
  for (const Part& part : listing.parts())
    if (loops.contains(part.stack) && part.loop() && !(equations && part.backward))
      for (const Carry& c : part.carries)
        sheet.notes.push_back(fill_in(
            "{}: each layer hands {} to the {}, which calls it {}; the first to run reads {}.",
            part.stack, listing.name(part.values[0][c.line]), part.backward ? "one before" : "next",
            c.name.substr(c.name.rfind('_') + 1), write.ref(c.before)));
  // Each name of the sheet has a line on it, or a note.
  const int number_of_layer = home_of(module + ".").number;
  auto is_shown = [&](int v) {
    return listing.has_line(v) && shown.contains({listing.part_of(v), listing.place_of(v).second});
  };
  std::string constants, elsewhere;
  auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  auto come_from = [&](const std::string& name, int v) {
    if (listing.has_line(v) && number_of_layer >= 0) {  // the module's layer, not the first
      const Part& p = listing.parts()[static_cast<std::size_t>(listing.part_of(v))];
      const auto l = std::ranges::find(p.layers, number_of_layer);
      if (p.stack == home_of(module + ".").stack && l != p.layers.end())
        v = p.values[static_cast<std::size_t>(l - p.layers.begin())][listing.place_of(v).second];
    }
    const Value& origin = trace[v];
    add(elsewhere, fill_in("{}{} ({})", name, name == origin.path ? "" : " from " + origin.path,
                           to_string(origin.where)));
  };
  std::set<std::string> listed;  // masks of one name may have several shapes
  for (const auto& [name, v] : write.constants)
    if (const std::string one = name + " " + letters.shape(trace[v].shape(), trace[v].batch);
        listed.insert(one).second)
      add(constants, one);
  for (const auto& [name, v] : write.read) {
    const Value& x = trace[v];
    if (x.op != "constant" && x.op != "leaf" && !module.empty() && !is_shown(v))
      come_from(name, x.backward && x.during >= 0 ? listing.line_of(x.during) : v);
  }
  for (const auto& [v, name] : sent) {
    std::vector<int> readers;
    for (int r : listing.users(v))
      if (!trace[r].backward) readers.push_back(listing.line_of(r));
    if (!readers.empty() && std::ranges::none_of(readers, is_shown))
      come_from(name, readers.back());
  }
  if (!constants.empty()) sheet.notes.push_back("Given, without a gradient: " + constants + ".");
  if (!elsewhere.empty())
    sheet.notes.push_back("From lines that are elsewhere: " + elsewhere + ".");
  if (!letters.extents.empty()) add_signs(sheet, letters);
  return sheet;
}

void add_notes_on_hooks(Sheet& sheet, const Pass& pass, bool equations) {
  for (int node : changed_nodes(pass))
    sheet.notes.push_back(
        "A hook changes the gradient of " + pass[node].path +
        (equations ? ": the equations are those without it." : ": it is part of the lines."));
}

}  // namespace glim::derive
