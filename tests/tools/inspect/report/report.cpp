// glim report: events planted into series are found, quiet series give none, the page's numbers are the
// recording's, and what is damaged is named by file and line.
#include "tools/inspect/report/report.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/inspect/report/events.hpp"
#include "tools/inspect/report/pictures.hpp"

namespace test_report {

using namespace glim;
using glim::test::message_of;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((fs::path(path) / file).parent_path());
    std::ofstream(fs::path(path) / file, std::ios::binary) << text;
  }
  std::string within(const std::string& name) const { return (fs::path(path) / name).string(); }
  std::string path = (fs::temp_directory_path() / "glim_report_test").string();
};

// A run in which nothing happens: six modules, two layers, two heads; values wander by a tenth.
TrainingRun quiet_run(Index records = 60) {
  TrainingRun run;
  run.name = run.folder = "quiet";
  Recording& r = run.recording;
  r.kind = "transformer";
  r.every = 10;
  r.tracks = {{"gradient_norm", {"a", "b", "c", "d", "e", "f"}, {}},
              {"update_ratio", {"a", "b", "c", "d", "e", "f"}, {}},
              {"rms", {"layer 0", "layer 1"}, {}},
              {"similarity", {"layer 0", "layer 1"}, {}},
              {"entropy", {"x head 1", "x head 2"}, {}},
              {"saturation", {"x head 1", "x head 2"}, {}}};
  const double level[] = {0.5, 1e-3, 1, 0.4, 2, 0.3};
  for (Index i = 0; i < records; ++i) {
    r.step.push_back(10 * (i + 1));
    r.rate.push_back(1e-3);
    r.loss.push_back(3);
    for (std::size_t t = 0; t < r.tracks.size(); ++t) {
      std::vector<double> row;
      for (std::size_t m = 0; m < r.tracks[t].rows.size(); ++m)
        row.push_back(level[t] *
                      (1 + 0.1 * std::sin(static_cast<double>(7 * i) + static_cast<double>(m))));
      r.tracks[t].values.push_back(row);
    }
    run.train.step.push_back(10 * (i + 1));
    run.train.nll.push_back(1 + 4 * std::exp(-static_cast<double>(i) / 10));
    run.train.rate.push_back(1e-3);
    run.train.gradient_norm.push_back(1);
  }
  return run;
}

std::vector<std::vector<double>>& values(TrainingRun& run, const std::string& quantity) {
  for (Track& t : run.recording.tracks)
    if (t.quantity == quantity) return t.values;
  throw std::runtime_error(quantity);
}

// The one event of a run.
RunEvent only_event(const TrainingRun& run) {
  std::vector<RunEvent> events = find_events(run);
  REQUIRE(events.size() == 1);
  return events[0];
}

const char* const kHead =
    R"({"glim_recording":1,"kind":"rnn","every":5,"modules":["enc","dec"],"layers":["l.0"],)"
    R"("attention":[{"name":"att","heads":2}]})"
    "\n";
std::string line_of(Index step) {
  return "{\"step\":" + std::to_string(step) +
         R"(,"rate":0.001,"loss":2.5,"gradient_norm":[0.123456,1.5e-07],"update_ratio":[0.01,null],)"
         R"("rms":[1.25],"similarity":[0.5],"entropy":[[0.7,0.25]],"saturation":[[0.1,0.987654]]})"
         "\n";
}

}  // namespace

TEST_CASE("a quiet run gives no events, nor does one without records") {
  CHECK(find_events(quiet_run()).empty());
  CHECK(find_events(quiet_run(1)).empty());
  CHECK(find_events(TrainingRun{}).empty());
}

TEST_CASE("a gradient that spikes is named with its step and module, and the threshold") {
  TrainingRun run = quiet_run();
  values(run, "gradient_norm")[30][2] *= 8;
  RunEvent e = only_event(run);
  CHECK(e.rule == "gradient-spike");
  CHECK(e.step == 310);
  CHECK(e.last == 310);
  CHECK(e.where == std::vector<std::string>{"c"});
  CHECK(e.value == values(run, "gradient_norm")[30][2]);
  CHECK(e.text.find("step 310, c: the gradient spikes above 5 times") != std::string::npos);
}

