// Messages of the program: of numbers out of their range, of bytes that no terminal should see, of memory
// that there is not.
#include <limits>

#include "models/tokenizers/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/cli/command.hpp"
#include "tools/common/output.hpp"
#include "tools/train/estimate.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/option_list.hpp"
#include "tools/train/presets.hpp"

namespace test_messages {

using namespace glim;
using glim::test::message_of;

TEST_CASE("a range says what it takes and refuses the rest", "[range]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(kPositive.text() == "1 or more");
  CHECK(kShare.text() == "0 to below 1");
  CHECK(kAboveZero.text() == "above 0");
  CHECK(Range{0, 180}.text() == "0 to 180");
  CHECK(Range{.least = 0, .most = 1, .above = true}.text() == "above 0, at most 1");
  CHECK(Range{}.text() == "");
  CHECK(kShare.refuse(0) == "");
  CHECK(kShare.refuse(1) == "must be 0 to below 1");
  CHECK(kAboveZero.refuse(0) == "must be above 0");
  CHECK(kCount.refuse(0x1p53) == "");
  CHECK(kCount.refuse(0x1p54) == "must be 9007199254740992 at most");
  for (double x : {inf, -inf, std::numeric_limits<double>::quiet_NaN()})
    for (const Range& r : {Range{}, kShare, kNotNegative}) CHECK(r.refuse(x) == "must be finite");
}

TEST_CASE("every number option says its range, and its default is within", "[range]") {
  TrainOptions o;
  each_option(o, [&](const TrainOption& t, auto& field) {
    using Value = std::remove_cvref_t<decltype(field)>;
    INFO(t.name);
    if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, Index>) {
      CHECK(t.range.text() != "");
      CHECK(t.range.refuse(static_cast<double>(field)) == "");
    }
  });
  o.attention_dropout = -std::numeric_limits<double>::infinity();
  CHECK(message_of<ValueError>([&] { check(o); }) ==
        "--attention-dropout: must be finite, not -inf");
  o = {};
  o.source = "\xff";
  CHECK(contains(message_of<ValueError>([&] { check(o); }), "is not UTF-8"));
}

TEST_CASE("rows of the table of options name kinds that there are", "[options]") {
  for (const TrainOption& t : train_options()) {
    INFO(t.name);
    for (const std::string& list : {t.kinds, t.usual}) {
      std::string known;  // the kinds of the list, in any order, are as long as the list
      for (const Kind& k : kinds())
        if (lists(list, k.name)) known += (known.empty() ? "" : ", ") + k.name;
      CHECK(known.size() == list.size());
    }
    for (const Kind& k : kinds()) CHECK((!lists(t.usual, k.name) || t.is_of(k.name)));
  }
  CHECK(train_option("d-model").key == "d_model");
  CHECK_THROWS_AS(train_option("width"), std::logic_error);
}

TEST_CASE("presets name options and values that there are", "[range]") {
  for (const Kind& kind : kinds())
    for (const char* task :
         {"phrasebook", "names", "copy", "reverse", "noisy", "random", "files"}) {
      INFO(kind.name << " " << task);
      TrainOptions o;
      o.kind = kind.name;
      o.task = task;
      CHECK_NOTHROW(apply_preset(o, [](const char*) { return false; }));
      if (kind.name == "gpt") CHECK(o.d_ff == 4 * o.d_model);
    }
}

TEST_CASE("a message is one line that a terminal can show", "[messages]") {
  CHECK(printable("läßt 中文 \xF0\x9F\x98\x80") == "läßt 中文 \xF0\x9F\x98\x80");
  CHECK(printable("a\x1b[31mb\x7F\x01") == "a\\x1b[31mb\\x7f\\x01");
  CHECK(printable("a\nb\tc\r") == "a b c\\x0d");
  CHECK(printable("\xFF\xC3(\xE4\xB8") == "\\xff\\xc3(\\xe4\\xb8");
  CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");  // another way to begin an escape sequence
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  // U+202E and U+2066 turn the direction of writing.
  CHECK(printable("a\xE2\x80\xAE"
                  "b\xE2\x81\xA6"
                  "c") == "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c");
  CHECK(printable("\xE2\x80\xA6\xE2\x81\xBF") == "\xE2\x80\xA6\xE2\x81\xBF");  // … and ⁿ do not
  CHECK(for_terminal("a\x1b]0;x\x07\n\tb\r") == "a\\x1b]0;x\\x07\n\tb\\x0d");
  std::string cut = printable("begin " + std::string(10000, 'x') + " end");
  CHECK(cut.size() < 1100);
  CHECK(cut.starts_with("begin xxx"));
  CHECK(cut.ends_with("xxx end"));
  CHECK(contains(cut, " … (9010 bytes) … "));
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "中";
  CHECK_FALSE(first_invalid_utf8(printable(wide)));  // no character is cut in two
}

TEST_CASE("what a training needs at least is known before it is made", "[memory]") {
  TrainOptions o;
  o.kind = "gpt";
  o.layers = 10;
  o.d_model = o.block = 1000;
  o.d_ff = 4000;
  // 10 (4 D² + 2 D D_ff) + T D parameters, each with its gradient and two moments, in float32.
  double parameters = 10 * (4e6 + 8e6) + 1e6;
  CHECK(least_memory(o).model == Approx(16 * parameters).epsilon(0.01));
  o = {};
  o.task = "copy";
  o.examples = 10'000'000'000;
  CHECK(contains(
      message_of<ValueError>([&] { require_memory(o, 24e9); }),
      "--examples: 10000000000 examples need at least 2.56 TB of memory; this machine has 24 GB"));
  CHECK(message_of<ValueError>([&] { require_memory(o, 0); }) == "nothing thrown");
  for (const char* positions : {"sinusoidal", "learned"}) {
    o = {};
    o.max_length = 9'000'000'000;
    o.positions = positions;
    CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }),
                   "--max-length 9000000000"));
  }
  o = {};
  o.layers = 100'000'000;
  CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }), "100000000 layers"));
  o = {};
  o.kind = "conv";
  o.kernel = 1'000'000;
  CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }), "--kernel 1000000"));
  for (const char* kind : {"transformer", "rnn", "conv", "non-autoregressive", "gpt", "bert"}) {
    o = {};
    o.kind = kind;
    CHECK(message_of<ValueError>([&] { require_memory(o, 4e9); }) == "nothing thrown");
  }
}

}  // namespace test_messages
