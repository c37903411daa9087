#include "tools/inspect/report/training_run.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/range.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/stored_json.hpp"
#include "tools/common/folder.hpp"
#include "tools/common/nearest.hpp"
#include "tools/common/toml.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/records.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kScore = "score";  // older recordings have none
constexpr const char* kQuantities[] = {"gradient_norm", "update_ratio", "rms",      "similarity",
                                       "entropy",       "saturation",   "distance", kScore};
constexpr Index kMostHeads = 16'384;       // of all attentions
constexpr std::size_t kLongestName = 256;  // of an attention; its heads' names contain it

// Calls f(object, line number) for each whole line; whether the last one was cut short.
template <class F>
bool each_line(const std::string& path, const F& f) {
  const std::vector<std::string> lines = divided(read_file(path, "report"), '\n');
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    auto fail = [&](const std::string& problem) {
      throw FileError(path, "line " + std::to_string(number) + ": " + problem);
    };
    json line = parse_json(lines[i], false);
    if (!line.is_object()) fail("is not a JSON object");
    try {
      f(line, number);
    } catch (const json::exception& e) {
      fail(problem_of(e));
    } catch (const std::string& problem) {
      fail(problem);
    }
  }
  return !lines.back().empty();
}

double number_of(const json& v) {
  if (v.is_null()) return kNan;
  return v.get<double>();
}

// A member that counts something.
Index whole(const json& object, const char* name) {
  const json& n = object.at(name);
  if (!n.is_number_integer() || n < 0 || n > static_cast<std::int64_t>(kMostCount))
    throw "its " + std::string(name) + " must be a whole number from 0 to 2^53";
  return n.get<Index>();
}

bool read_metrics(const std::string& path, TrainingRun& run) {
  return each_line(path, [&](const json& line, int) {
    std::string type = line.at("type").get<std::string>();
    if (type != "train" && type != "valid") return;
    Losses& losses = type == "train" ? run.train : run.valid;
    losses.step.push_back(whole(line, "step"));
    losses.nll.push_back(number_of(line.at("nll")));
    if (type == "valid") return losses.kl.push_back(number_of(line.value("kl", json())));
    losses.rate.push_back(number_of(line.at("lr")));
    losses.gradient_norm.push_back(number_of(line.at("gradient_norm")));
  });
}

void read_head(const json& head, Recording& r) {
  if (!head.contains("glim_recording")) throw std::string("is not the head of a recording");
  if (head.at("glim_recording") != 1)
    throw "recording format " + head.at("glim_recording").dump() + ", this program reads 1";
  r.kind = head.at("kind").get<std::string>();
  r.every = whole(head, "every");
  if (head.contains("kinks")) r.kinks = head.at("kinks").get<std::vector<std::string>>();
  auto modules = head.at("modules").get<std::vector<std::string>>();
  auto layers = head.at("layers").get<std::vector<std::string>>();
  std::vector<std::string> heads;
  for (const json& a : head.at("attention")) {
    auto name = a.at("name").get<std::string>();
    const Index count = whole(a, "heads"), most = kMostHeads - std::ssize(heads);
    if (name.size() > kLongestName)
      throw "the name of an attention has more than " + std::to_string(kLongestName) + " bytes";
    if (count < 1 || count > most)
      throw name + " has " + std::to_string(count) + " heads, not 1 to " + std::to_string(most);
    for (Index h = 0; h < count; ++h) heads.push_back(name + " head " + std::to_string(h));
  }
  for (std::size_t i = 0; i < std::size(kQuantities); ++i)
    r.tracks.push_back({kQuantities[i], i < 2 ? modules : i < 4 ? layers : heads, {}});
}

// A list of numbers, or of one list of them for each attention.
std::vector<double> numbers_of(const json& values) {
  std::vector<double> row;
  for (const json& v : values)
    if (v.is_array())
      for (const json& head : v) row.push_back(number_of(head));
    else
      row.push_back(number_of(v));
  return row;
}

bool read_recording(const std::string& path, Recording& r) {
  return each_line(path, [&](const json& line, int number) {
    if (number == 1) return read_head(line, r);
    const Index step = whole(line, "step");
    if (r.stopped_at > 0 || (!r.step.empty() && step <= r.step.back()))
      throw std::string("its step is not later than the one before");
    if (line.contains("stopped")) {
      r.stopped = line.at("stopped").get<std::string>();
      r.stopped_at = step;
      return;
    }
    double rate = number_of(line.at("rate")), loss = number_of(line.at("loss"));
    if (r.step.empty() && !line.contains(kScore))
      std::erase_if(r.tracks, [](const Track& t) { return t.quantity == kScore; });
    std::vector<std::vector<double>> rows;
    for (const Track& t : r.tracks) {
      rows.push_back(numbers_of(line.at(t.quantity)));
      if (rows.back().size() != t.rows.size())
        throw t.quantity + " has " + std::to_string(rows.back().size()) +
            " numbers, the head names " + std::to_string(t.rows.size());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) r.tracks[i].values.push_back(std::move(rows[i]));
    r.step.push_back(step);
    r.rate.push_back(rate);
    r.loss.push_back(loss);
    r.curvature.push_back(number_of(line.value("curvature", json())));
    r.step_curvature.push_back(number_of(line.value("step_curvature", json())));
    if (line.contains("threshold") && !line.at("threshold").is_null())
      r.threshold = number_of(line.at("threshold"));
  });
}

