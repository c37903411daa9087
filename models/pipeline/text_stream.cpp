#include "models/pipeline/text_stream.hpp"

#include "models/tokenizers/utf8.hpp"

namespace glim {

std::string TextStream::push(std::int64_t id) {
  if (id == kEos) return rest() + "\n";
  line_.push_back(id);
  std::string text = tokenizer_->decode(line_);
  std::string fresh = text.size() > printed_ ? text.substr(printed_) : "";
  // SentencePiece reads the bytes of half a character as U+FFFD.
  while (fresh.ends_with("\xEF\xBF\xBD")) fresh.resize(fresh.size() - 3);
  if (auto bad = first_invalid_utf8(fresh)) fresh.resize(*bad);
  printed_ += fresh.size();
  if (fresh.ends_with('\n')) {  // as characters, line ends are tokens like others
    line_.clear();
    printed_ = 0;
  }
  return fresh;
}

std::string TextStream::rest() {
  std::string text = tokenizer_->decode(line_), fresh;
  if (text.size() > printed_) fresh = text.substr(printed_);
  if (auto bad = first_invalid_utf8(fresh)) fresh.replace(*bad, std::string::npos, "\xEF\xBF\xBD");
  line_.clear();
  printed_ = 0;
  return fresh;
}

}  // namespace glim
