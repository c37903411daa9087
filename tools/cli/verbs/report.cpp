// glim report: training runs as one HTML page, and as single pictures.
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/counted.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/inspect/report/events.hpp"
#include "tools/inspect/report/pictures.hpp"
#include "tools/inspect/report/training_report.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPrintedEvents = 10;  // of a run

struct ReportArguments {
  std::vector<std::string> folders, svg;
  std::string out = "report.html", csv;  // out: a folder, unless it ends in .html
  bool overwrite = false, pictures = false;
  double most_mb = 50;
};

// The losses as a table, a row for each line of a run's metrics.jsonl. A field is empty where there is no number.
std::string losses_csv(const std::vector<TrainingRun>& runs) {
  std::string csv = "run,split,step,nll,kl,rate,gradient_norm\n";
  auto add = [&](const TrainingRun& run, const char* split, const Losses& l) {
    for (std::size_t i = 0; i < l.step.size(); ++i) {
      csv += fmt::format("{},{},{}", in_csv(run.name), split, l.step[i]);
      for (const std::vector<double>* values : {&l.nll, &l.kl, &l.rate, &l.gradient_norm})
        csv += i < values->size() && std::isfinite((*values)[i]) ? fmt::format(",{}", (*values)[i])
                                                                 : ",";
      csv += '\n';
    }
  };
  for (const TrainingRun& run : runs)
    add(run, "training", run.train), add(run, "validation", run.valid);
  return csv;
}

void describe(const TrainingRun& run) {
  std::vector<RunEvent> events = find_events(run);
  print_line(fmt::format(
      "{}: {}, {}, {}, {}", visible(run.name), counted(run.train.step.size(), "log line"),
      counted(run.valid.step.size(), "validation"), counted(run.recording.step.size(), "record"),
      counted(events.size(), "event")));
  for (const std::string& note : run.notes) print_line("  " + visible(note));
  for (std::size_t i = 0; i < std::min(events.size(), kPrintedEvents); ++i)
    print_line("  " + events[i].rule + ": " + events[i].text);
  if (events.size() > kPrintedEvents)
    print_line(
        fmt::format("  and {} in the page", counted(events.size() - kPrintedEvents, "more event")));
}

void run_report(const ReportArguments& a) {
  std::vector<TrainingRun> runs = read_training_runs(a.folders);
  const std::vector<Picture> all = pictures(runs);
  if (a.pictures) return list_pictures(all);
  fs::path page_file = a.out;
  std::error_code error;
  if (page_file.extension() != ".html" && !fs::is_other(page_file, error))
    page_file /= "report.html";
  const std::string folder = page_file.parent_path().string(), out = page_file.string();
  const auto files = pictures_asked_for("report", all, a.svg, folder);  // beside the page
  refuse_existing(out, a.overwrite);
  for (const auto& [path, p] : files) refuse_existing(path, a.overwrite);
  if (!a.csv.empty()) refuse_existing(a.csv, a.overwrite);
  std::string page = report_page(runs, static_cast<std::uint64_t>(a.most_mb * 1e6));
  if (out != a.out) make_folder(folder);
  write_file_atomically(out, std::string_view(page));
  for (const auto& [path, p] : files) write_file_atomically(path, std::string_view(p->svg()));
  if (!a.csv.empty()) write_file_atomically(a.csv, losses_csv(runs));
  if (quiet()) return;
  for (const TrainingRun& r : runs) describe(r);
  for (const auto& [path, p] : files) print_line(visible(path));
  print_line(fmt::format("{} ({:.1f} MB): open it in a browser", visible(out),
                         static_cast<double>(page.size()) / 1e6));
}

}  // namespace

Command report_command() {
  Command c("report",
            "training runs as a page: losses, rates, gradient norms; of recorded runs what "
            "happened inside");
  c.computes = false;
  auto a = std::make_shared<ReportArguments>();
  c.argument("runs", &a->folders, "folders of glim train --out FOLDER; several are compared")
      .required = true;
  c.option("out", &a->out, "folder of the page report.html, or a file that ends in .html");
  c.option("overwrite", &a->overwrite, "replace the page and pictures");
  c.option("csv", &a->csv,
           "also write the losses to this file, a row for each line of metrics.jsonl");
  c.option("svg", &a->svg, "single pictures beside the page, by name or pattern (--list-pictures)");
  c.option("list-pictures", &a->pictures, "print the names of all pictures and stop");
  c.option("max-mb", &a->most_mb, "largest size of the page",
           {.least = 0, .most = 1e9, .above = true});
  c.run = [a](Command&) { run_report(*a); };
  return c;
}

}  // namespace glim
