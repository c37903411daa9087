#include "tools/data/corpus/records.hpp"

#include <algorithm>

#include "models/tokenizers/sentencepiece.hpp"
#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/split.hpp"
#include "tools/data/tokenizers/training.hpp"
#include "tools/data/tokenizers/vocabulary_file.hpp"

namespace test_table {

using namespace glim;
using test::message_of;
using test::TemporaryFile;
using Rows = std::vector<std::vector<std::string>>;
using Numbers = std::vector<std::int64_t>;

namespace {

const std::vector<std::string> kSides = {"source", "target"};

Table table(const TemporaryFile& file, const std::string& columns = {}) {
  return read_table(file.path(), columns, kSides);
}
// The fault of a file, without its name.
std::string problem(std::string_view content, const std::string& columns = {}) {
  const TemporaryFile file(content);
  std::string message = message_of<Error>([&] { table(file, columns); });
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

}  // namespace

TEST_CASE("a table's format goes by its name, else by its first line") {
  CHECK(table_format("a.csv", "{\t") == TableFormat::Csv);
  CHECK(table_format("a.tsv", "a,b") == TableFormat::Tsv);
  CHECK(table_format("a.jsonl", "a,b") == TableFormat::JsonLines);
  CHECK(table_format("-", "{\"a\": 1}") == TableFormat::JsonLines);
  CHECK(table_format("-", "a, b\tc") == TableFormat::Tsv);
  CHECK(table_format("-", "a,b") == TableFormat::Csv);
  CHECK(table_format("-", "a;b") == TableFormat::Csv);
}

TEST_CASE("CSV: quotation marks hold commas, line ends and marks; empty fields stay") {
  Table t =
      table(TemporaryFile("\xEF\xBB\xBFid,Target,source\r\n"
                          "1,\"drei, vier\",\"three, \"\"four\"\"\"\r\n"
                          "\r\n"
                          "2,\"zwei\nZeilen\",\r\n"
                          "3,\"\",x\n"));
  CHECK(t.rows == Rows{{"three, \"four\"", "drei, vier"}, {"", "zwei Zeilen"}, {"x", ""}});
  CHECK(t.line == Numbers{2, 4, 6});
  CHECK(table(TemporaryFile("a,b,c\n"), "3,1").rows == Rows{{"c", "a"}});
  CHECK(table(TemporaryFile("en,de\na,b"), "de,en").rows == Rows{{"b", "a"}});
}

TEST_CASE("CSV of Excel: semicolons, or tabs, where the first line has no comma") {
  CHECK(table(TemporaryFile("source;target\r\na,b;\"c;d\"\r\n")).rows == Rows{{"a,b", "c;d"}});
  CHECK(table(TemporaryFile("\"a, b\";c\n"), "1,2").rows == Rows{{"a, b", "c"}});
  CHECK(table(TemporaryFile("source,target;x\na,b\n"), "source,target;x").rows == Rows{{"a", "b"}});
  const TemporaryFile tabs("source\ttarget\n\"a\tb\"\tc\n");
  CHECK(table_of("a.csv", read_lines(tabs.path()), TableFormat::Csv, {}, kSides).rows ==
        Rows{{"a\tb", "c"}});
  CHECK(problem("source;target\na;b;c\n") ==
        ":2: 3 columns, the first line has 2 (a field with a comma or semicolon of its own belongs "
        "in quotation marks)");
}

TEST_CASE("CSV that is damaged is refused with its line") {
  CHECK(problem("source,target\na,b\n\"c,d\ne,f\n") == ":3: a quotation mark is never closed");
  CHECK(problem("source,target\n\"a\nb\"c,d\n")
            .starts_with(":3: text behind the quotation mark that ends a field (begun in line 2)"));
  CHECK(problem("source,target\na \"b\" c,d\n").starts_with(":2: a quotation mark within a field"));
  CHECK(problem("source,target\na,b,c\n")
            .starts_with(":2: 3 columns, the first line has 2 (a field"));
  CHECK(problem("source,target\n").ends_with("has no record"));
  CHECK(problem("en,de\na,b\n") ==
        ":1: there is no column 'source' among en, de; --columns NAME,NAME takes those of other "
        "names, --columns 1,2 the first of a file without names");
  CHECK(problem("source,target,Source\na,b,c\n") ==
        ":1: two columns are named 'source'; --columns takes them by number");
  CHECK(problem("source,target\na,b\n" + std::string(2 << 20, 'x') + ",y\n") ==
        ":3: more than 1048576 bytes, the most that a line may have");
  CHECK(problem(std::string(20'000, ','), "1,2") == ":1: more than 10000 columns");
  CHECK(problem("a\tb\n" + std::string(20'000, '\t') + "x") == ":2: more than 10000 columns");
  CHECK(problem("a,b\n", "1,3") == ":1: there is no column 3: the line has 2");
  CHECK(problem("a,b\n", "1") ==
        "--columns: '1' must name 2 different columns, as in source,target");
  CHECK(problem("a,b\n", "a,a").starts_with("--columns: 'a,a' must name 2 different"));
}

TEST_CASE("TSV: two columns need no names, and quotation marks are text") {
  CHECK(table(TemporaryFile("a \"b\tc\nd\te\n")).rows == Rows{{"a \"b", "c"}, {"d", "e"}});
  CHECK(table(TemporaryFile("target\tsource\na\tb\n")).rows == Rows{{"b", "a"}});
  CHECK(problem("a\tb\tc\n").starts_with(":1: there is no column 'source' among a, b, c"));
  CHECK(problem("source\tx\na\tb\n").starts_with(":1: there is no column 'target'"));
  CHECK(problem("a\tb\n\nc\n") == ":3: no tab: the line must be source<TAB>target");
}

TEST_CASE("JSON lines: members by name, numbers as written") {
  Table t =
      table(TemporaryFile("{\"target\": 7, \"source\": \"a\\nb\", \"x\": [1]}\n\n"
                          "{\"source\": null, \"Target\": true}\n"));
  CHECK(t.rows == Rows{{"a b", "7"}, {"", "true"}});
  CHECK(t.line == Numbers{1, 3});
  CHECK(problem("{\"source\": \"a\"}\n").starts_with(":1: the object has no 'target'"));
  CHECK(problem("{\"source\": [], \"target\": \"\"}") == ":1: 'source' must be text");
  CHECK(problem("{\"source\": \"a\", \"target\": \"b\", \"source\": \"c\"}") ==
        ":1: the object has two members 'source'");
  CHECK(problem("{\"source\": \"a\", \"target\": \"b\"}\n{\"sou\n")
            .starts_with(":2: not JSON, at byte"));
  CHECK(problem("{}\n[1]\n", "a,b").starts_with(":1: the object has no 'a'"));
  CHECK(problem("{" + std::string(2 << 20, '[')) ==
        ":1: more than 1048576 bytes, the most that a line may have");
}

TEST_CASE("pairs with a blank side are left out and counted") {
  ParallelCorpus c = read_pairs(TemporaryFile("source,target\na,b\n,c\nd, \ne,f\n").path(), {});
  CHECK(c.pairs == std::vector<SentencePair>{{"a", "b"}, {"e", "f"}});
  CHECK(c.line == Numbers{2, 5});
  CHECK(c.blank == 2);
  CHECK(c.first_blank == 3);
}

TEST_CASE("a share to validate on is drawn by the seed, and no sentence is on both sides") {
  std::vector<std::string> sentences;
  for (int i = 0; i < 100; ++i) sentences.push_back(std::to_string(i % 40));
  std::vector<bool> kept = validation_rows(sentences, 0.1, 3);
  CHECK(kept == validation_rows(sentences, 0.1, 3));
  CHECK(kept != validation_rows(sentences, 0.1, 4));
  auto count = std::ranges::count(kept, true);
  CHECK(count >= 10);
  CHECK(count < 13);  // the last sentence occurs three times at most
  for (std::size_t i = 0; i < 60; ++i) CHECK(kept[i] == kept[i + 40]);
  CHECK(std::ranges::count(validation_rows({"a", "b"}, 0.99, 1), true) == 1);
  CHECK(std::ranges::count(validation_rows({"a", "b"}, 0.01, 1), true) == 1);
  // The usual share: a tenth, of 20 sentences at least, and never more because one occurs often.
  std::vector<std::string> often(60, "often");
  for (int i = 0; i < 40; ++i) often.push_back(std::to_string(i));
  for (Index seed = 1; seed < 20; ++seed) {
    const std::vector<bool> usual = validation_rows(often, -1, seed);
    CHECK(std::ranges::count(usual, true) == 10);
    CHECK_FALSE(usual[0]);
  }
  CHECK(std::ranges::count(validation_rows(std::vector<std::string>(19, "x"), -1, 1), true) == 0);
  CHECK(std::ranges::count(validation_rows(std::vector<std::string>(50, "x"), -1, 1), true) == 0);
  CHECK(message_of<ValueError>([] {
          validation_rows({"a", "a"}, 0.5, 1);
        }).starts_with("--valid-share"));
}

TEST_CASE("an own vocabulary: a token a line, or the line that is none") {
  auto of = [](std::string_view content, const char* kind) {
    const TemporaryFile file(content);
    TokenizerOptions o;
    o.kind = kind;
    o.vocabulary_file = file.path();
    try {
      return tokenizer_of_file(o)->serialize();
    } catch (const FileError& e) {
      std::string message = e.one_line();
      return message.substr(message.find(file.path()) + file.path().size());
    }
  };
  CHECK(of("<unk>\nder\ndie\n</s>\n", "word").find("[\"der\",\"die\"]") != std::string::npos);
  CHECK(of("a\n \n", "char").find("[\"a\",\" \"]") != std::string::npos);
  CHECK(of("der\ndie\nder\n", "word") == ":3: 'der' is in line 1 already");
  CHECK(of("der\n\ndie\n", "word") == ":2: an empty line: each line must be a token");
  CHECK(of("der\nder die\n", "word").starts_with(":2: \"der die\" contains white space, so"));
  CHECK(of("<s>\n", "word") == ": has no token");
  CHECK(of("der\n", "sentencepiece").starts_with(": is not a SentencePiece model"));
  CHECK(of("\n\x05?", "word").find("--unk_id=3") != std::string::npos);
  // A SentencePiece model is known as such, whatever kind is asked for.
  const std::vector<std::string> lines(20, "der rote Hund und die Katze");
  TokenizerPtr learned =
      train_tokenizer({.kind = "sentencepiece", .model = "bpe", .vocabulary_size = 40}, lines);
  const std::string model = dynamic_cast<const SentencePieceTokenizer&>(*learned).model();
  CHECK(of(model, "word") == learned->serialize());
  CHECK(of(model, "sentencepiece") == learned->serialize());
}

TEST_CASE("a number that no double holds is refused with its line", "[table]") {
  CHECK_THROWS_AS(table_of("t", {R"({"source":"a","target":1e999})"}, TableFormat::JsonLines, "",
                           {"source", "target"}),
                  FileError);
}

}  // namespace test_table
