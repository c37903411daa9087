// glim report: training runs as one HTML page, and as single pictures.
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "tensor/io/atomic_file.hpp"
#include "tools/cli/verbs/verbs.hpp"
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
  std::string out = "report.html";
  bool overwrite = false, pictures = false;
  double most_mb = 50;
};

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
  const auto files =  // beside the page
      pictures_asked_for("report", all, a.svg, fs::path(a.out).parent_path().string());
  refuse_existing(a.out, a.overwrite);
  for (const auto& [path, p] : files) refuse_existing(path, a.overwrite);
  std::string page = report_page(runs, static_cast<std::uint64_t>(a.most_mb * 1e6));
  write_file_atomically(a.out, std::string_view(page));
  for (const auto& [path, p] : files) write_file_atomically(path, std::string_view(p->svg()));
  if (quiet()) return;
  for (const TrainingRun& r : runs) describe(r);
  for (const auto& [path, p] : files) print_line(visible(path));
  print_line(fmt::format("{} ({:.1f} MB): open it in a browser", visible(a.out),
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
  c.option("out", &a->out, "file of the page");
  c.option("overwrite", &a->overwrite, "replace the page and pictures");
  c.option("svg", &a->svg, "single pictures beside the page, by name or pattern (--list-pictures)");
  c.option("list-pictures", &a->pictures, "print the names of all pictures and stop");
  c.option("max-mb", &a->most_mb, "largest size of the page",
           {.least = 0, .most = 1e9, .above = true});
  c.run = [a](Command&) { run_report(*a); };
  return c;
}

}  // namespace glim
