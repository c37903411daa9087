#include "tools/derive/paper.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/ops.hpp"
#include "tensor/error.hpp"
#include "tools/derive/fill.hpp"

namespace glim::derive {
namespace {

// y = x W + b, and which part of the stored parameters W and b are.
struct Projection {
  int x = -1, product = -1, y = -1;  // nodes
  std::string weight, bias;
  bool transposed = false;  // the weight is stored as (outputs, inputs)
  Index outputs = 0;
  Tensor columns;  // by output: the row or column of the stored weight
};

const std::set<std::string> kLinear{"add",   "sub",         "mul",          "neg",
                                    "scale", "concatenate", "rotate_pairs", "divide"};
const std::set<std::string> kActivations{"relu", "gelu", "silu", "tanh", "sigmoid"};

class Paper {
 public:
  Paper(const Pass& pass, const std::string& module) : pass_(pass), module_(module) {}

  Sheet sheet() {
    for (const PassNode& n : pass_.nodes()) {
      if (!module_.empty() && !n.path.starts_with(module_ + ".")) continue;
      signs_.clear();
      if (n.label == "probs" && !n.op.ends_with("softmax"))
        refuse(n, "is attention without softmax");
      if (n.label == "probs")
        attention(n);
      else if (n.label == "normalized" && n.op == "div")
        norm(n);
      else if (kActivations.contains(n.op))
        feed_forward(n);
    }
    if (sheet_.sections.empty())
      throw ValueError("--level", "paper: no attention, feed-forward network or norm is in " +
                                      (module_.empty() ? "the pass" : module_) +
                                      "; --level rules writes every op");
    for (std::size_t i = 0; i < others_.size(); ++i)
      if (others_[i] > 0) sheet_.sections[i].heading += fill_in(" (and {} alike)", others_[i]);
    sheet_.paper = true;
    sheet_.notes.push_back(
        "The axis of the batch is left out: a parameter's gradient is the sum over its sentences.");
    add_signs(sheet_, {});
    sheet_.extents = {"T", "S", "D", "Dh", "F"};
    sheet_.signs.push_back(
        {"(T, D)", "a shape: T tokens, S of the other sequence; D is the width of the model",
         true});
    return std::move(sheet_);
  }

 private:
  [[noreturn]] void refuse(const PassNode& n, const std::string& problem) const {
    throw ValueError("--level",
                     fill_in("paper: {} {}; --level rules writes every op", n.path, problem));
  }
  // The value that a view shows; the views on the way, the last one first.
  int behind(int node, std::vector<int>* views = nullptr) const {
    while (node >= 0 && !pass_[node].is_leaf() && is_view(pass_[node].op)) {
      if (views) views->push_back(node);
      node = pass_[node].inputs[0];
    }
    return node;
  }
  bool leaf(int node) const { return node >= 0 && pass_[node].is_leaf(); }
  // Other values through the same views.
  Tensor through(const std::vector<int>& views, Tensor x) const {
    const NoGrad unrecorded;
    for (auto v = views.rbegin(); v != views.rend(); ++v) x = pass_[*v].run({Var(x)}).value();
    return x.contiguous();
  }

