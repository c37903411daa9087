// Messages of the program: of numbers out of their range, of bytes that no terminal should see, of memory
// that there is not.
#include <limits>
#include <set>

#include "models/tokenizers/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/cli/command.hpp"
#include "tools/common/output.hpp"
#include "tools/kinds/estimate.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/presets.hpp"

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

TEST_CASE("every option says its range, and its default is within", "[range]") {
  for (const Kind* kind : kinds()) {
    TrainOptions o;
    o.kind = kind->name;
    for (const Row& row : o.rows()) {
      INFO(kind->name << " " << row.key());
      CHECK(refused(row) == "");
      CHECK_FALSE(row.help.empty());
      if (std::holds_alternative<double*>(row.field) || std::holds_alternative<Index*>(row.field))
        CHECK(row.range.text() != "");
    }
  }
  TrainOptions o;
  o.set("attention_dropout", -std::numeric_limits<double>::infinity());
  CHECK(message_of<ValueError>([&] { check(o); }) ==
        "--attention-dropout: must be finite, not -inf");
  o = {};
  o.source = "\xff";
  CHECK(contains(message_of<ValueError>([&] { check(o); }), "is not UTF-8"));
}

TEST_CASE("a kind lists options that there are, and some kind has each", "[options]") {
  TrainOptions all;
  std::set<std::string> known;
  for (const Row& row : all.table()) {
    known.insert(row.key());
    CHECK_FALSE(kinds_with(row.key()).empty());
  }
  for (const Kind* kind : kinds()) {
    INFO(kind->name);
    for (const std::string& key : kind->options) CHECK(known.contains(key));
    for (const std::string& key : kind->usual) CHECK((kind->has(key) || key == "patch"));
    // The names of sizes are theirs alone.
    for (const Row& size : all.sizes.at(kind->name).rows()) CHECK_FALSE(known.contains(size.key()));
  }
  CHECK(kind_named("gpt").has("block"));
  CHECK_FALSE(kind_named("gpt").has("cell"));
  CHECK(kind_named("gpt").has("seed"));
  CHECK(all.set("d_model", 12).number("d_model") == 12);
  CHECK(all.value("cell").is_null());
  CHECK_THROWS_AS(all.set("width", 1), std::logic_error);
}

TEST_CASE("a size that a kind does not have names the kind and the sizes it has", "[options]") {
  CHECK(not_an_option_of(kind_named("cnn"), "heads") ==
        "is no option of --kind cnn; it belongs to --kind transformer, non-autoregressive, gpt, "
        "bert, vit, classifier, tagger; a cnn has --layers --d-model --kernel --dropout");
}

TEST_CASE("presets name options and values that there are", "[range]") {
  for (const Kind* kind : kinds())
    for (const std::string& task : kind->tasks) {
      INFO(kind->name << " " << task);
      TrainOptions o;
      o.kind = kind->name;
      o.task = task;
      CHECK_NOTHROW(apply_preset(o, [](const std::string& name) { return name == "task"; }));
      CHECK_NOTHROW(check_rows(o));
      if (kind->name == "gpt") CHECK(o.number("d_ff") == 4 * o.number("d_model"));
    }
  TrainOptions gated;
  gated.kind = "gpt";
  gated.set("feed_forward", "gated");
  apply_preset(gated, [](const std::string& name) { return name == "feed-forward"; });
  CHECK(gated.value("activation") == "silu");
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
  o.set("layers", 10).set("d_model", 1000).set("block", 1000).set("d_ff", 4000);
  // 10 (4 D² + 2 D D_ff) + T D parameters, each with its gradient and two moments, in float32.
  double parameters = 10 * (4e6 + 8e6) + 1e6;
  CHECK(least_memory(o).model == Approx(16 * parameters).epsilon(0.01));
  o.set("heads", 10).set("kv_heads", 2);  // 2 of 10 heads: K and V are a fifth as wide
  CHECK(least_memory(o).model == Approx(16 * (parameters - 10 * 1.6e6)).epsilon(0.01));
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
    o.set("positions", positions);
    CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }),
                   "--max-length 9000000000"));
  }
  o = {};
  o.set("layers", 100'000'000);
  CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }), "100000000 layers"));
  o = {};
  o.kind = "conv";
  o.set("kernel", 1'000'000);
  CHECK(contains(message_of<ValueError>([&] { require_memory(o, 24e9); }), "--kernel 1000000"));
  for (const char* kind : {"transformer", "rnn", "conv", "non-autoregressive", "gpt", "bert"}) {
    o = {};
    o.kind = kind;
    CHECK(message_of<ValueError>([&] { require_memory(o, 4e9); }) == "nothing thrown");
  }
}

}  // namespace test_messages