bool holds(const fs::path& folder, const char* file) { return is_there((folder / file).string()); }

std::vector<std::string> runs_in(const fs::path& parent) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::is_directory(parent, error)) return names;
  for (const fs::path& path : entries_of(parent))
    if (std::error_code no;
        fs::exists(path / "recording.jsonl", no) || fs::exists(path / "metrics.jsonl", no))
      names.push_back(path.filename().string());
  return names;
}

// The folder without what makes no difference: "runs/a" for "runs//b/../a/".
fs::path normal(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  return path.filename().empty() ? path.parent_path() : path;
}

void note_what_is_missing(TrainingRun& run, bool has_metrics, bool has_recording) {
  auto note = [&](const char* text) { run.notes.emplace_back(text); };
  const Recording& r = run.recording;
  if (run.train.step.empty())
    note(has_metrics ? "no training losses: none was logged yet (glim train --log-every)"
                     : "no losses but those of recorded batches: there is no metrics.jsonl");
  if (has_metrics && run.valid.step.empty()) note("no validation losses: the run had none");
  if (run.options.empty()) note("no options: there is no config.toml");
  if (!has_recording) {
    note("not recorded: gradients of modules, activations and heads need glim train --record");
  } else if (r.step.empty()) {
    note("nothing from inside: the recording has no step yet");
  } else {
    if (!r.track("entropy")) note("no heads: this model has no attention that can be seen");
    if (!r.kinks.empty())
      run.notes.push_back(
          fmt::format("curvature leaves out the kinks of {}: the loss curves more than it says",
                      fmt::join(r.kinks, ", ")));
    if (!r.track("rms")) note("no activations: this model has no numbered layers");
  }
}

}  // namespace

void require_run(const std::string& folder) {
  std::error_code error;
  fs::path path = normal(folder);
  if (!fs::is_directory(folder, error)) {
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory)
      throw FileError(folder, "cannot be read: " + error.message());
    if (fs::exists(folder, error))
      throw FileError(folder, "is a file; a run is a folder that glim train --out made");
    fs::path parent = path.parent_path();
    throw FileError(
        folder, "there is no such folder" + nearest_names(path.filename().string(),
                                                          runs_in(parent.empty() ? "." : parent)));
  }
  if (holds(path, "recording.jsonl") || holds(path, "metrics.jsonl")) return;
  std::vector<std::string> within = runs_in(path);
  if (within.empty()) throw FileError(folder, "holds no run: glim train --out FOLDER makes one");
  throw FileError(
      folder, fmt::format("is not a run but holds some: name one of {}", fmt::join(within, ", ")));
}

const Track* Recording::track(const std::string& quantity) const {
  for (const Track& t : tracks)
    if (t.quantity == quantity && !t.rows.empty() && !t.values.empty()) return &t;
  return nullptr;
}

TrainingRun read_training_run(const std::string& folder) {
  require_run(folder);
  TrainingRun run;
  fs::path path = normal(folder);
  run.folder = path.string();
  auto file = [&](const char* name) { return (path / name).string(); };
  bool has_metrics = holds(path, "metrics.jsonl"), has_recording = holds(path, "recording.jsonl");
  auto cut = [&](const char* name) {
    run.notes.push_back("the last line of " + std::string(name) +
                        " is cut short and left out: the run goes on, or was killed");
  };
  if (has_metrics && read_metrics(file("metrics.jsonl"), run)) cut("metrics.jsonl");
  if (has_recording && read_recording(file("recording.jsonl"), run.recording))
    cut("recording.jsonl");
  if (holds(path, "config.toml"))
    run.options = read_toml(read_file(file("config.toml"), "report"), file("config.toml"));
  note_what_is_missing(run, has_metrics, has_recording);
  return run;
}

std::vector<TrainingRun> read_training_runs(const std::vector<std::string>& folders) {
  std::vector<TrainingRun> runs;
  for (const std::string& folder : folders) {
    runs.push_back(read_training_run(folder));
    TrainingRun& run = runs.back();
    run.name = normal(fs::absolute(run.folder).string()).filename().string();
    std::error_code error;
    for (std::size_t i = 0; i + 1 < runs.size(); ++i)
      if (fs::equivalent(runs[i].folder, run.folder, error))
        throw ValueError("report", "the run " + run.folder + " is named twice");
  }
  std::vector<std::string> names;
  for (const TrainingRun& r : runs) names.push_back(r.name);
  for (TrainingRun& r : runs)
    if (std::count(names.begin(), names.end(), r.name) > 1) r.name = r.folder;
  return runs;
}

}  // namespace glim
