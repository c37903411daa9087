#include <fmt/format.h>

#include "models/tokenizers/sentencepiece.hpp"
#include "tensor/error.hpp"
#include "tests/fuzz/readers/readers.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/toml.hpp"
#include "tools/data/corpus/corpus.hpp"
#include "tools/data/corpus/records.hpp"
#include "tools/data/tokenizers/training.hpp"
#include "tools/kinds/labels.hpp"

namespace glim::fuzz {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\' || c == '\n')
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  return out + '"';
}

// The entries that were read, one a line.
std::string as_toml(const std::vector<TomlEntry>& entries) {
  std::string text;
  for (const TomlEntry& e : entries) {
    if (e.is_table) continue;
    text += quoted((e.table.empty() ? "" : e.table + ".") + e.key) + " = [";
    for (const std::string& v : e.values) text += quoted(v) + ",";
    text += "]\n";
  }
  return text;
}

void configure(const std::string& text) {
  static std::vector<Command> all = {train_command()};
  for (Option& o : all.front().options) o.is_set = false, o.origin.clear();
  apply_config(all.front(), all, memory_file(text));
}

// Sides that a zero byte divides: no text has one.
std::pair<std::string_view, std::string_view> sides(std::string_view bytes) {
  const std::size_t middle = bytes.find('\0');
  if (middle == bytes.npos) return {bytes, bytes};
  return {bytes.substr(0, middle), bytes.substr(middle + 1)};
}

void use(const Tokenizer& t) {
  for (std::string_view line : {"a b c", "", " x  ", "The cat\u2019s \u732b, \u00fc."}) {
    const auto ids = t.encode(line);
    for (auto id : ids)
      require(id >= 0 && id < t.size(), "a token has a number outside the vocabulary");
    t.decode(ids);
  }
  for (std::int64_t id = 0; id < std::min<std::int64_t>(t.size(), 20); ++id) t.piece(id);
  const TokenizerPtr again = deserialize_tokenizer(t.serialize());
  require(again->serialize() == t.serialize() && again->size() == t.size(),
          "written again, a tokenizer reads differently");
}

void parallel(const std::string& text) {
  auto [source, target] = sides(text);
  const std::string &a = memory_file(source), &b = memory_file(target, 1);
  for (bool keep_blank : {false, true}) {
    const ParallelCorpus corpus = read_parallel(a, b, keep_blank);
    require(!corpus.pairs.empty() && corpus.pairs.size() == corpus.line.size(),
            "pairs without lines");
  }
}
void labelled(const std::string& text) {
  const ParallelCorpus read = read_labelled(memory_file(text));
  const Labels labels = Labels::of(read.target_sentences(), read.source_name);
  label_numbers(read, labels);
  require(Labels::from_json(labels.to_json(), "labels").list() == labels.list(),
          "written again, labels read differently");
}
template <TableFormat format>
void table(const std::string& text) {
  const std::vector<std::string> lines = read_lines(memory_file(text));
  for (const char* columns : {"", "2,1"}) {
    const Table t = table_of("table", lines, format, columns, {"source", "target"});
    require(!t.rows.empty() && t.rows.size() == t.line.size(), "rows without lines");
    for (const auto& row : t.rows)
      require(row.size() == 2, "a row has not the columns that were asked for");
  }
}

}  // namespace

void read_toml_bytes(std::string_view bytes) {
  const std::string text(bytes);
  const std::vector<TomlEntry> entries = parse_toml(text, "file");
  const std::string again = as_toml(entries);
  require(as_toml(parse_toml(again, "again")) == again,
          "written again, a configuration reads differently");
  configure(text);
}

void read_vocabulary_bytes(std::string_view bytes) {
  static const std::string* path;
  path = &memory_file(bytes);
  for (const char* kind : {"word", "char", "mixed", "sentencepiece"})
    attempt(
        [](const std::string& k) {
          TokenizerOptions o;
          o.kind = k;
          o.vocabulary_file = *path;
          use(*train_tokenizer(o, {}));
        },
        kind);
}

void read_sentencepiece_bytes(std::string_view bytes) {
  attempt(
      [](const std::string& model) {
        use(SentencePieceTokenizer(model, {"a", "\u2581b"}));
      },
      std::string(bytes));  // an imported one
  use(SentencePieceTokenizer(std::string(bytes)));
}

void read_text_bytes(std::string_view bytes) {
  const std::string text(bytes);
  attempt(parallel, text);
  attempt(labelled, text);
  const Corpus corpus = read_corpus(memory_file(text));
  require(corpus.sentences.size() == corpus.line.size(), "sentences without lines");
}

void read_table_bytes(std::string_view bytes) {
  const std::string text(bytes);
  attempt(table<TableFormat::Csv>, text);
  attempt(table<TableFormat::Tsv>, text);
  attempt(table<TableFormat::JsonLines>, text);
  read_pairs(memory_file(text), "");
}

}  // namespace glim::fuzz