TEST_CASE("below the threshold there is no spike, and early records have no median") {
  TrainingRun run = quiet_run();
  values(run, "gradient_norm")[30][2] *= 4;
  values(run, "gradient_norm")[2][1] *= 8;
  CHECK(find_events(run).empty());
}

TEST_CASE("spikes of one record are one event, the largest first; of two records two") {
  TrainingRun run = quiet_run();
  values(run, "gradient_norm")[30][2] *= 8;
  values(run, "gradient_norm")[30][4] *= 20;
  values(run, "gradient_norm")[31][0] *= 9;
  std::vector<RunEvent> events = find_events(run);
  REQUIRE(events.size() == 2);
  CHECK(events[0].where == std::vector<std::string>{"e", "c"});
  CHECK(events[1].step == 320);
}

TEST_CASE("gradients that explode, vanish or never arrive") {
  TrainingRun run = quiet_run();
  for (std::size_t i = 20; i < 60; ++i)
    values(run, "gradient_norm")[i][1] *= std::pow(1.13, static_cast<double>(i - 19));
  RunEvent e = only_event(run);  // too slow for a spike
  CHECK(e.rule == "exploding");
  CHECK(e.where == std::vector<std::string>{"b"});
  CHECK(e.last == 600);

  run = quiet_run();
  for (std::size_t i = 40; i < 60; ++i) values(run, "gradient_norm")[i][3] = 1e-4;
  e = only_event(run);
  CHECK(e.rule == "vanishing");
  CHECK(e.step == 410);
  CHECK(e.where == std::vector<std::string>{"d"});
  CHECK(e.value == 1e-4);

  run = quiet_run();
  for (auto& record : values(run, "gradient_norm")) record[5] = 0;
  e = only_event(run);
  CHECK(e.rule == "no-gradient");
  CHECK(e.where == std::vector<std::string>{"f"});
}

TEST_CASE(
    "updates too small count only while the rate is high, large ones not in the first record") {
  TrainingRun run = quiet_run();
  values(run, "update_ratio")[10][0] = 1e-6;
  CHECK(only_event(run).rule == "small-update");
  run.recording.rate[10] = 1e-5;
  CHECK(find_events(run).empty());
  values(run, "update_ratio")[0][0] = 0.5;
  CHECK(find_events(run).empty());
  values(run, "update_ratio")[50][0] = 0.5;
  CHECK(only_event(run).rule == "large-update");
  CHECK(only_event(run).step == 510);
}

TEST_CASE("heads that saturate or choose nothing, tokens that collapse, activations that grow") {
  TrainingRun run = quiet_run();
  for (std::size_t i : {20, 21, 24, 25}) values(run, "saturation")[i][1] = 0.95;
  RunEvent e = only_event(run);  // a pause of two records does not end it
  CHECK(e.rule == "saturated");
  CHECK(e.where == std::vector<std::string>{"x head 2"});
  CHECK(e.step == 210);
  CHECK(e.last == 260);

  run = quiet_run();
  values(run, "saturation")[5][0] = 0.01;  // in the last record alone
  CHECK(find_events(run).empty());
  values(run, "saturation").back()[0] = 0.01;
  CHECK(only_event(run).rule == "uniform");

  run = quiet_run();
  for (std::size_t i = 30; i < 60; ++i) values(run, "similarity")[i][1] = 0.97;
  e = only_event(run);
  CHECK(e.rule == "collapse");
  CHECK(e.where == std::vector<std::string>{"layer 1"});
  CHECK(e.text.find("0.95") != std::string::npos);

  run = quiet_run();
  values(run, "rms").back()[0] = 40;
  CHECK(only_event(run).rule == "growth");
}

TEST_CASE("up to three records between do not end an event, four do") {
  for (std::size_t between : {0, 1, 3, 4}) {
    TrainingRun run = quiet_run();
    values(run, "saturation")[20][1] = values(run, "saturation")[21 + between][1] = 0.95;
    std::vector<RunEvent> events = find_events(run);
    INFO(between);
    REQUIRE(events.size() == (between < 4 ? 1u : 2u));
    CHECK(events.front().step == 210);
    CHECK(events.back().last == 10 * static_cast<Index>(22 + between));
  }
}

