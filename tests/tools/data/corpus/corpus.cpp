#include "tools/data/corpus/corpus.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/data/tokenizers/training.hpp"

namespace test_corpus {

using namespace glim;
using test::message_of;
using test::TemporaryFile;
using Lines = std::vector<std::string>;

namespace {

std::string refusal(const std::string& path) {
  return message_of<FileError>([&] { read_lines(path); });
}

}  // namespace

TEST_CASE("lines end at line feeds", "[corpus]") {
  CHECK(read_lines(TemporaryFile("a\nb\n").path()) == Lines{"a", "b"});
  CHECK(read_lines(TemporaryFile("a\nb").path()) == Lines{"a", "b"});
  CHECK(read_lines(TemporaryFile("a\r\n\r\nb\r\n").path()) == Lines{"a", "", "b"});
  CHECK(read_lines(TemporaryFile("\xEF\xBB\xBFgrün\nb").path()) == Lines{"grün", "b"});
  CHECK(read_lines(TemporaryFile("\n").path()) == Lines{""});
  CHECK(read_lines(TemporaryFile("a\rb\x0B\x0C c\u2028d\n").path()) ==
        Lines{"a\rb\x0B\x0C c\u2028d"});
  const std::string wide(3 << 20, 'x');  // longer than one piece of the file
  CHECK(read_lines(TemporaryFile(wide + "\n" + wide).path(), std::string::npos) ==
        Lines{wide, wide});
}

TEST_CASE("a line that is too long is refused with file and line", "[corpus]") {
  const std::string most(kMostLineBytes, 'x');
  CHECK(read_lines(TemporaryFile("a\n" + most + "\nb").path()) == Lines{"a", most, "b"});
  const TemporaryFile longer("a\n" + most + "x\nb");
  CHECK(refusal(longer.path()) ==
        longer.path() + ":2: more than 1048576 bytes, the most that a line may have");
  const TemporaryFile lines("a\n" + most + most + "\n\n" + most);
  std::FILE* in = std::fopen(lines.path().c_str(), "r");
  std::vector<std::size_t> sizes;
  for (std::string line; next_line(in, line);) sizes.push_back(line.size());
  std::fclose(in);
  CHECK(sizes == std::vector<std::size_t>{1, kMostLineBytes + 1, 0, kMostLineBytes});
  CHECK_THROWS_AS(require_text("x:1", most + "x"), FileError);
  CHECK_NOTHROW(require_text("x:1", most));
  CHECK_THROWS_AS(require_text("x:1", std::string("a\0b", 3)), FileError);
  CHECK_THROWS_AS(require_text("x:1", "\xff"), FileError);
}

TEST_CASE("standard input that cannot be read is no end of it", "[corpus]") {
  std::string line;
  std::FILE* folder = std::fopen("/", "r");
  CHECK(message_of<FileError>([&] { next_line(folder, line); }) ==
        "standard input: cannot be read: Is a directory");
  std::fclose(folder);
  // A disk that fails after the second line has begun.
  cookie_io_functions_t calls{};
  calls.read = [](void* n, char* into, std::size_t) -> ssize_t {
    if (++*static_cast<int*>(n) > 1) return errno = EIO, -1;
    return std::ssize(std::string(std::strcpy(into, "one\ntw")));
  };
  int reads = 0;
  std::FILE* disk = ::fopencookie(&reads, "r", calls);
  CHECK(next_line(disk, line));
  CHECK(line == "one");
  CHECK(message_of<FileError>([&] { next_line(disk, line); }) ==
        "standard input: cannot be read: Input/output error");
  std::fclose(disk);
}

TEST_CASE("files that are no text", "[corpus]") {
  CHECK(refusal("/nowhere/a.txt") == "corpus: /nowhere/a.txt: No such file or directory");
  CHECK(refusal("/") == "corpus: /: Is a directory");
  const TemporaryFile empty;
  CHECK(refusal(empty.path()) == "corpus: " + empty.path() + " is empty");
  const TemporaryFile latin1("gut\nsch\xF6n\n");
  const std::string latin1_mended =
      "; iconv -f ENCODING -t UTF-8 FILE >NEW converts it, where ENCODING is CP1252 for a text of "
      "Western Europe (Latin-1), "
      "CP1250 of Central Europe, CP1251 or KOI8-R for Cyrillic, SHIFT_JIS, EUC-KR or GB18030 for "
      "East Asia. Read NEW before "
      "you train on it";
  CHECK(refusal(latin1.path()) ==
        "corpus: " + latin1.path() + ":2: invalid UTF-8 at byte 4 (0xf6)" + latin1_mended);
  CHECK(message_of<FileError>([] { require_text("x:1", "\xff"); }) ==
        "x:1: invalid UTF-8 at byte 1 (0xff)" + latin1_mended);
  const TemporaryFile cut("gut\nsch\xC3");
  CHECK(refusal(cut.path()) ==
        "corpus: " + cut.path() + ":2: invalid UTF-8 at byte 4 (0xc3)" + latin1_mended);
  const TemporaryFile zero(std::string_view("a\nb\0c\n", 6));
  CHECK(refusal(zero.path()) ==
        "corpus: " + zero.path() + ":2: zero byte at byte 2: not a text file in UTF-8");
  for (std::string_view text :
       {std::string_view("\xFF\xFE\x61\0\n\0", 6), std::string_view("\xFF\xFE\x61\n")})
    CHECK(refusal(TemporaryFile(text).path())
              .ends_with("; iconv -f UTF-16 -t UTF-8 FILE >NEW converts UTF-16"));
  // Lines that end at "\r" alone; within a line of other files it is text.
  for (const std::string& text :
       {std::string("a\rb\r"), std::string(700'000, 'a') + '\r' + std::string(700'000, 'b')}) {
    const TemporaryFile returns(text);
    CHECK(refusal(returns.path()) ==
          returns.path() + ": its lines end at \\r alone; tr '\\r' '\\n' <FILE >NEW mends them");
  }
  CHECK(read_lines(TemporaryFile("a\rb\n").path()) == Lines{"a\rb"});
  CHECK(read_lines(TemporaryFile("a\r").path()) == Lines{"a"});
  if (::geteuid() != 0) {
    const TemporaryFile locked("a\n");
    ::chmod(locked.path().c_str(), 0);
    CHECK(refusal(locked.path()) == "corpus: " + locked.path() + ": Permission denied");
  }
}

TEST_CASE("one file of sentences", "[corpus]") {
  const TemporaryFile file("a b\n\n  \nc\n");
  const Corpus corpus = read_corpus(file.path());
  CHECK(corpus.sentences == Lines{"a b", "c"});
  CHECK(corpus.line == std::vector<std::int64_t>{1, 4});
  const TemporaryFile blank("\n \n\n");
  CHECK_THROWS_AS(read_corpus(blank.path()), FileError);
}

TEST_CASE("parallel files", "[corpus]") {
  const TemporaryFile de("ein Hund\n\nzwei\r\n drei\n"), en("a dog\nnothing\ntwo\n\t\n");
  const ParallelCorpus corpus = read_parallel(de.path(), en.path());
  CHECK(corpus.pairs == std::vector<SentencePair>{{"ein Hund", "a dog"}, {"zwei", "two"}});
  CHECK(corpus.line == std::vector<std::int64_t>{1, 3});
  CHECK(corpus.blank == 2);
  CHECK(corpus.first_blank == 2);
  CHECK(corpus.source_sentences() == Lines{"ein Hund", "zwei"});
  CHECK(corpus.target_sentences() == Lines{"a dog", "two"});
  const ParallelCorpus kept = read_parallel(de.path(), en.path(), true);
  CHECK(kept.pairs.size() == 4);
  CHECK(kept.blank == 2);

  const TemporaryFile shorter("a\nb\nc\n");
  CHECK(message_of<FileError>([&] { read_parallel(de.path(), shorter.path()); }) ==
        "corpus: " + de.path() + " has 4 lines, " + shorter.path() +
            " has 3: line n of one must be the translation of line n of the other");
  const TemporaryFile blank("\n\n\n");
  CHECK(message_of<FileError>([&] {
          read_parallel(blank.path(), blank.path());
        }).find("no pair of lines in which neither is blank") != std::string::npos);
  CHECK_THROWS_AS(read_parallel(blank.path(), shorter.path()), FileError);
  CHECK_THROWS_AS(read_parallel("/nowhere", shorter.path()), FileError);
}

TEST_CASE("long lines are reported with their place", "[corpus]") {
  const TemporaryFile de("a b\n\na b c d\na\n"), en("x\ny\nx\nx y z\n");
  const ParallelCorpus corpus = read_parallel(de.path(), en.path());
  const TokenizerPair t = {train_tokenizer({}, corpus.source_sentences()),
                           train_tokenizer({}, corpus.target_sentences())};

  const TokenizedCorpus all = tokenize(corpus, *t.source, *t.target);
  CHECK(all.pairs.size() == 3);
  CHECK(all.too_long == 0);
  auto cut_to = [&](const ParallelCorpus& c, std::int64_t most, TooLong too_long) {
    return tokenize(c, *t.source, *t.target, most, too_long);
  };
  CHECK(message_of<FileError>([&] { cut_to(corpus, 3, TooLong::Error); }) ==
        "corpus: " + de.path() + ":3: 4 tokens, at most 3");
  const TokenizedCorpus some = cut_to(corpus, 2, TooLong::Skip);
  CHECK(some.pairs.size() == 1);
  CHECK(some.index == std::vector<std::int64_t>{0});
  CHECK(some.too_long == 2);
  CHECK(some.first_too_long == de.path() + ":3: 4 tokens, at most 2");
  const TokenizedCorpus cut = cut_to(corpus, 2, TooLong::CutSource);
  CHECK(cut.pairs.size() == 2);
  CHECK(cut.pairs[1].source.size() == 2);
  CHECK(cut.first_too_long == en.path() + ":4: 3 tokens, at most 2");
  CHECK_NOTHROW(cut_to(generated_corpus("one", {{"a", "x"}}), 1, TooLong::Skip));
  CHECK(
      message_of<FileError>([&] {
        cut_to(generated_corpus("one", {{"a b", "x"}}), 1, TooLong::Skip);
      }) ==
      "corpus: one and one have no pair to use: all are too long, e.g. one:1: 2 tokens, at most 1");

  const TokenizedCorpus unknown =
      tokenize(generated_corpus("new", {{"a q q", "x"}, {"b", "q"}}), *t.source, *t.target);
  CHECK(unknown.target_unknown == 1);

  struct WithoutDots final : Tokenizer {  // as a SentencePiece model whose character map drops them
    std::int64_t size() const override { return kSpecialTokens; }
    std::string piece(std::int64_t) const override { return ""; }
    std::string_view kind() const override { return "without dots"; }
    std::string serialize() const override { return ""; }
    std::vector<std::int64_t> encode_valid(std::string_view line, std::int64_t) const override {
      return std::vector<std::int64_t>(line[0] != '.', kUnk);
    }
    std::string decode_plain(std::span<const std::int64_t>) const override { return ""; }
  };
  const WithoutDots dotless;
  CHECK(message_of<FileError>([&] {
          tokenize(generated_corpus("dots", {{"a", "a"}, {"a", "..."}}), dotless, dotless);
        }) == "corpus: dots:2: the tokenizer finds no token in this line");
}

}  // namespace test_corpus
