#include "tools/data/corpus/corpus.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/records.hpp"
#include "tools/data/corpus/split.hpp"

namespace glim {
namespace {

constexpr std::string_view kCorpusOp = "corpus";

FileError error_at(const std::string& file, std::int64_t line, const std::string& problem) {
  return FileError(kCorpusOp, fmt::format("{}:{}: {}", file, line, problem));
}

FileError too_long(const std::string& place, std::size_t most) {
  return FileError(place, fmt::format("more than {} bytes, the most that a line may have", most));
}

// The command that converts a file in UTF-16 to which this line belongs, or `other`.
const char* remedy(std::string_view line, const char* other) {
  const bool utf16 = line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF");
  return utf16 ? "; iconv -f UTF-16 -t UTF-8 FILE >NEW converts UTF-16" : other;
}

std::string zero_byte(std::string_view line, std::size_t i) {
  return fmt::format("zero byte at byte {}: not a text file in UTF-8{}", i + 1, remedy(line, ""));
}

std::string invalid(std::string_view line, std::size_t i) {
  return describe_invalid_utf8(line, i) +
         remedy(line,
                "; iconv -f ENCODING -t UTF-8 FILE >NEW converts it, where ENCODING is CP1252 for "
                "a text of Western "
                "Europe (Latin-1), CP1250 of Central Europe, CP1251 or KOI8-R for Cyrillic, "
                "SHIFT_JIS, EUC-KR or "
                "GB18030 for East Asia. Read NEW before you train on it");
}

bool is_blank(std::string_view line) { return split_spaces(line).empty(); }

// Cuts pieces of a file into checked lines as they come, so that a large file of another kind is
// refused at its first line.
class LineReader {
 public:
  LineReader(const std::string& path, std::size_t most) : path_(path), most_(most) {}

  void take(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      open_ += part;
      if (const std::size_t zero = open_.find('\0', open_.size() - part.size()); zero != open_.npos)
        throw error_at(path_, number(), zero_byte(open_, zero));
      if (open_.size() > most_) refuse_returns();
      if (open_.size() > most_) throw too_long(fmt::format("{}:{}", path_, number()), most_);
      if (end == std::string_view::npos) return;
      finish_line();
      piece.remove_prefix(end + 1);
    }
  }

  std::vector<std::string> finish() {
    refuse_returns();
    if (!open_.empty()) finish_line();
    if (lines_.empty()) throw FileError(kCorpusOp, path_ + " is empty");
    return std::move(lines_);
  }

 private:
  std::int64_t number() const { return static_cast<std::int64_t>(lines_.size()) + 1; }

  void finish_line() {
    if (lines_.empty() && open_.starts_with("\xEF\xBB\xBF")) open_.erase(0, 3);
    if (auto bad = first_invalid_utf8(open_)) throw error_at(path_, number(), invalid(open_, *bad));
    if (open_.ends_with('\r')) open_.pop_back();
    lines_.push_back(std::move(open_));
    open_.clear();
  }

  // A file without "\n" whose lines end at "\r".
  void refuse_returns() const {
    if (const std::size_t end = open_.find('\r'); lines_.empty() && end < open_.size() - 1)
      throw FileError(path_, "its lines end at \\r alone; tr '\\r' '\\n' <FILE >NEW mends them");
  }

  const std::string& path_;
  std::size_t most_;
  std::string open_;
  std::vector<std::string> lines_;
};

}  // namespace

bool next_line(std::FILE* in, std::string& line) {
  line.clear();
  int c = 0;
  while ((c = std::getc(in)) != EOF && c != '\n')
    if (line.size() <= kMostLineBytes) line += static_cast<char>(c);
  if (std::ferror(in))
    throw FileError("standard input", std::string("cannot be read: ") + std::strerror(errno));
  if (line.ends_with('\r')) line.pop_back();
  return c == '\n' || !line.empty();
}

void require_text(const std::string& name, const std::string& line) {
  if (line.size() > kMostLineBytes) throw too_long(name, kMostLineBytes);
  if (const std::size_t zero = line.find('\0'); zero != line.npos)
    throw FileError(name, zero_byte(line, zero));
  if (const auto bad = first_invalid_utf8(line)) throw FileError(name, invalid(line, *bad));
}

std::vector<std::string> read_lines(const std::string& path, std::size_t most) {
  const std::string name = shown_path(path);
  LineReader reader(name, most);
  read_pieces(path, kCorpusOp, [&](std::string_view piece) { reader.take(piece); });
  return reader.finish();
}

Corpus read_corpus(const std::string& path) {
  Corpus corpus{shown_path(path), {}, {}};
  std::vector<std::string> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    corpus.sentences.push_back(std::move(lines[i]));
    corpus.line.push_back(static_cast<std::int64_t>(i) + 1);
  }
  if (corpus.sentences.empty())
    throw FileError(kCorpusOp, corpus.name + " has nothing but blank lines");
  return corpus;
}

bool same_sentence(std::string_view a, std::string_view b) {
  return split_spaces(a) == split_spaces(b);
}

std::size_t count_same(const std::vector<std::string>& hypotheses,
                       const std::vector<std::string>& references) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < hypotheses.size(); ++i)
    same += same_sentence(hypotheses[i], references[i]);
  return same;
}