TEST_CASE("losses that spike or are not finite, and a run that stopped") {
  TrainingRun run = quiet_run();
  run.train.nll[40] = 3;
  RunEvent e = only_event(run);
  CHECK(e.rule == "loss-spike");
  CHECK(e.step == 410);
  CHECK(e.value == 3);
  run.train.nll[40] = std::nan("");
  e = only_event(run);
  CHECK(e.rule == "not-finite");
  CHECK(e.step == 410);
  run = quiet_run();
  run.recording.stopped_at = 601;
  run.recording.stopped = "the loss is not finite; first in log";
  e = only_event(run);
  CHECK(e.rule == "not-finite");
  CHECK(e.text == "step 601: the run stopped: the loss is not finite; first in log");
}

TEST_CASE("a recording is read as it stands, and its page has the same numbers") {
  Folder folder;
  folder.write("a/recording.jsonl", kHead + line_of(1) + line_of(5));
  folder.write("a/config.toml", "# options\nkind = \"rnn\"\nlayers = 7\nrate = 0.001\n");
  folder.write("a/metrics.jsonl",
               R"({"type":"train","step":5,"nll":2.25,"lr":0.001,"gradient_norm":0.75})"
               "\n"
               R"({"type":"valid","step":5,"nll":null})"
               "\n");
  auto runs = read_training_runs({folder.within("a/")});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].name == "a");
  CHECK(runs[0].recording.step == std::vector<Index>{1, 5});
  CHECK(runs[0].recording.track("saturation")->rows ==
        std::vector<std::string>{"att head 1", "att head 2"});
  auto data = nlohmann::json::parse(report_json(runs));
  auto& run = data["runs"][0];
  CHECK(run["options"] == nlohmann::json{{"kind", "rnn"}, {"layers", "7"}, {"rate", "0.001"}});
  CHECK(run["train"]["nll"] == nlohmann::json{2.25});
  CHECK(run["valid"]["nll"] == nlohmann::json{nullptr});
  REQUIRE(run["tracks"].size() == 6);
  auto line = nlohmann::json::parse(line_of(1));
  for (auto& track : run["tracks"]) {
    auto quantity = track["quantity"].get<std::string>();
    auto expected = line[quantity][0].is_array() ? line[quantity][0] : line[quantity];
    for (auto& values : track["values"]) CHECK(values.dump() == expected.dump());
  }
  std::string page = report_page(runs, 5'000'000);
  CHECK(page.find("0.123456,1.5e-07") != std::string::npos);
  CHECK(page.find("http-equiv=\"Content-Security-Policy\"") != std::string::npos);
}

TEST_CASE("a page beyond the limit names the option that helps") {
  CHECK_THROWS_AS(report_page({quiet_run()}, 1000), ValueError);
  CHECK(message_of<ValueError>([] { report_page({quiet_run()}, 1000); }).find("--most-mb") !=
        std::string::npos);
}

TEST_CASE("a model without attention has no maps of heads, and says so") {
  Folder folder;
  folder.write(
      "rnn/recording.jsonl",
      R"({"glim_recording":1,"kind":"rnn","every":5,"modules":["m"],"layers":[],"attention":[]})"
      "\n"
      R"({"step":1,"rate":1,"loss":1,"gradient_norm":[1],"update_ratio":[1],"rms":[],)"
      R"("similarity":[],"entropy":[],"saturation":[]})"
      "\n");
  auto runs = read_training_runs({folder.within("rnn")});
  CHECK(runs[0].recording.track("entropy") == nullptr);
  std::string notes;
  for (const std::string& note : runs[0].notes) notes += note + "\n";
  CHECK(notes.find("no heads") != std::string::npos);
  CHECK(nlohmann::json::parse(report_json(runs))["runs"][0]["tracks"].size() == 2);
}

