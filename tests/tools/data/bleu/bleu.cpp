#include "tools/data/bleu/bleu.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/common/casing.hpp"

namespace test_bleu {

using namespace glim;
using Lines = std::vector<std::string>;

namespace {

const nlohmann::json& reference() {
  static const nlohmann::json data = [] {
    std::ifstream file(GLIM_BLEU_TESTS "/bleu_reference.json");
    return nlohmann::json::parse(file);
  }();
  return data;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9; }

// sacreBLEU's signature with Glim's version in its place.
std::string ours(const std::string& signature) {
  return signature.substr(0, signature.find("version:")) + "version:glim-0.1";
}

}  // namespace

TEST_CASE("BLEU is sacreBLEU's", "[bleu]") {
  const auto& data = reference();
  REQUIRE(data["cases"].size() >= 30);
  for (const auto& c : data["cases"]) {
    const auto hypotheses = c["hypotheses"].get<Lines>();
    const auto references = c["references"][0].get<Lines>();
    for (const auto& expected : c["scores"]) {
      const BleuScore b =
          corpus_bleu(hypotheses, references,
                      {parse_bleu_tokenizer(expected["tokenizer"].get<std::string>()),
                       expected["lowercase"].get<bool>()});
      INFO(c["name"] << ", " << expected["tokenizer"] << ", lowercase " << expected["lowercase"]);
      CHECK(near(b.score, expected["score"].get<double>()));
      CHECK(near(b.brevity_penalty, expected["bp"].get<double>()));
      for (std::size_t n = 0; n < 4; ++n) {
        CHECK(near(b.precisions[n], expected["precisions"][n].get<double>()));
        CHECK(b.matches[n] == expected["matches"][n].get<std::int64_t>());
        CHECK(b.totals[n] == expected["totals"][n].get<std::int64_t>());
      }
      CHECK(b.hypothesis_length == expected["hyp_len"].get<std::int64_t>());
      CHECK(b.reference_length == expected["ref_len"].get<std::int64_t>());
      CHECK(b.line() ==
            "BLEU|" + b.signature + expected["line"].get<std::string>().substr(4));  // "BLEU = …"
      CHECK(b.signature == ours(expected["signature"].get<std::string>()));
    }
  }
}

TEST_CASE("13a splits as sacreBLEU's 13a does", "[bleu]") {
  CHECK(tokenize_13a("Hello, world! It's 1,000.5 (ok).") ==
        "Hello , world ! It's 1,000.5 ( ok ) .");
  CHECK(tokenize_13a("").empty());
  REQUIRE(reference()["tokenize_13a"].size() == 400);
  for (const auto& c : reference()["tokenize_13a"]) {
    INFO(c[0]);
    CHECK(tokenize_13a(c[0].get<std::string>()) == c[1].get<std::string>());
  }
}

TEST_CASE("zh splits as sacreBLEU's zh does", "[bleu][slow]") {
  CHECK(tokenize_zh("我有3.5只猫，ok.") == "我 有 3.5 只 猫 ， ok .");
  REQUIRE(reference()["tokenize_zh"].size() == 400);
  for (const auto& c : reference()["tokenize_zh"]) {
    INFO(c[0]);
    CHECK(tokenize_zh(c[0].get<std::string>()) == c[1].get<std::string>());
  }
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a over what each code point becomes
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if ((c >= 0xD800 && c <= 0xDFFF) || is_space(c)) continue;
    std::string text = "a";
    append_utf8(text, c);
    for (char byte : tokenize_zh(text + "b"))
      h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  CHECK(h == std::stoull(reference()["zh_of_all"].get<std::string>(), nullptr, 16));
}

TEST_CASE("BLEU of Chinese is that of its characters", "[bleu]") {
  const Lines chinese = {"床下面有一些很贵的鸟", "我弟弟需要你的五件大衣"};
  const BleuOptions automatic{BleuTokenizer::automatic, false};
  const BleuScore b = corpus_bleu(chinese, chinese, automatic);
  CHECK(b.score == 100);
  CHECK(b.signature.find("tok:zh") != std::string::npos);
  CHECK(corpus_bleu(chinese, chinese).score == 0);  // one word a sentence: no 4-gram
  const Lines english = {"the cat sat on the 垫子", "a b c d"};
  CHECK(corpus_bleu(english, english, automatic).signature.find("tok:13a") != std::string::npos);
}

TEST_CASE("lower case is Python's", "[bleu][casing]") {
  const auto& data = reference();
  REQUIRE(data["lower"].size() == 300);
  for (const auto& c : data["lower"]) {
    INFO(c[0]);
    CHECK(lower_case(c[0].get<std::string>()) == c[1].get<std::string>());
  }
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a over the lower case of each code point
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    for (char byte : lower_case(text)) h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  CHECK(h == std::stoull(data["lower_of_all"].get<std::string>(), nullptr, 16));
}

TEST_CASE("BLEU is 100 at most", "[bleu]") {
  CHECK(corpus_bleu(Lines{"the cat is on the mat"}, Lines{"the cat is on the mat"}).score == 100);
}

TEST_CASE("a BLEU by hand", "[bleu]") {
  // Matches 5/6, 3/5, 1/4, 0/3 (smoothed to 1/6): a common length, so no penalty.
  const BleuScore b = corpus_bleu(Lines{"the cat sat on the mat"}, Lines{"the cat is on the mat"},
                                  {BleuTokenizer::none, false});
  CHECK(b.score == Approx(100 * std::pow(5. / 6 * 3 / 5 * 1 / 4 * 1 / 6, 0.25)));
  CHECK(b.line() ==
        "BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:glim-0.1 = 37.99 "
        "83.3/60.0/25.0/16.7 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)");
}

TEST_CASE("what BLEU cannot be computed from", "[bleu]") {
  using test::message_of;
  CHECK_THROWS_AS(corpus_bleu(Lines{}, Lines{}), ValueError);
  CHECK(message_of<ValueError>([] {
          corpus_bleu(Lines{"a", "b"}, Lines{"a"});
        }) == "bleu: 2 hypotheses, 1 references");
  CHECK(message_of<ValueError>([] {
          corpus_bleu(Lines{"a", "b\xFF"}, Lines{"a", "b"});
        }) == "bleu: hypothesis 2: invalid UTF-8 at byte 2 (0xff)");
  CHECK_THROWS_AS(corpus_bleu(Lines{"a"}, Lines{"\xC3"}), ValueError);
  CHECK_THROWS_AS(parse_bleu_tokenizer("intl"), ValueError);
}

}  // namespace test_bleu
