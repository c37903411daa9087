// The measurements of glim compare, on models that need no training.
#include "tools/inspect/compare/kinds_compared.hpp"

#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tools/gradient_cases/sizes.hpp"
#include "tools/inspect/compare/dependency_path.hpp"

namespace test_compare {

using namespace glim;

namespace {

template <class Config>
Config small() {
  Config c;
  c.src_vocab = c.tgt_vocab = 9;
  c.d_model = 8;
  c.dropout = 0.1;
  c.max_len = 64;
  return c;
}

template <class Config>
Config attention_model(Index layers) {
  auto c = sized<Config>(9, 8, 2, 12, layers);
  c.dropout = 0.1;
  c.max_len = 64;
  return c;
}

}  // namespace

TEST_CASE("the longest chain of ops is counted on the tape", "[compare]") {
  Var x = Var::leaf(ones({2})), y = Var::leaf(ones({2}));
  Tape tape;
  Var short_way = mul(x, 2), long_way = x;
  for (int i = 0; i < 5; ++i) long_way = add(long_way, 1);
  Var z = add(short_way, long_way);
  CHECK(longest_chain(tape, x, z) == 6);
  CHECK(longest_chain(tape, x, short_way) == 1);
  CHECK(longest_chain(tape, x, x) == 0);
  Var other = mul(y, y);
  CHECK(longest_chain(tape, x, other) == -1);
  CHECK(longest_chain(tape, y, other) == 1);
}

TEST_CASE("attention has one path for all lengths, recurrence a longer one for each token",
          "[compare]") {
  for (bool copy : {false, true}) {
    TransformerConfig c = attention_model<TransformerConfig>(2);
    c.copy = copy;
    Transformer model(c);
    CHECK(dependency_path(model, 10) == dependency_path(model, 40));
    CHECK(model.training());
    Transformer deeper([&] {
      TransformerConfig d = c;
      d.encoder_layers = 4;
      return d;
    }());
    CHECK(dependency_path(deeper, 10) > dependency_path(model, 10));
  }
  NonAutoregressive parallel(attention_model<NonAutoregressiveConfig>(2));
  CHECK(dependency_path(parallel, 10) == dependency_path(parallel, 40));
  Seq2SeqRnnConfig c = small<Seq2SeqRnnConfig>();
  c.d_embed = 4;
  Seq2SeqRnn recurrent(c);
  Index at_10 = dependency_path(recurrent, 10), at_20 = dependency_path(recurrent, 20),
        at_40 = dependency_path(recurrent, 40);
  CHECK(at_40 - at_20 == 2 * (at_20 - at_10));  // as many ops for every further token
  CHECK(at_20 - at_10 >= 10);
  CHECK_THROWS_AS(dependency_path(recurrent, 65), ValueError);
  CHECK_THROWS_AS(dependency_path(recurrent, 1), ValueError);
}

TEST_CASE("the table has a row a model and says where which is worse", "[compare]") {
  std::vector<Comparison> rows(2);
  rows[0].name = rows[0].kind = "transformer";
  rows[0].parameters = 1234;
  rows[0].train_seconds = 61;
  rows[0].processor_seconds = 120;
  rows[0].bleu = 93.25;
  rows[1].name = "parallel";
  rows[1].kind = "non-autoregressive";
  rows[1].one_pass = true;
  std::string table = comparison_table(rows, "phrasebook", {});
  CHECK(table.find("| transformer | 1234 | 61 s | 120 s |") != std::string::npos);
  CHECK(table.find("| parallel | 0 | – | – |") != std::string::npos);
  CHECK(table.find("worse in BLEU") != std::string::npos);
  CHECK(table.find("- rnn") == std::string::npos);
  CHECK(table.find("greedy") != std::string::npos);
}

}  // namespace test_compare
