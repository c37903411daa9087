#include "tools/train/distil.hpp"

#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/output.hpp"
#include "tools/common/utf8.hpp"
#include "tools/train/learners/translation.hpp"
#include "tools/train/translator.hpp"

namespace glim {
namespace {

std::vector<std::string> translations(const TrainOptions& o, const ParallelCorpus& train) {
  LoadedSequenceModel teacher = load_sequence_model(o.teacher);
  Translator translator(*teacher.model, teacher.tokenizers);
  TranslateOptions t;
  t.beam = static_cast<int>(o.teacher_beam);
  t.truncate = true;
  auto sources = train.source_sentences();
  std::vector<std::string> lines;
  constexpr std::size_t kAtOnce = 4096;
  for (std::size_t start = 0; start < sources.size(); start += kAtOnce) {
    std::size_t end = std::min(sources.size(), start + kAtOnce);
    std::vector<std::string> part(sources.begin() + static_cast<std::ptrdiff_t>(start),
                                  sources.begin() + static_cast<std::ptrdiff_t>(end));
    for (auto& list : translator.translate(part, t)) lines.push_back(list[0].text);
    if (!quiet())
      fmt::print(stderr, "teacher: {} of {} sentences translated\n", end, sources.size());
  }
  return lines;
}

}  // namespace

std::string distil(const TrainOptions& o, ParallelCorpus& train, bool resumed) {
  namespace fs = std::filesystem;
  std::string file = (fs::path(o.out) / "distilled.txt").string();
  std::vector<std::string> lines;
  std::error_code error;
  bool kept = resumed && fs::exists(file, error);
  if (kept) {
    lines = read_lines(file);
  } else {
    lines = translations(o, train);
    make_folder(o.out);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_file_atomically(file, text);
  }
  if (lines.size() != train.pairs.size())
    throw FileError(file, fmt::format("has {} lines, the training data {} pairs", lines.size(),
                                      train.pairs.size()));
  ParallelCorpus taught;
  taught.source_name = train.source_name;
  taught.target_name = file;
  taught.blank = train.blank;
  taught.first_blank = train.first_blank;
  std::size_t same = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (split_spaces(lines[i]).empty()) continue;
    same += lines[i] == train.pairs[i].target;
    taught.pairs.push_back({train.pairs[i].source, lines[i]});
    taught.line.push_back(train.line[i]);
  }
  if (taught.pairs.empty()) throw ValueError("--teacher", o.teacher + " translates nothing");
  std::size_t silent = lines.size() - taught.pairs.size();
  train = std::move(taught);
  return fmt::format(
      "targets: translations by {} ({}; {} equal the reference, {} empty ones left "
      "out)",
      o.teacher, kept ? "kept in " + file : fmt::format("beam {}", o.teacher_beam), same, silent);
}

}  // namespace glim