  std::optional<Projection> projection(int node) const {
    Projection p;
    p.y = node;
    std::vector<int> views, of_weight;
    int product = behind(node, &views);
    if (product >= 0 && pass_[product].op == "add")
      for (const std::size_t k : {1, 0}) {
        const int bias = behind(pass_[product].inputs[k]);
        if (!leaf(bias) || pass_[bias].value.rank() != 1) continue;
        p.bias = pass_[bias].path;
        product = behind(pass_[product].inputs[1 - k], &views);
        break;
      }
    if (product < 0 || pass_[product].op != "matmul") return {};
    const int weight = behind(pass_[product].inputs[1], &of_weight);
    p.x = behind(pass_[product].inputs[0]);
    if (!leaf(weight) || p.x < 0) return {};
    const Tensor& w = pass_[weight].value;
    if (w.rank() != 2) return {};
    const Tensor places =  // of the stored elements
        through(of_weight, reshape(arange(0, static_cast<double>(w.numel())), w.shape()));
    p.product = product;
    p.weight = pass_[weight].path;
    p.outputs = places.size(1);
    p.transposed = places.size(0) > 1 && places.at<Index>({1, 0}) - places.at<Index>({0, 0}) == 1;
    Tensor columns = empty({p.outputs}, DType::Int64);
    for (Index j = 0; j < p.outputs; ++j)
      columns.data<Index>()[j] =
          p.transposed ? places.at<Index>({0, j}) / w.size(1) : places.at<Index>({0, j});
    p.columns = through(views, broadcast_to(columns, pass_[product].value.shape()).contiguous());
    return p;
  }
  // A projection behind ops that are linear in it; `linear` says that there are some.
  std::optional<Projection> projection_behind(int node, bool& linear) const {
    std::set<int> frontier{node};
    while (!frontier.empty()) {
      const int last = *frontier.rbegin();
      if (frontier.size() == 1)
        if (auto p = projection(last)) return p;
      const PassNode& n = pass_[last];
      const bool view = is_view(n.op);
      linear = linear || !view;
      if (!view && !kLinear.contains(n.op)) return {};
      if (n.op == "mul" && n.inputs[0] >= 0 && n.inputs[1] >= 0) return {};
      frontier.erase(last);
      for (const int input : n.inputs)
        if (leaf(input))
          return {};
        else if (input >= 0)
          frontier.insert(input);
    }
    return {};
  }
  // The one projection that reads a value through views, with its bias; none if it has other readers.
  std::optional<Projection> reader(int node) const {
    for (;;) {
      const std::vector<int> readers = pass_.consumers(node);
      if (readers.size() != 1) return {};
      node = readers[0];
      if (pass_[node].op == "matmul") break;
      if (!is_view(pass_[node].op)) return {};
    }
    for (int y = node;;) {  // the bias is added to the product, or to its view
      const std::vector<int> readers = pass_.consumers(y);
      if (readers.size() != 1) break;
      y = readers[0];
      if (const auto p = projection(y); p && p->product == node && !p->bias.empty()) return p;
      if (!is_view(pass_[y].op)) break;
    }
    return projection(node);
  }

  // ---- lines ----

  static Row row(std::string forward, std::string shape, std::vector<std::string> backward) {
    return {{}, std::move(forward), std::move(shape), "", std::move(backward)};
  }

  void sign(const std::string& letter, const std::string& means) {
    std::string name = letter;
    if (name.ends_with("̂")) name.resize(name.size() - 2);
    sheet_.names.insert(name);
    if (!means.empty()) signs_.push_back({letter, means});
  }
  void sign_of_size(const std::string& letter, const std::string& means) {
    signs_.push_back({letter, means, true});
  }
  std::string node(int n) const { return local(pass_[n].name); }
  // Without the path of the part.
  std::string local(const std::string& path) const {
    return path.starts_with(part_ + ".") ? path.substr(part_.size() + 1) : path;
  }
  // A section, or one more of the same lines.
  void add(const std::string& title, std::vector<Row> rows) {
    const auto equal = [&](const Section& s) {
      return s.heading.starts_with(title + ": ") &&
             std::equal(s.rows.begin(), s.rows.end(), rows.begin(), rows.end(),
                        [](const Row& a, const Row& b) {
                          return a.forward == b.forward && a.backward == b.backward;
                        });
    };
    const auto found = std::ranges::find_if(sheet_.sections, equal);
    if (found != sheet_.sections.end()) {
      ++others_[static_cast<std::size_t>(found - sheet_.sections.begin())];
      return;
    }
    sheet_.sections.push_back(
        {title + ": " + (part_.empty() ? "model" : part_), std::move(rows), signs_});
    others_.push_back(0);
  }

  // W_Q^h of a projection to heads, (B, H, T, Dh): which rows or columns it is. How many of `all` heads share one of them.
  Index heads_of(const std::string& letter, const Projection& p, Index all) {
    const PassNode& reads = pass_[p.y];
    const Tensor& c = p.columns;
    if (c.rank() != 4) refuse(reads, "has axes that are not those of heads");
    const Index heads = c.size(1), width = c.size(3), first = c.at<Index>({0, 0, 0, 0});
    Index shared = 1, repeated = std::max<Index>(1, all / heads);
    while (shared < heads && c.at<Index>({0, shared, 0, 0}) == first) ++shared;
    const Index step = shared < heads ? c.at<Index>({0, shared, 0, 0}) - first : width;
    for (Index h = 0; h < heads; ++h)
      for (Index d = 0; d < width; ++d)
        if (c.at<Index>({0, h, 0, d}) != first + h / shared * step + d)
          refuse(reads, "has heads whose features are not neighbours in " + p.weight);
    shared *= repeated;
    const std::string g = shared > 1 ? "g" : "h", columns = columns_text(first, step, g, width);
    sign("W_" + letter + "^" + g, stored(p, columns));
    if (!p.bias.empty()) sign("b_" + letter + "^" + g, local(p.bias) + "[" + columns + "]");
    return shared;
  }
  static std::string columns_text(Index first, Index step, const std::string& g, Index width) {
    return fill_in("{}{} {} : {} + {} {}", first ? shown(first) + " + " : "", step, g,
                   first + width, step, g);
  }
  std::string stored(const Projection& p, const std::string& columns) const {
    return local(p.weight) + (p.transposed ? "[" + columns + "]ᵀ" : "[:, " + columns + "]");
  }

