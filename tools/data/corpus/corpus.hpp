// Text files as sentences, one per line, and the sentences as token numbers.
//
// Lines end at "\n"; a "\r" before it and a byte order mark at the start of a file are dropped, and the last
// line needs no end. Everything else in a line stays as it is. "-" is standard input. FileError, with file
// and line, for a file that is missing, unreadable, a directory or empty, for invalid UTF-8, and for a zero
// byte (which no text has).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/tokenizer.hpp"

namespace glim {

struct SentencePair {
  std::string source, target;
  bool operator==(const SentencePair&) const = default;
};
std::vector<std::string> sources_of(const std::vector<SentencePair>& pairs);

// Exact match: equal but for the amount of white space between words and at the ends.
bool same_sentence(std::string_view a, std::string_view b);
std::size_t count_same(const std::vector<std::string>& hypotheses,
                       const std::vector<std::string>& references);

// Bytes of a line: a file without line ends is no file of sentences, and would take all memory.
inline constexpr std::size_t kMostLineBytes = 1 << 20;

// All lines, blank ones included. FileError with file and line for one of more than `most` bytes.
std::vector<std::string> read_lines(const std::string& path, std::size_t most = kMostLineBytes);

// The next line of standard input, false at its end. A line that is too long loses its end. FileError if it cannot be
// read: std::cin takes an error of reading for the end.
bool next_line(std::FILE* in, std::string& line);
// FileError naming `name`, the line's place, for a line that is too long, has a zero byte or is not UTF-8.
void require_text(const std::string& name, const std::string& line);

// Sentences of one file (a language model's training text, or a test's source).
struct Corpus {
  std::string name;
  std::vector<std::string> sentences;
  std::vector<std::int64_t> line;  // of each sentence, counted from 1
};

// Without blank lines; a file of nothing else is an error.
Corpus read_corpus(const std::string& path);

// Sentence pairs. A generated corpus has the same name on both sides and its pairs' numbers as lines.
struct ParallelCorpus {
  std::string source_name, target_name;
  std::vector<SentencePair> pairs;
  std::vector<std::int64_t> line;  // of each pair, counted from 1
  std::int64_t blank = 0;          // pairs with a blank side, skipped unless they are kept
  std::int64_t first_blank = 0;    // line of the first of them, 0 if there is none

  std::vector<std::string> source_sentences() const;
  std::vector<std::string> target_sentences() const;
};

// FileError also when the files differ in their number of lines (the message has both counts), and when no
// pair is left. `keep_blank` leaves a pair with a blank side where it is, so that the lines of a test set stay aligned.
ParallelCorpus read_parallel(const std::string& source_path, const std::string& target_path,
                             bool keep_blank = false);

// From one file with a column for each side (records.hpp): `columns` names them, "source,target" if it is
// empty. FileError when no pair without a blank side is left.
ParallelCorpus read_pairs(const std::string& path, const std::string& columns,
                          bool keep_blank = false);

// The share of the pairs to validate on, which leave the corpus (split.hpp).
ParallelCorpus split_off(ParallelCorpus& corpus, double share, std::int64_t seed);

ParallelCorpus generated_corpus(const std::string& name, std::vector<SentencePair> pairs);

struct TokenPair {
  std::vector<std::int64_t> source, target;  // without <s> and </s>
};

// A pair with a side that is too long is an error, or is skipped. With CutSource a source is cut, and a pair with a
// target that is too long is skipped.
enum class TooLong { Error, Skip, CutSource };

struct TokenizedCorpus {
  std::vector<TokenPair> pairs;     // neither side empty
  std::vector<std::int64_t> index;  // of each pair in the corpus
  std::int64_t too_long = 0;        // pairs skipped because a side is too long
  std::string first_too_long;       // "train.de:17: 613 tokens, at most 256", or empty
  std::int64_t target_unknown = 0;  // target tokens that became <unk>
};

// Pairs with a blank side are left out. A side has at most `most` tokens without <s> and </s> (0: no limit). FileError,
// with file and line, for a longer one if that is to be an error, for a line that is not blank and has no token, and
// when no pair is left.
TokenizedCorpus tokenize(const ParallelCorpus& corpus, const Tokenizer& source,
                         const Tokenizer& target, std::int64_t most = 0,
                         TooLong too_long = TooLong::Error);

}  // namespace glim
