#include "tools/kinds/embeddings.hpp"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/ops/index.hpp"
#include "tools/common/number.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {
namespace {

Embedding* first_embedding(Module& module) {
  if (auto* found = dynamic_cast<Embedding*>(&module)) return found;
  for (const auto& [name, child] : module.children())
    if (Embedding* found = first_embedding(*child)) return found;
  return nullptr;
}

// At spaces and tabs alone: a word may have a white space of another kind.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t i = 0; (i = line.find_first_not_of(" \t\r", i)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", i), line.size());
    fields.push_back(line.substr(i, end - i));
    i = end;
  }
  return fields;
}

// The first field is part of the word, whatever it is.
Index numbers_at_end(const std::vector<std::string_view>& fields) {
  Index count = 0;
  while (count + 1 < std::ssize(fields) && number_in<double>(fields[fields.size() - 1 - count]))
    ++count;
  return count;
}

class VectorFile {
 public:
  VectorFile(const std::string& path, const Tokenizer& tokenizer, Tensor table,
             const std::string& width_option)
      : path_(path), table_(std::move(table)), width_option_(width_option) {
    for (Index id = kSpecialTokens; id < tokenizer.size(); ++id)
      missing_.emplace(tokenizer.piece(id), id);
  }

  Index read() {
    std::string line;
    const std::size_t all = missing_.size();
    read_pieces(path_, "embeddings", [&](std::string_view piece) {
      for (std::size_t end; (end = piece.find('\n')) != piece.npos; piece.remove_prefix(end + 1)) {
        take(line.append(piece.substr(0, end)));
        line.clear();
      }
      line.append(piece);
      if (line.size() > kMostLineBytes) take(line);  // which refuses it
    });
    if (!line.empty()) take(line);
    if (declared_ && *declared_ != words_)
      throw FileError(path_, fmt::format("line 1 says {} words, {} follow", *declared_, words_));
    if (missing_.size() == all)
      throw FileError(path_, fmt::format("has none of the {} tokens of the vocabulary", all));
    return static_cast<Index>(all - missing_.size());
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw FileError(fmt::format("{}:{}", path_, line_), problem);
  }
  void require_width(Index width) const {
    if (width < 2) fail(fmt::format("is not a word and its vector of {} numbers", table_.size(1)));
    if (width != table_.size(1))
      fail(fmt::format("vectors of {} numbers, but the model's have {}: give --{} {}", width,
                       table_.size(1), width_option_, width));
  }
  // word2vec's binary format: behind the first line each word has the bytes of its numbers.
  void require_text_of(const std::string& line) const {
    try {
      require_text(fmt::format("{}:{}", path_, line_), line);
    } catch (const FileError&) {
      if (!declared_ || words_ > 0) throw;
      throw FileError(path_,
                      "is word2vec's binary format; the text format is needed: in Python "
                      "gensim.models.KeyedVectors.load_word2vec_format(FILE, binary=True)"
                      ".save_word2vec_format(TEXT)");
    }
  }

  void take(std::string& line) {
    if (++line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    require_text_of(line);
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.empty()) return;
    if (line_ == 1 && fields.size() == 2) {
      declared_ = number_in<Index>(fields[0]);
      const auto width = number_in<Index>(fields[1]);
      if (declared_ && width) return require_width(*width);
      declared_.reset();
    }
    const Index numbers = std::ssize(fields) - 1, width = table_.size(1);
    if (words_++ == 0 && !declared_) require_width(numbers_at_end(fields));
    const auto last = fields.end() - std::min(width, numbers) - 1;  // of the word
    if (numbers < width || (numbers > width && number_in<double>(*last)))
      fail(fmt::format("{} numbers behind the word, not {}", numbers, width));
    const std::string word(fields[0].data(), last->data() + last->size());
    const auto known = missing_.find(word);
    if (known == missing_.end()) return;
    std::vector<double> values;
    for (auto field = last + 1; field != fields.end(); ++field) {
      const auto value = number_in<double>(*field);
      if (!value || !std::isfinite(*value)) fail(fmt::format("'{}' is no number", *field));
      values.push_back(*value);
    }
    const Tensor row = from_vector(values, {width}).to(table_.dtype());
    if (!all_finite(row)) fail("a number is too large for " + std::string(name_of(row.dtype())));
    select(table_, 0, known->second).copy_(row);
    missing_.erase(known);
  }

  std::string path_;
  Tensor table_;
  std::string width_option_;
  std::unordered_map<std::string, Index> missing_;  // tokens without a vector so far, by their text
  Index line_ = 0, words_ = 0;
  std::optional<Index> declared_;
};

}  // namespace

Embedding& token_embeddings(Module& model) {
  Embedding* found = first_embedding(model);
  if (!found) throw ValueError("--embeddings", "the model has no table of token vectors");
  return *found;
}

Index load_embeddings(const std::string& path, const Tokenizer& tokenizer, Tensor table,
                      const std::string& width_option) {
  return VectorFile(path, tokenizer, std::move(table), width_option).read();
}

}  // namespace glim