  void attention(const PassNode& probs) {
    part_ = probs.scope;
    // Scores: what is between the product of queries and keys and the softmax.
    double factor = 1;
    bool bias = false, hidden = probs.op == "masked_softmax";
    int s = probs.inputs[0];
    for (; s >= 0 && pass_[s].op != "matmul"; s = pass_[s].inputs[0]) {
      const PassNode& n = pass_[s];
      const bool constant = n.inputs.size() < 2 || n.inputs[1] < 0;
      if (n.op == "scale" || n.op == "divide")
        factor *= n.op == "scale" ? n.arguments[0].number : 1 / n.arguments[0].number;
      else if (n.op == "add" && constant && n.inputs[0] >= 0)
        bias = true;
      else if (!is_view(n.op))
        refuse(n, "is an op '" + n.op + "' between queries and scores");
    }
    int context = -1;
    for (const int r : pass_.consumers(probs.number))
      if (pass_[r].op == "matmul" && pass_[r].inputs[0] == probs.number) context = r;
    if (s < 0 || context < 0) refuse(probs, "is no softmax of products, or is dropped out");
    bool turned[3] = {};
    const auto q = projection_behind(pass_[s].inputs[0], turned[0]),
               k = projection_behind(pass_[s].inputs[1], turned[1]),
               v = projection_behind(pass_[context].inputs[1], turned[2]);
    const auto o = reader(context);
    if (!q || !k || !v || turned[2])
      refuse(probs,
             "has queries, keys or values that are no projections of a value with a gradient");
    if (k->x != v->x) refuse(probs, "has values of another input than its keys");
    heads_of("Q", *q, 0);
    const Index heads = q->columns.size(1);
    // Keys that a matrix product reads transposed have their axes swapped.
    Projection keys = *k;
    if (keys.columns.rank() == 4 && keys.columns.size(2) == q->columns.size(3) &&
        keys.columns.at<Index>({0, 0, 0, 0}) !=
            keys.columns.at<Index>({0, 0, keys.columns.size(2) - 1, 0}))
      keys.columns = transpose(keys.columns).contiguous();
    const Index shared = heads_of("K", keys, heads);
    if (heads_of("V", *v, heads) != shared) refuse(probs, "has groups of keys without values");
    const Index width = q->columns.size(3);
    const bool cross = q->x != k->x;
    const std::string g = shared > 1 ? "g" : "h", z = cross ? "Z" : "X", t = cross ? "S" : "T";
    const std::string scale = factor == 1 ? ""
                              : std::abs(factor * std::sqrt(static_cast<double>(width)) - 1) < 1e-6
                                  ? " / √Dh"
                                  : " · " + shown(factor);
    sign("X", node(q->x) + (cross ? ", which queries are made of" : ""));
    if (cross) sign("Z", node(k->x) + ", which keys and values are made of");
    std::vector<Row> rows;
    auto line = [&](std::string forward, const std::string& shape, std::vector<std::string> back) {
      rows.push_back(row(std::move(forward), shape, std::move(back)));
    };
    auto project = [&](const std::string& letter, const Projection& p, const std::string& x,
                       const std::string& h, const std::string& extent, bool turns) {
      const std::string w = "W_" + letter + "^" + h, b = "b_" + letter + "^" + h,
                        whole = letter + "_" + h, y = (turns ? letter + "'_" : letter + "_") + h;
      sign(whole, ""), sign(y, "");
      std::string gradients = fill_in("d{} = {}ᵀ d{}", w, x, y),
                  forward = fill_in("{} = {} {}", y, x, w);
      if (!p.bias.empty()) gradients += fill_in(",  d{} = Σ_rows(d{})", b, y), forward += " + " + b;
      line(forward, "(" + extent + ", Dh)", {gradients});
      if (!turns) return;
      line(fill_in("{} = R({})", whole, y), "(" + extent + ", Dh)",
           {fill_in("d{} = Rᵀ(d{})", y, whole)});
      sign("R(x)", "positions put into the rows of x, linear in x; Rᵀ is its transpose");
    };
    project("Q", *q, "X", "h", "T", turned[0]);
    project("K", *k, z, g, t, turned[1]);
    project("V", *v, z, g, t, false);
    auto back = [&](const char* letter, const std::string& h, bool turns) {
      return fill_in("d{}{}_{} W_{}^{}ᵀ", letter, turns ? "'" : "", h, letter, h);
    };
    const std::string of_queries = back("Q", "h", turned[0]),
                      of_keys = back("K", g, turned[1]) + " + " + back("V", g, false);
    const std::string queries_sum = fill_in("dX = Σ_h({})", of_queries),
                      keys_sum = fill_in("Σ_{}({})", g, of_keys);
    rows[0].backward.push_back(cross ? queries_sum : queries_sum + " + " + keys_sum);
    if (cross) rows[0].backward.push_back("dZ = " + keys_sum);
    const std::string sum = shared > 1 ? "Σ_h in g(" : "", end = shared > 1 ? ")" : "";
    for (const char* name : {"S_h", "A_h", "O_h", "Y"}) sign(name, "");
    line(fill_in("S_h = Q_h K_{}ᵀ{}{}", g, scale, bias ? " + M_h" : ""), "(T, " + t + ")",
         {fill_in("dQ_h = dS_h K_{}{},  dK_{} = {}dS_hᵀ Q_h{}{}", g, scale, g, sum, end, scale)});
    if (bias) sign("M_h", "a constant that is added to the scores");
    line(hidden ? "A_h = softmax(S_h where kept)" : "A_h = softmax(S_h)", "(T, " + t + ")",
         {"dS_h = A_h ⊙ (dA_h - Σ_-1(dA_h ⊙ A_h))"});
    line(fill_in("O_h = A_h V_{}", g), "(T, Dh)",
         {fill_in("dA_h = dO_h V_{}ᵀ,  dV_{} = {}A_hᵀ dO_h{}", g, g, sum, end)});
    if (o) {
      const std::string rows_of = columns_text(0, width, "h", width);
      sign("W_O^h",
           local(o->weight) + (o->transposed ? "[:, " + rows_of + "]ᵀ" : "[" + rows_of + "]"));
      if (!o->bias.empty()) sign("b_O", local(o->bias));
      sign("Y", node(o->y));
      line(fill_in("Y = Σ_h(O_h W_O^h){}", o->bias.empty() ? "" : " + b_O"), "(T, D)",
           {fill_in("dW_O^h = O_hᵀ dY{}", o->bias.empty() ? "" : ",  db_O = Σ_rows(dY)"),
            "dO_h = dY W_O^hᵀ"});
    }
    if (shared > 1)
      sign("g", fill_in("the group of head h, which shares a key and a value with {} heads in all",
                        shared));
    sign_of_size("Dh", fill_in("width of a head, here {}; {} heads", width, heads));
    add(cross ? "cross-attention" : "attention", std::move(rows));
  }