TEST_CASE("a last line cut short is left out and noted; other damage is named by its line") {
  Folder folder;
  auto read = [&](const std::string& text) {
    folder.write("a/recording.jsonl", text);
    return read_training_run(folder.within("a"));
  };
  std::string whole = kHead + line_of(1) + line_of(5);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {  // a kill at any byte
    TrainingRun run = read(whole.substr(0, cut));
    CHECK(run.recording.step.size() <= 2);
    CHECK_NOTHROW(find_events(run));
    CHECK_NOTHROW(report_json({run}));
  }
  TrainingRun run = read(whole.substr(0, whole.size() - 3));
  CHECK(run.recording.step == std::vector<Index>{1});
  CHECK(run.notes[0].find("recording.jsonl is cut short") != std::string::npos);

  auto refused = [&](const std::string& text, const std::string& line, const std::string& problem) {
    CHECK_THROWS_AS(read(text), FileError);
    std::string message = message_of<FileError>([&] { read(text); });
    CHECK(message.find("recording.jsonl: line " + line + ": ") != std::string::npos);
    CHECK(message.find(problem) != std::string::npos);
  };
  refused(kHead + std::string("{\"step\":1,\n") + line_of(5), "2", "no JSON object");
  refused(kHead + line_of(5) + line_of(5), "3", "not a later one");
  refused(kHead + std::string("{\"step\":1}\n"), "2", "'rate' not found");
  refused(line_of(1), "1", "not the head of a recording");
  refused("{\"glim_recording\":2}\n", "1", "format 2");
  std::string wide = line_of(1);
  wide.replace(wide.find("[1.25]"), 6, "[1,2,3]");
  refused(kHead + wide, "2", "rms has 3 numbers, the head names 1");
  wide = line_of(1);
  wide.replace(wide.find("[1.25]"), 6, "[\"x\"]");
  refused(kHead + wide, "2", "must be number");
  refused(std::string(R"({"glim_recording":1,"kind":"x","every":1,"modules":[],"layers":[],)") +
              R"("attention":[{"name":"a","heads":1000000000000}]})" + "\n",
          "1", "heads");
}

TEST_CASE("folders that are no runs: what is there is named") {
  Folder folder;
  folder.write("first/recording.jsonl", kHead);
  folder.write("second/recording.jsonl", kHead);
  folder.write("plain/metrics.jsonl", "");
  folder.write("empty/other.txt", "");
  auto refused = [&](std::vector<std::string> names, const std::string& text) {
    for (std::string& name : names) name = folder.within(name);
    std::string message = message_of<Error>([&] { read_training_runs(names); });
    INFO(message);
    CHECK(message.find(text) != std::string::npos);
  };
  refused({"frist"}, "(nearest: first");
  refused({"empty"}, "glim train --record");
  refused({"plain"}, "glim train --record");
  refused({"."}, "holds some: first, second");
  refused({"first/recording.jsonl"}, "is a file");
  refused({"first", "second", "first/"}, "named twice");
  CHECK(read_training_runs({folder.within("first"), folder.within("plain")}).size() == 2);
}

TEST_CASE("single pictures of runs") {
  std::vector<TrainingRun> runs = {quiet_run(), quiet_run()};
  runs[1].name = "other";
  std::vector<std::string> names = report_picture_names(runs);
  CHECK(names.size() == 3 + 2 * 6);
  for (const std::string& name : names) CHECK(report_picture(runs, name).starts_with("<svg"));
  CHECK(report_picture(runs, "other/rms").find("layer 1") != std::string::npos);
  CHECK_THROWS_AS(report_picture(runs, "other/nothing"), IndexError);
  // Many records share a cell, which shows the largest: 1000 of them in 200 columns.
  auto svg = [&](std::size_t record) {
    runs[0] = quiet_run(1000);
    values(runs[0], "saturation")[record][0] = 0.875;
    return report_picture(runs, "quiet/saturation");
  };
  CHECK(svg(0).find("largest of every 5 records") != std::string::npos);
  CHECK(svg(4) == svg(0));
  CHECK(svg(5) != svg(0));
}

}  // namespace test_report
