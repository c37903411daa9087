// The programs, in NumPy and in C++.
#include <algorithm>
#include <set>

#include "tools/common/ascii.hpp"
#include "tools/common/escape.hpp"
#include "tools/derive/fill.hpp"
#include "tools/derive/program.hpp"

namespace glim::derive {
namespace {

class Program : public Expressions {
 public:
  Program(const Listing& listing, const Letters& letters, Language language)
      : Expressions(listing, language), letters_(letters), cpp_(language == kCpp) {}

  std::string body() {
    std::set<std::string> stacks;
    bool backward = false;
    heading("forward");
    for (const Part& p : listing_.parts()) {
      part_ = &p;
      if (p.backward && !backward) heading("backward");
      backward = p.backward;
      if (p.loop() && stacks.insert(p.stack).second) write_layers();
      if (p.loop())
        write_loop();
      else
        for (int v : p.values[0]) write(v);
    }
    return out_;
  }

  // The functions that are called, each after those that it calls.
  std::string helpers() const {
    std::string text;
    for (const char* name :
         {"softmax", "masked_softmax", "log_softmax", "logsumexp", "sigmoid", "gelu", "gelu_tanh",
          "erf", "linear_recurrence", "unslice", "gather", "scatter_add", "index_add", "unfold",
          "fold", "windows", "rotate_pairs"})
      if (calls(out_ + text, name)) text = "\n\n" + text_part(name) + text;
    return text;
  }
  static bool calls(const std::string& code, const std::string& name) {
    for (std::size_t i = 0; (i = code.find(name + "(", i)) != std::string::npos; ++i)
      if (i == 0 || !(is_letter_or_digit(code[i - 1]) || code[i - 1] == '_' || code[i - 1] == '.'))
        return true;
    return false;
  }

 protected:
  std::string ref(int v) const override {
    const Value& x = at(v);
    if (x.op == "leaf" || x.op == "constant") return entry(x.op == "leaf" ? "w" : "batch", v);
    if (!listing_.targets(v).empty()) return entry("d", listing_.targets(v)[0]);
    if (auto c = part_->carried.find(v); c != part_->carried.end())
      return part_->carries[c->second].name;
    if (x.op == "zero") return cpp_ ? fill_in("zeros({}, DType::Float64)", dims(x.shape())) : "0";
    const Part& part = listing_.parts()[static_cast<std::size_t>(listing_.part_of(v))];
    if (auto port = part_->ports.find(v); port != part_->ports.end())
      return "s." + port->second.substr(port->second.rfind('_') + 1);
    if (!part.loop()) return identifier(listing_.name(v));
    const auto [layer, line] = listing_.place_of(v);
    const std::string name = identifier(listing_.name(v));
    if (&part == part_ || part_->kept.contains(v)) return (listing_.stored(v) ? "s." : "") + name;
    if (listing_.handed_on(part, v))
      for (const Carry& c : part.carries)
        if (c.line == line) return c.name;
    return fill_in("{}[{}].{}", identifier(part.stack), part.layers[layer], name);
  }

  // w["NAME"], in a loop w[p + "NAME"] of the layer.
  virtual std::string entry(const char* array, int v) const {
    const std::string& path = at(v).path;
    const Home h = home_of(path);
    const bool gradient = std::string_view(array) == "d";
    std::string key = '"' + in_language(path) + '"';
    if (part_->loop() && h.stack == part_->stack && h.number == part_->layers[0] &&
        (part_->locals.contains(v) || gradient))
      key = "p + \"" + in_language(h.local) + '"';
    return fill_in(cpp_ && !gradient ? "{}.at({})" : "{}[{}]", array, key);
  }