  void feed_forward(const PassNode& activation) {
    const auto first = projection(activation.inputs[0]);
    if (!first) return;
    auto out = reader(activation.number);
    std::optional<Projection> gate;
    if (!out)  // a gate: φ(X W_1) ⊙ (X W_3)
      for (const int r : pass_.consumers(activation.number))
        if (pass_[r].op == "mul") {
          const auto& factors = pass_[r].inputs;
          gate = projection(factors[factors[0] == activation.number ? 1 : 0]);
          if (gate && gate->x == first->x) out = reader(r);
        }
    if (!out || (gate && gate->x != first->x)) return;
    const std::string &w_1 = first->weight, &w_2 = out->weight;
    part_.assign(w_1.begin(), std::mismatch(w_1.begin(), w_1.end(), w_2.begin(), w_2.end()).first);
    part_.resize(part_.find('.') == std::string::npos ? 0 : part_.rfind('.'));
    std::vector<Row> rows;
    auto parameters = [&](const char* number, const Projection& p) {
      sign(fill_in("W_{}", number), local(p.weight) + (p.transposed ? "ᵀ" : ""));
      if (!p.bias.empty()) sign(fill_in("b_{}", number), local(p.bias));
    };
    auto project = [&](const char* number, const Projection& p, const std::string& x,
                       const std::string& y, const char* shape) {
      parameters(number, p);
      const std::string b = fill_in("b_{}", number);
      std::string forward = fill_in("{} = {} W_{}", y, x, number),
                  gradients = fill_in("dW_{} = {}ᵀ d{}", number, x, y);
      if (!p.bias.empty()) forward += " + " + b, gradients += fill_in(",  d{} = Σ_rows(d{})", b, y);
      rows.push_back(row(forward, shape, {gradients}));
    };
    sign("X", node(first->x)), sign("Y", node(out->y));
    for (const char* name : {"H", "G"}) sign(name, "");
    const std::string& f = activation.op;
    project("1", *first, "X", "H", "(T, F)");
    rows[0].backward.push_back(gate ? "dX = dH W_1ᵀ + dU W_3ᵀ" : "dX = dH W_1ᵀ");
    if (gate) {
      sign("U", ""), sign("P", "");
      project("3", *gate, "X", "U", "(T, F)");
    }
    rows.push_back(row(f == "relu" ? "G = max(0, H)" : fill_in("G = {}(H)", f), "(T, F)",
                       {f == "relu" ? "dH = dG ⊙ (H > 0)" : fill_in("dH = dG ⊙ {}'(H)", f)}));
    if (f != "relu") {
      const std::string rule(activation.formula->gradients[0]);
      const std::size_t other = rule.find("; or ");  // of gelu, the rule of its form with tanh
      const bool tanh = !activation.arguments.empty() && activation.arguments[0].number != 0;
      sign(f + "'(x)", "its derivative, that of the rule " +
                           (tanh ? rule.substr(other + 5) : rule.substr(0, other)));
    }
    if (gate) rows.push_back(row("P = G ⊙ U", "(T, F)", {"dG = dP ⊙ U,  dU = dP ⊙ G"}));
    const std::string hidden = gate ? "P" : "G";
    project("2", *out, hidden, "Y", "(T, D)");
    rows.back().backward.push_back(fill_in("d{} = dY W_2ᵀ", hidden));
    sign_of_size("F", fill_in("width of the hidden layer, here {}", first->outputs));
    add("feed-forward network", std::move(rows));
  }

