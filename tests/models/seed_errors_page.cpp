// The page seed_errors.md: each slip's effect beside the right result, in numbers. The test computes
// every number again and compares the page; GLIM_WRITE_PAGES=1 writes it.
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

#include "nn/attention/mask.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/matmul.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"
#include "tests/models/seed_errors.hpp"

namespace test_seed_errors_page {

using namespace glim;
using namespace glim::seed_errors;

namespace {

// One row of numbers to four digits; what rounds to 0 has no sign.
std::string row(const Tensor& x) {
  std::string text;
  Tensor flat = reshape(x.contiguous(), {-1});
  for (Index i = 0; i < flat.numel(); ++i) {
    double v = select(flat, 0, i).item();
    text += std::isnan(v) ? "     NaN" : fmt::format("{:8.4f}", std::abs(v) < 5e-5 ? 0.0 : v);
  }
  return text;
}

// Two matrices side by side, row by row.
std::string beside(const char* left_name, const Tensor& left, const char* right_name,
                   const Tensor& right) {
  std::string text = "```\n";
  auto width = static_cast<std::size_t>(8 * left.size(-1)) + 4;
  text += fmt::format("{:<{}}{}\n", left_name, width, right_name);
  for (Index i = 0; i < left.size(0); ++i)
    text += fmt::format("{:<{}}{}\n", row(select(left, 0, i)), width, row(select(right, 0, i)));
  return text + "```\n\n";
}

std::string scale() {
  Tensor q = random({3, 4}, 1), k = random({3, 4}, 2);
  Tensor scores = matmul(q, transpose(k));
  Tensor right = softmax(mul(scores, 0.5)), slip = mul(softmax(scores), 0.5);
  auto with_sum = [](const Tensor& p) {
    return glim::concatenate(std::vector<Tensor>{p, glim::sum(p, {1}, true)}, 1);
  };
  return "## 1. The scale comes before the softmax\n\n"
         "softmax(QKᵀ/√d_k), not softmax(QKᵀ)/√d_k. Here d_k = 4; the last column is the row's "
         "sum. "
         "With the slip the \"probabilities\" sum to 1/√d_k, and the scores stay as large as they "
         "were.\n\n" +
         beside("softmax(QKᵀ/2)", with_sum(right), "slip: softmax(QKᵀ)/2", with_sum(slip));
}

std::string padded_query() {
  Tensor ids = reshape(tensor({5, 6, 0, 0}, DType::Int64), {1, 4});
  Tensor scores = random({4, 4}, 3);
  Tensor right = reshape(decoder_keep(ids, 0), {4, 4});
  Tensor slip = logical_and(reshape(not_equal(ids, 0.0), {4, 1}), reshape(causal_keep(4), {4, 4}));
  auto naive = [&](const Tensor& keep) {  // softmax of scores with -∞, as the tutorials write it
    return softmax(where(keep, scores, full({4, 4}, -INFINITY, DType::Float64)));
  };
  bool nan = std::isnan(select(select(naive(slip), 0, 3), 0, 0).item());
  Tensor glim = masked_softmax(Var(scores), slip).value();
  return "## 2. A padded query is no reason for a softmax over nothing\n\n"
         "The sentence has two tokens and two of padding. Masking *keys* leaves every query "
         "something to attend to; the slip masks the *queries* of padding, and a softmax over "
         "nothing follows" +
         std::string(nan ? " (NaN with −∞ before a plain softmax)" : "") +
         ". Glim gives such a row zeros, and zero gradients.\n\n" +
         beside("keys masked", masked_softmax(Var(scores), right).value(),
                "slip: queries masked (Glim)", glim);
}

std::string positions() {
  Tensor table = sinusoidal_positions(0, 4, 4, 10000, DType::Float64);
  // Sentence 1 of a batch, three positions: the slip adds row 1 of the table at each.
  Tensor slip = broadcast_to(narrow(table, 0, 1, 1), {3, 4});
  return "## 3. Positions run along the sequence, not along the batch\n\n"
         "What is added to the three tokens of sentence 1 of a batch (D = 4). With the slip every "
         "token of a sentence gets the same row: order is lost.\n\n" +
         beside("PE(0), PE(1), PE(2)", narrow(table, 0, 0, 3), "slip: PE(1) thrice", slip);
}

std::string memory() {
  Overwritten m;
  auto change = [](const Tensor& a, const Tensor& b) { return max(abs(sub(a, b))).item(); };
  return fmt::format(
      "## 4. The decoder attends to the encoder's output\n\n"
      "The largest change of a logit when the source sentence is replaced by another, in a small "
      "Transformer: {:.4f}. With the slip, which overwrites the encoder's output before the "
      "decoder "
      "reads it: {:.4f}. Such a model is a language model that never sees the source.\n\n",
      change(m.right(m.one), m.right(m.other)), change(m.slip(m.one), m.slip(m.other)));
}

std::string base() {
  Tensor x = reshape(tensor({0.4, 0.5, 0.6, 0.7}, DType::Float64), {1, 4});
  auto last = [&](double b) { return add(x, sinusoidal_positions(3, 1, 4, b, DType::Float64)); };
  return "## 5. The worked sum of embedding and encoding keeps one base\n\n"
         "Row 3 of the example, embedding 0.4 0.5 0.6 0.7 plus PE(3), D = 4.\n\n" +
         beside("base 10000", last(10000), "slip: base 100 in this row", last(100));
}

std::string accumulation() {
  auto norm = [](const std::vector<std::pair<Index, Index>>& parts, bool divide_by_all) {
    Tensor g = accumulated(parts, divide_by_all);
    return std::sqrt(dot(g, g));
  };
  return fmt::format(
      "## 6. k micro-batches accumulate to the gradient of the joined batch\n\n"
      "Norm of the gradient of one batch of 4 tokens: {:.4f}; of the same in three parts, each "
      "divided by the tokens of all: {:.4f}. The slip adds each part's own mean: {:.4f}, as if the "
      "learning rate grew with the number of parts. (It also stepped the optimizer after the first "
      "part; tests/models/seed_errors.cpp and the trainer's tests hold the right order.)\n\n",
      norm({{0, 6}}, true), norm({{0, 1}, {1, 2}, {3, 3}}, true),
      norm({{0, 1}, {1, 2}, {3, 3}}, false));
}

std::string masked() {
  Tensor scores = some_scores(), keep = some_keep();
  return "## 7. A masked score is gone before the softmax, not multiplied by 0\n\n"
         "e⁰ = 1: with the slip, what must not be seen keeps a share. Masked are the last two keys "
         "of the first row, the second of the second, the last of the third.\n\n" +
         beside("masked", masked_softmax(Var(scores), keep).value(), "slip: scores times 0/1",
                softmax(mul(scores, keep.to(DType::Float64))));
}

std::string number_as_mask() {
  const std::vector<double> scores{0, 1, 2, 3};
  auto shares = [&](double number, Precision p) {
    return row(added_mask(scores, {false, false, false, false}, number, p));
  };
  std::string text =
      "## 8. A number added to scores is not a mask\n\n"
      "The tutorials add −1000 or −1e9 to the score of a masked key. Its share is above 1e-7 as "
      "soon as its own score is higher than the others' by the gap in the first column. Where all "
      "keys of a query are masked (here with scores 0, 1, 2, 3), it attends to padding. Half "
      "precision ends at 65504: −1e9 becomes −∞, and (−∞) − (−∞) is NaN. Glim takes keep-masks and "
      "no number: the share is exactly 0 in every precision, and a query without keys gets "
      "zeros.\n\n"
      "| added | leak above 1e-7 from a gap of | all keys masked, float32 | in half | all keys "
      "masked, half |\n|---|---|---|---|---|\n";
  for (const auto& [name, number] : {std::pair("−1000", -1000.0), std::pair("−1e9", -1e9)})
    text += fmt::format("| {} | {:.1f} |{} | {} |{} |\n", name, gap_of_leak(number, 1e-7),
                        shares(number, Precision::Float32),
                        std::isinf(rounded_to(number, Precision::Half)) ? "−∞" : name,
                        shares(number, Precision::Half));
  const Tensor nothing = zeros({1, 4}, DType::Bool);
  const Tensor glim = masked_softmax(Var(from_vector(scores, {1, 4})), nothing).value();
  return text + fmt::format("| keep-mask (Glim) | never |{} | – |{} |\n\n", row(glim), row(glim));
}

// The mean of a row of the study's table, as its page has it.
std::string of_study(const std::string& quantity, int which = 1) {
  std::ifstream file(GLIM_STUDIES_PAGE);
  for (std::string line; std::getline(file, line);) {
    if (line.find(". " + quantity + " |") == line.npos || --which > 0) continue;
    std::vector<std::string> cells;
    std::stringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(cell);
    return cells.at(5);
  }
  throw ValueError("studies.md", "no row " + quantity);
}

std::string smoothing() {
  return "## 9. Label smoothing and accuracy\n\n"
         "The tutorials say that label smoothing raises accuracy. Vaswani et al. 2017 (section "
         "5.4) say that it hurts perplexity and improves accuracy and BLEU. [The "
         "study](../../tools/study/studies.md#label-smoothing) of it measured, means of three "
         "seeds ± deviation:\n\n"
         "| held out | ε = 0 | ε = 0.1 |\n|---|---|---|\n"
         "| classifier: accuracy |" +
         of_study("classifier, ε = 0: accuracy, held out") + "|" +
         of_study("classifier, ε = 0.1: accuracy, held out") +
         "|\n| Transformer: NLL (nats per token) |" +
         of_study("Transformer, ε = 0: validation NLL (nats per token)") + "|" +
         of_study("Transformer, ε = 0.1: the same", 2) +
         "|\n\nPerplexity is hurt. Accuracy is not raised: on these small networks it is lower.\n";
}

std::string page() {
  return "# Seven slips and two claims, and what they do\n\n"
         "The tutorials that this project started from contain seven errors. Here each is "
         "beside "
         "the formula, and two of their claims are beside what is measured. Every number is "
         "computed again by `seed_errors_page.cpp` when the tests "
         "run; "
         "`seed_errors.cpp` holds the facts.\n\n" +
         scale() + padded_query() + positions() + memory() + base() + accumulation() + masked() +
         number_as_mask() + smoothing();
}

}  // namespace

TEST_CASE("the page of slips shows what is computed", "[seeds]") {
  const std::string path = GLIM_SEED_ERRORS_PAGE;
  if (std::getenv("GLIM_WRITE_PAGES")) std::ofstream(path) << page();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str() == page());
}

}  // namespace test_seed_errors_page