  std::string in_language(const std::string& text) const {
    return cpp_ ? in_cpp(text) : in_python(text);
  }
  void heading(const char* text) {
    out_ += fill_in("\n{}{} ---- {} ----\n", indent_, cpp_ ? "//" : "#", text);
  }
  void put(const std::string& code, const std::string& comment = {}) {
    std::string line = indent_ + code;
    if (cpp_ && code.back() != '{' && code.back() != '}') line += ";";
    if (!comment.empty())
      line += std::string(line.size() + 2 < column_ ? column_ - line.size() : 2, ' ') +
              (cpp_ ? "// " : "# ") + comment;
    out_ += line + "\n";
  }
  void write(int v) {
    std::string left;
    for (int leaf : listing_.targets(v)) left += entry("d", leaf) + " = ";
    if (left.empty())
      left =
          (cpp_ && !(part_->loop() && listing_.stored(v)) ? "const Tensor " : "") + ref(v) + " = ";
    else if (cpp_ && column_ < 90)
      left = "const Tensor " + left;
    put(left + expression(v).text, letters_.shape(v, at(v).shape(), at(v).batch));
  }

  // The names that each layer of this part's stack keeps for other parts, joined by commas.
  std::string kept_names() const {
    std::vector<std::string> names;
    auto add = [&](const std::string& name) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    for (const Part& p : listing_.parts()) {
      if (!p.loop() || p.stack != part_->stack) continue;
      for (const Carry& c : p.carries)
        if (!c.port.empty()) add(c.port);
      for (int v : p.values[0])
        if (listing_.stored(v)) add(identifier(listing_.name(v)));
    }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }
  void write_layers() {
    int count = 0;  // a layer's number is its place
    for (const Part& p : listing_.parts())
      if (p.loop() && p.stack == part_->stack)
        count = std::max({count, p.layers.front() + 1, p.layers.back() + 1});
    const std::string layers = identifier(part_->stack), names = kept_names();
    out_ += "\n";
    if (cpp_ && names.empty()) return;
    put(cpp_ ? fill_in("struct { Tensor {}; } {}[{}]", names, layers, count)
             : fill_in("{} = [SimpleNamespace() for _ in range({})]", layers, count));
  }

  void write_loop() {
    const Part& p = *part_;
    const std::string layers = identifier(p.stack), indent = indent_;
    const int first = std::min(p.layers.front(), p.layers.back()),
              end = std::max(p.layers.front(), p.layers.back()) + 1;
    const bool downwards = p.layers.front() > p.layers.back();
    for (const Carry& c : p.carries) {
      part_ = &outside_;
      put((cpp_ ? "Tensor " : "") + c.name + " = " + ref(c.before));
      part_ = &p;
    }
    if (cpp_) {
      put(downwards ? fill_in("for (int i = {}; i-- > {};) {", end, first)
                    : fill_in("for (int i = {}; i < {}; ++i) {", first, end));
      indent_ += "  ";
      if (!kept_names().empty()) put(fill_in("auto& s = {}[i]", layers));
      put(fill_in("const std::string p = \"{}.\" + std::to_string(i) + \".\"",
                  in_language(p.stack)));
    } else {
      const std::string range =
          first > 0 ? fill_in("range({}, {})", first, end) : fill_in("range({})", end);
      put(fill_in(downwards ? "for i in reversed({}):" : "for i in {}:", range));
      indent_ += "    ";
      put(fill_in("s, p = {}[i], \"{}.\" + str(i) + \".\"", layers, in_language(p.stack)));
    }
    for (const Carry& c : p.carries)
      if (!c.port.empty()) put("s." + c.port + " = " + c.name);
    for (int v : p.values[0]) write(v);
    for (const Carry& c : p.carries) put(c.name + " = " + ref(p.values[0][c.line]));
    indent_ = indent;
    if (cpp_) put("}");
    out_ += "\n";
  }

  const Letters& letters_;
  bool cpp_;
  const Part* part_ = nullptr;
  Part outside_;
  std::string out_, indent_ = cpp_ ? "  " : "";
  std::size_t column_ = 90;  // of comments
};

// The lines of one function, whose inputs and gradients are variables.
class FunctionLines final : public Program {
 public:
  FunctionLines(const Listing& listing, const Letters& letters, Language language)
      : Program(listing, letters, language) {
    column_ = 70;
    if (!cpp_) indent_ = "    ";
  }