  void norm(const PassNode& normalized) {
    part_ = normalized.scope;
    const PassNode* x = &pass_[behind(normalized.inputs[0])];
    const bool centred = x->op == "sub";
    if (centred) x = &pass_[behind(x->inputs[0])];
    std::vector<Row> rows;
    const std::string scale = centred ? "σ" : "ρ";
    sign("X", local(x->name)), sign("X̂", node(normalized.number));
    rows.push_back(
        row(centred ? "X̂ = (X - μ) / σ" : "X̂ = X / ρ", "(T, D)",
            {fill_in("dX = (dX̂ - {}X̂ ⊙ mean(dX̂ ⊙ X̂)) / {}", centred ? "mean(dX̂) - " : "", scale)}));
    if (centred) sign("μ", "the mean of each row");
    std::string epsilon = "ε";
    if (const int root = behind(normalized.inputs[1]); root >= 0 && pass_[root].op == "sqrt")
      if (const PassNode& shift = pass_[pass_[root].inputs[0]]; shift.op == "shift")
        epsilon = shown(shift.arguments[0].number);
    sign(scale,
         fill_in("√({} + {}) of each row", centred ? "variance" : "mean of squares", epsilon));
    int y = normalized.number;
    std::string forward = "Y = X̂", gradients = "dX̂ = dY";
    for (const char* op : {"mul", "add"}) {
      const std::vector<int> readers = pass_.consumers(y);
      if (readers.size() != 1 || pass_[readers[0]].op != op) break;
      const auto& operands = pass_[readers[0]].inputs;
      const int parameter = behind(operands[behind(operands[0]) == y || operands[0] == y ? 1 : 0]);
      if (!leaf(parameter)) break;
      y = readers[0];
      const bool factor = *op == 'm';
      sign(factor ? "γ" : "β", node(parameter));
      forward += factor ? " ⊙ γ" : " + β";
      gradients = factor ? "dX̂ = dY ⊙ γ,  dγ = Σ_rows(dY ⊙ X̂)" : gradients + ",  dβ = Σ_rows(dY)";
    }
    sign("Y", node(y));
    if (y != normalized.number) rows.push_back(row(forward, "(T, D)", {gradients}));
    add(centred ? "layer norm" : "RMS norm", std::move(rows));
  }

  const Pass& pass_;
  const std::string module_;
  Sheet sheet_;
  std::vector<Sign> signs_;  // of the section at hand
  std::string part_;         // its path
  std::vector<int> others_;  // equal parts, by section
};

}  // namespace

Sheet paper_of(const Pass& pass, const std::string& module) {
  return Paper(pass, module_named(forward_of(pass), module)).sheet();
}

}  // namespace glim::derive
