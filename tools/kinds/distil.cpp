#include "tools/kinds/distil.hpp"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/output.hpp"
#include "tools/kinds/dataset.hpp"
#include "tools/kinds/pairs.hpp"

namespace glim {
std::string distilled_file(const TrainOptions& o) {
  return (std::filesystem::path(o.out) / "distilled.txt").string();
}

void distil(const TrainOptions& o, const Processes& processes) {
  const Translator translator(o.teacher);
  TranslateOptions t;
  t.beam = static_cast<int>(o.teacher_beam);
  t.truncate = true;
  const auto sources = load_pairs(o).train.source_sentences();
  std::string text;
  constexpr std::size_t kAtOnce = 4096;
  for (std::size_t start = 0; start < sources.size(); start += kAtOnce) {
    const std::size_t end = std::min(sources.size(), start + kAtOnce);
    const std::vector<std::string> part(sources.begin() + static_cast<std::ptrdiff_t>(start),
                                        sources.begin() + static_cast<std::ptrdiff_t>(end));
    for (const std::string& line : best_translations(translator, part, t, processes))
      text += line + "\n";
    if (processes.first() && !quiet())
      std::fputs(
          fmt::format("teacher: {} of {} sentences translated\n", end, sources.size()).c_str(),
          stderr);
  }
  make_folder(o.out);
  write_file_atomically(distilled_file(o), text);
}

std::string take_distilled(const TrainOptions& o, ParallelCorpus& train) {
  const std::string file = distilled_file(o);
  const std::vector<std::string> lines = read_lines(file);
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
      "targets: translations by {} (beam {}, kept in {}; {} equal the reference, {} empty ones "
      "left out)",
      o.teacher, o.teacher_beam, file, same, silent);
}

}  // namespace glim