  FunctionText text() {
    FunctionText text;
    std::set<int> needed;
    for (const Part& p : listing_.parts())
      if (p.backward)
        for (int v : p.values[0]) collect(v, needed);
    for (const auto& [name, leaf] : listing_.trace().parameters)
      if (const int g = listing_.trace().gradient(leaf); g >= 0) collect(g, needed);
    for (const Part& p : listing_.parts()) {
      part_ = &p;
      for (int v : p.values[0]) {
        (p.backward ? text.backward : text.forward) += line(v);
        if (!p.backward && needed.contains(v)) text.again += line(v);
      }
    }
    for (const auto& [name, leaf] : listing_.trace().parameters)
      if (const int g = listing_.trace().gradient(leaf); g >= 0 && !listing_.has_line(g)) {
        out_.clear();
        put((cpp_ ? "const Tensor d" : "d") + name + " = " + ref(g));
        text.backward += out_;
      }
    out_ = text.forward + text.backward;
    if (!cpp_) text.helpers = helpers();
    return text;
  }

 private:
  // Lines of the forward pass that a value needs.
  void collect(int v, std::set<int>& needed) const {
    if (v < 0 || needed.contains(v)) return;
    if (listing_.has_line(v) && !at(v).backward) needed.insert(v);
    for (int x : at(v).inputs) collect(x, needed);
    for (const auto& [name, x] : at(v).tensors) collect(x, needed);
  }
  std::string line(int v) {
    out_.clear();
    write(v);
    return out_;
  }
  std::string ref(int v) const override {
    return v == listing_.trace().loss ? "y" : Program::ref(v);
  }
  std::string entry(const char* array, int v) const override {
    return (*array == 'd' ? "d" : "") + at(v).path;
  }
  std::string dims(const Dims& shape, bool) const override {
    std::string text;
    for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + size(shape[i]);
    // x.reshape() of NumPy wants the tuple: (()) is one, of no axes.
    if (!cpp_ && shape.rank() == 0) return "(())";
    return cpp_ ? "{" + text + "}" : "(" + text + (shape.rank() == 1 ? ",)" : ")");
  }
  std::string size(Index n) const override { return letters_.size(n); }
};

}  // namespace

std::string numpy_program(const Listing& listing, const Letters& letters, const ProgramText& text) {
  Program program(listing, letters, kNumpy);
  const std::string body = program.body();
  std::string load = text_part("load");
  load.replace(load.find("FILE"), 4, text.file);
  return fill_in(
             "#!/usr/bin/env python3\n\"\"\"{}: forward, loss and backward.\n\n    python3 THIS "
             "[DATA [WEIGHTS]]\n\n"
             "Written by `{}`. NumPy alone, no autograd. DATA (.safetensors or .npz; without: {}) "
             "has the\n"
             "batch, its masks and the weights, WEIGHTS other weights. Prints the loss, the norm "
             "of each gradient, and how far\n"
             "each is from Glim's.\n\"\"\"\n",
             in_python(text.title), in_python(text.command), text.file) +
         text_part("head") + program.helpers() + "\n\n" + load + body + "\n\n" +
         text_part("report");
}

std::string cpp_program(const Listing& listing, const Letters& letters, const ProgramText& text) {
  Program program(listing, letters, kCpp);
  const std::string body = program.body();
  return fill_in(
             "// {}: forward, loss and backward on Glim's tensors, without autograd.\n// Written "
             "by `{}`.\n",
             in_cpp_comment(text.title), in_cpp_comment(text.command)) +
         text_part("cpp_head") + body + text_part("cpp_main");
}

FunctionText function_text(const Listing& listing, const Letters& letters, Language language) {
  return FunctionLines(listing, letters, language).text();
}

std::string cpp_helpers() {
  const std::string head(text_part("cpp_head"));
  return head.substr(0, head.find("\n// The loss, and its gradient"));
}

StateDict constants_of(const Trace& trace) {
  StateDict all;
  for (const Value& v : trace.values)
    if (v.op == "constant") all[v.path] = v.value;
  return all;
}

StateDict data_of(const Trace& trace, const StateDict& gradients) {
  StateDict all;
  for (const auto& [name, leaf] : trace.parameters) all[name] = trace[leaf].value.contiguous();
  for (const auto& [name, x] : gradients) all["gradient." + name] = x.contiguous();
  for (const auto& [name, x] : constants_of(trace)) all["batch." + name] = x.contiguous();
  return all;
}

}  // namespace glim::derive