std::vector<std::string> sources_of(const std::vector<SentencePair>& pairs) {
  std::vector<std::string> out;
  out.reserve(pairs.size());
  for (const SentencePair& pair : pairs) out.push_back(pair.source);
  return out;
}

std::vector<std::string> ParallelCorpus::source_sentences() const { return sources_of(pairs); }

std::vector<std::string> ParallelCorpus::target_sentences() const {
  std::vector<std::string> out;
  out.reserve(pairs.size());
  for (const SentencePair& pair : pairs) out.push_back(pair.target);
  return out;
}

namespace {

bool has_blank(const SentencePair& pair) { return is_blank(pair.source) || is_blank(pair.target); }

void add_pair(ParallelCorpus& corpus, SentencePair pair, std::int64_t line, bool keep_blank) {
  if (has_blank(pair)) {
    if (corpus.blank++ == 0) corpus.first_blank = line;
    if (!keep_blank) return;
  }
  corpus.pairs.push_back(std::move(pair));
  corpus.line.push_back(line);
}

void require_pairs(const ParallelCorpus& corpus) {
  if (std::ranges::any_of(corpus.pairs, [](const SentencePair& p) { return !has_blank(p); }))
    return;
  const bool one_file = corpus.source_name == corpus.target_name;
  throw FileError(kCorpusOp, corpus.source_name + (one_file ? "" : " and " + corpus.target_name) +
                                 ": no pair of lines in which neither is blank");
}

}  // namespace

ParallelCorpus read_parallel(const std::string& source_path, const std::string& target_path,
                             bool keep_blank) {
  std::vector<std::string> source = read_lines(source_path);
  std::vector<std::string> target = read_lines(target_path);
  if (source.size() != target.size()) {
    throw FileError(kCorpusOp, fmt::format("{} has {} lines, {} has {}: line n of one must be the "
                                           "translation of line n of the other",
                                           source_path, source.size(), target_path, target.size()));
  }
  ParallelCorpus corpus;
  corpus.source_name = shown_path(source_path);
  corpus.target_name = shown_path(target_path);
  for (std::size_t i = 0; i < source.size(); ++i)
    add_pair(corpus, {std::move(source[i]), std::move(target[i])}, static_cast<std::int64_t>(i) + 1,
             keep_blank);
  require_pairs(corpus);
  return corpus;
}

ParallelCorpus read_pairs(const std::string& path, const std::string& columns, bool keep_blank) {
  Table table = read_table(path, columns, {"source", "target"});
  ParallelCorpus corpus;
  corpus.source_name = corpus.target_name = table.name;
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    add_pair(corpus, {std::move(table.rows[i][0]), std::move(table.rows[i][1])}, table.line[i],
             keep_blank);
  require_pairs(corpus);
  return corpus;
}

ParallelCorpus split_off(ParallelCorpus& corpus, double share, std::int64_t seed) {
  const std::vector<bool> kept = validation_rows(corpus.source_sentences(), share, seed);
  ParallelCorpus valid;
  valid.source_name = corpus.source_name;
  valid.target_name = corpus.target_name;
  valid.pairs = take_rows(corpus.pairs, kept);
  valid.line = take_rows(corpus.line, kept);
  return valid;
}

ParallelCorpus generated_corpus(const std::string& name, std::vector<SentencePair> pairs) {
  ParallelCorpus corpus;
  corpus.source_name = corpus.target_name = name;
  corpus.pairs = std::move(pairs);
  for (std::size_t i = 1; i <= corpus.pairs.size(); ++i) {
    corpus.line.push_back(static_cast<std::int64_t>(i));
  }
  return corpus;
}

TokenizedCorpus tokenize(const ParallelCorpus& corpus, const Tokenizer& source,
                         const Tokenizer& target, std::int64_t most, TooLong too_long) {
  TokenizedCorpus out;
  for (std::size_t i = 0; i < corpus.pairs.size(); ++i) {
    if (has_blank(corpus.pairs[i])) continue;
    TokenPair pair{source.encode(corpus.pairs[i].source), target.encode(corpus.pairs[i].target)};
    if (too_long == TooLong::CutSource && most > 0)
      pair.source.resize(std::min(pair.source.size(), static_cast<std::size_t>(most)));
    auto fits = [&](const std::vector<std::int64_t>& ids, const std::string& file) {
      if (ids.empty())
        throw error_at(file, corpus.line[i], "the tokenizer finds no token in this line");
      if (most == 0 || std::ssize(ids) <= most) return true;
      const FileError error =
          error_at(file, corpus.line[i], fmt::format("{} tokens, at most {}", ids.size(), most));
      if (too_long == TooLong::Error) throw error;
      if (out.too_long++ == 0) out.first_too_long = error.problem();
      return false;
    };
    if (!fits(pair.source, corpus.source_name) || !fits(pair.target, corpus.target_name)) continue;
    out.target_unknown += std::ranges::count(pair.target, kUnk);
    out.pairs.push_back(std::move(pair));
    out.index.push_back(static_cast<std::int64_t>(i));
  }
  if (out.pairs.empty()) {
    throw FileError(
        kCorpusOp,
        fmt::format("{} and {} have no pair to use: {}", corpus.source_name, corpus.target_name,
                    out.too_long > 0 ? "all are too long, e.g. " + out.first_too_long
                                     : std::string("there are none")));
  }
  return out;
}

}  // namespace glim
