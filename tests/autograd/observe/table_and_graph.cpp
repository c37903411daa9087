// Tables, graphs and sums of tapes.
#include <algorithm>
#include <set>
#include <sstream>

#include "autograd/observe/tape_table.hpp"
#include "tests/autograd/common.hpp"

namespace test_table_and_graph {

using namespace glim;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// softmax(x w) summed, within scopes.
Var small_model(const Var& x, const Var& w) {
  Scope decoder("decoder"), layer("0");
  Var scores = named(matmul(x, w), "scores");
  return sum(mul(named(softmax(scores), "probs"), scores));
}

// A reader for the part of Graphviz's grammar that to_dot writes:
//   graph : "digraph" ID "{" stmt* "}"       stmt : subgraph | node | edge | attribute
struct Dot {
  std::set<std::string> nodes, clusters;
  std::vector<std::string> labels, shapes;
  std::vector<std::pair<std::string, std::string>> edges;
  std::string problem;

  explicit Dot(std::string text) : text_(std::move(text)) {
    expect("digraph");
    identifier();
    body();
    if (!next().empty()) fail("something after the graph");
    for (auto& [from, to] : edges)
      if (!nodes.count(from) || !nodes.count(to)) fail("edge of an unknown node");
  }

 private:
  void fail(const std::string& what) {
    if (problem.empty()) problem = what + " before: " + text_.substr(at_, 40);
    at_ = text_.size();
  }
  std::string next() {  // a word, a quoted string or one sign
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ >= text_.size()) return "";
    std::size_t start = at_;
    if (text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\n') fail("a line end within a string");
        if (at_ < text_.size() && text_[at_] == '\\') ++at_;
      }
      if (at_ >= text_.size()) {
        fail("an open string");
        return "";
      }
      return text_.substr(start, ++at_ - start);
    }
    if (text_.compare(at_, 2, "->") == 0) {
      at_ += 2;
      return "->";
    }
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (at_ == start) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::string peek() {
    auto before = at_;
    std::string word = next();
    at_ = before;
    return word;
  }
  void expect(const std::string& word) {
    if (problem.empty() && next() != word) fail("expected " + word);
  }
  std::string identifier() {
    std::string word = next();
    if (word.empty() || !(std::isalnum(static_cast<unsigned char>(word[0])) || word[0] == '"'))
      fail("expected a name");
    return word;
  }
  void attribute() {
    std::string name = identifier();
    expect("=");
    std::string value = identifier();
    if (name == "label") labels.push_back(value);
    if (name == "shape") shapes.push_back(value);
  }
  void body() {
    expect("{");
    while (problem.empty() && peek() != "}") statement();
    expect("}");
  }
  void statement() {
    std::string first = identifier();
    if (first == "subgraph") {
      std::string name = identifier();
      if (name.rfind("\"cluster.", 0) != 0) fail("no cluster's name");
      clusters.insert(name);  // Graphviz: "subgraphs of one name are one"
      body();
      return;
    }
    std::string sign = peek();
    if (sign == "=") {
      next();
      std::string value = identifier();
      if (first == "label") labels.push_back(value);
    } else if (sign == "->") {
      next();
      edges.emplace_back(first, identifier());
    } else {
      if (first != "node" && !nodes.insert(first).second) fail("node named twice");
      expect("[");
      while (problem.empty() && peek() != "]") {
        attribute();
        if (peek() == ",") next();
      }
      expect("]");
    }
    expect(";");
  }

  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

TEST_CASE("a tape as a table", "[inspect]") {
  Var x = Var::leaf(ones({2, 3}), "x"), w = Var::leaf(ones({3, 4}), "decoder.weight");
  Tape tape;
  Var loss = small_model(x, w);
  std::string text = to_table(tape);
  INFO(text);
  auto lines = lines_of(text);
  REQUIRE(lines.size() == 1 + 6 + 1);
  for (const char* column :
       {"no", "path", "op", "inputs", "shape", "dtype", "bytes", "saved", "line"})
    CHECK(contains(lines[0], column));
  CHECK_FALSE(contains(lines[0], "forward"));
  CHECK(contains(lines[1], " 0  x "));
  CHECK(contains(lines[1], "leaf"));
  CHECK(contains(lines[1], "24 B"));
  CHECK(contains(lines[2], "decoder.weight"));
  CHECK(contains(lines[3], " 2  decoder.0.scores  matmul"));
  CHECK(contains(lines[3], "0 1"));
  CHECK(contains(lines[3], "(2, 4)  float32"));
  CHECK(contains(lines[3], "a b 72 B"));
  CHECK(contains(lines[3], "table_and_graph.cpp:"));
  CHECK(contains(lines[4], "decoder.0.probs"));
  CHECK(contains(lines[4], "y 32 B"));
  CHECK(contains(lines[5], "3 2"));
  CHECK(lines.back() == "4 ops, 2 leaves, values 172 B, saved for backward 168 B");
  // Columns line up.
  auto op = lines[0].find("op ");
  CHECK(lines[3].compare(op, 6, "matmul") == 0);
  CHECK(lines[1].compare(op, 4, "leaf") == 0);

  tape.backward(loss);
  std::string after = to_table(tape);
  INFO(after);
  CHECK(contains(after, "freed"));
  CHECK_FALSE(contains(after, "a b 72 B"));
  CHECK(contains(after, "saved for backward 0 B, 4 ops used up by backward"));
}

TEST_CASE("a table shows times when they are measured, and norms where they are watched",
          "[inspect]") {
  Var x = Var::leaf(ones({20, 30}), "x"), w = Var::leaf(ones({30, 40}), "w");
  Tape tape;
  OpTimes times(tape);
  Watch probs(tape, "*.probs");
  Var loss = small_model(x, w);
  CHECK_FALSE(contains(to_table(tape, &times, &probs), "|gradient|"));
  tape.backward(loss);
  auto lines = lines_of(to_table(tape, &times, &probs));
  CHECK(contains(lines[0], "forward"));
  CHECK(contains(lines[0], "backward"));
  CHECK(contains(lines[0], "|gradient|"));
  INFO(lines[4]);
  CHECK((contains(lines[4], "µs") || contains(lines[4], "ms")));
  // dL/dprobs is the scores, 800 times 30.
  CHECK(contains(lines[4], "849"));
}

TEST_CASE("a table cuts a long list of inputs", "[inspect]") {
  Var x = leaf_of({1});
  Tape tape;
  Var many = concatenate(std::vector<Var>(20, x), 0);
  CHECK(contains(to_table(tape), "0 0 0 0 0 0 0 0 ... (20)"));
}

TEST_CASE("an empty tape prints", "[inspect]") {
  Tape tape;
  CHECK(contains(to_table(tape), "0 ops, 0 leaves"));
  CHECK(Dot(to_dot(tape)).problem == "");
}

TEST_CASE("a tape as a graph", "[inspect]") {
  Var x = leaf64({2, 3}, 1), w = leaf64({3, 4}, 2, "decoder.0.weight");
  Tape tape;
  Var loss = small_model(x, w);
  std::string text = to_dot(tape);
  INFO(text);
  Dot dot(text);
  CHECK(dot.problem == "");
  CHECK(dot.nodes.size() == tape.nodes().size());
  CHECK(dot.edges.size() == 6);  // matmul 2, softmax 1, mul 2, sum 1
  CHECK(dot.clusters.size() == 2);
  CHECK(std::count(dot.shapes.begin(), dot.shapes.end(), "ellipse") == 2);
  CHECK(contains(text, "probs\\nsoftmax\\n(2, 4) float64"));
  CHECK_FALSE(contains(text, "dashed"));
  CHECK(dot.clusters.count("\"cluster.decoder\"") == 1);
  CHECK(dot.clusters.count("\"cluster.decoder.0\"") == 1);
  CHECK(contains(text, "\"weight\\n(3, 4) float64\""));  // within its module
  tape.backward(loss);
  CHECK(contains(to_dot(tape), "style=dashed"));
}

TEST_CASE("labels are escaped, whatever names contain", "[inspect]") {
  Var x = leaf64({2}, 1, "a \"quoted\" \\ name\nof two lines; -> }");
  Tape tape;
  Scope scope("{strange\" scope}");
  Var y = named(exp(x), "back\\slash\"");
  sum(y);
  std::string text = to_dot(tape);
  INFO(text);
  Dot dot(text);
  CHECK(dot.problem == "");
  CHECK(dot.nodes.size() == 3);
  CHECK(contains(text, "a \\\"quoted\\\" \\\\ name\\nof two lines; -> }"));
  // The reader itself notices what is wrong.
  CHECK(Dot("digraph t { n0 [label=\"open]; }").problem != "");
  CHECK(Dot("digraph t { n0 [label=\"x\"]; n0 -> n1; }").problem != "");
  CHECK(Dot("digraph t { n0 [label=\"x\"];").problem != "");
}

TEST_CASE("the recorded backward is drawn too", "[inspect]") {
  Var x = leaf64({2, 3}, 1), w = leaf64({3, 4}, 2, "w");
  Tape tape;
  Var loss = small_model(x, w);
  tape.grad(loss, {w}, {}, {.create_graph = true});
  std::string text = to_dot(tape);
  INFO(text);
  Dot dot(text);
  CHECK(dot.problem == "");
  CHECK(dot.nodes.size() == tape.nodes().size());
  CHECK(contains(text, "label=\"d(decoder.0.probs)\""));
  CHECK(contains(to_table(tape), "d(decoder.0.probs).mul"));
}

TEST_CASE("what an op keeps for backward is counted", "[inspect]") {
  Var x = Var::leaf(ones({64, 64}), "x");
  Tape tape;
  Var y = matmul(x, x);
  CHECK(saved_bytes(tape.nodes()[0]) == 0);  // a leaf
  CHECK(saved_bytes(tape.nodes()[1]) == 2 * 64 * 64 * 4);
  tape.backward(sum(y));
  CHECK(saved_bytes(tape.nodes()[1]) == 0);
}

TEST_CASE("the table counts what a kernel keeps beside inputs and output", "[table]") {
  auto saved = [](const Var& y) {
    return saved_bytes(Tape::current()->nodes()[Tape::current()->node_of(y)]);
  };
  Var x = Var::leaf(uniform({2, 5, 12}, -1, 1, {78, 1}), "x");
  Var w = Var::leaf(uniform({7, 12}, -1, 1, {78, 2}), "w");
  const Index size = x.value().bytes();
  Tape tape;
  CHECK(saved(layer_norm(x, {}, {}, 1e-5)) == size + 2 * 10 * 4);  // μ and 1/σ of ten rows
  CHECK(saved(rms_norm(x, {}, 1e-5)) == size + 10 * 4);
  CHECK(saved(packed_attention(x, {}, 2, {}, 0, {}, false).context) == size + 2 * 2 * 5 * 5 * 4);
  // Long rows: backward computes the probabilities again.
  Var longer = Var::leaf(uniform({1, 200, 12}, -1, 1, {78, 3}), "longer");
  CHECK(saved(packed_attention(longer, {}, 2, {}, 0, {}, false).context) == longer.value().bytes());
  Tensor target = zeros({10}, DType::Int64);
  Var rows = Var::leaf(uniform({10, 12}, -1, 1, {78, 4}), "rows");
  CHECK(saved(linear_label_smoothing_loss(rows, w, {}, target, 0.1, -1).loss) ==
        2 * (rows.value().bytes() + w.value().bytes()));  // and the gradients of both
}

}  // namespace test_table_and_graph
