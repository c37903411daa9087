// glim report: the page's numbers are the recording's, and what is damaged is named by file and line.
#include "tools/inspect/report/training_report.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/tools/inspect/report/common.hpp"
#include "tests/tools/pictures.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/inspect/report/events.hpp"
#include "tools/inspect/report/pictures.hpp"

namespace test_report {

using namespace glim;
using namespace glim::test;
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
  std::string path =
      (fs::temp_directory_path() / ("glim-report-" + std::to_string(::getpid()))).string();
};

const char* const kHead =
    R"({"glim_recording":1,"kind":"rnn","every":5,"modules":["enc","dec"],"layers":["l.0"],)"
    R"("attention":[{"name":"att","heads":2}]})"
    "\n";
std::string line_of(Index step) {
  return "{\"step\":" + std::to_string(step) +
         R"(,"rate":0.001,"loss":2.5,"gradient_norm":[0.123456,1.5e-07],"update_ratio":[0.01,null],)"
         R"("rms":[1.25],"similarity":[0.5],"entropy":[[0.7,0.25]],"saturation":[[0.1,0.987654]],)"
         R"("distance":[[1.5,0.25]],"score":[[3.5,120.25]]})"
         "\n";
}

}  // namespace

TEST_CASE("a recording is read as it is, and its page has the same numbers") {
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
  CHECK(runs[0].recording.track("distance")->values.at(0) == std::vector<double>{1.5, 0.25});
  CHECK(runs[0].recording.step == std::vector<Index>{1, 5});
  CHECK(runs[0].recording.track("saturation")->rows ==
        std::vector<std::string>{"att head 0", "att head 1"});
  auto data = nlohmann::json::parse(report_json(runs));
  auto& run = data["runs"][0];
  CHECK(run["options"] == nlohmann::json{{"kind", "rnn"}, {"layers", "7"}, {"rate", "0.001"}});
  CHECK(run["train"]["nll"] == nlohmann::json{2.25});
  CHECK(run["valid"]["nll"] == nlohmann::json{nullptr});
  REQUIRE(run["tracks"].size() == 8);
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
  CHECK(message_of<ValueError>([] { report_page({quiet_run()}, 1000); }).find("--max-mb") !=
        std::string::npos);
}

TEST_CASE("a model without attention has no maps of heads, and says so") {
  Folder folder;
  folder.write(
      "rnn/recording.jsonl",
      R"({"glim_recording":1,"kind":"rnn","every":5,"modules":["m"],"layers":[],"attention":[]})"
      "\n"
      R"({"step":1,"rate":1,"loss":1,"gradient_norm":[1],"update_ratio":[1],"rms":[],)"
      R"("similarity":[],"entropy":[],"saturation":[],"distance":[]})"
      "\n");
  auto runs = read_training_runs({folder.within("rnn")});
  CHECK(runs[0].recording.track("entropy") == nullptr);
  CHECK(runs[0].recording.tracks.size() == 7);  // an older recording: no scores
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
  refused(kHead + std::string("{\"step\":1,\n") + line_of(5), "2", "not a JSON object");
  refused(kHead + line_of(5) + line_of(5), "3", "not later than");
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
  for (const char* step : {"-1", "1.5", "1e300", "18446744073709551615", "null"})
    refused(kHead + std::string("{\"step\":") + step + "}\n", "2",
            "its step must be a whole number");
  refused("{\"glim_recording\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}\n",
          "1", "is not a JSON object");
  // A few bytes may ask for much: a name for each head, in two tracks.
  auto attention = [](const std::string& list) {
    return std::string(R"({"glim_recording":1,"kind":"x","every":1,"modules":[],"layers":[],)") +
           "\"attention\":[" + list + "]}\n";
  };
  std::string many = R"({"name":"a","heads":4096})";
  for (int i = 1; i < 5; ++i) many += R"(,{"name":"a","heads":4096})";
  refused(attention(many), "1", "a has 4096 heads, not 1 to 0");
  refused(attention("{\"name\":\"" + std::string(300, 'a') + "\",\"heads\":1}"), "1",
          "the name of an attention has more than 256 bytes");
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
  refused({"empty"}, "holds no run: glim train --out FOLDER");
  refused({"."}, "holds some: name one of first, plain, second");
  refused({"first/recording.jsonl"}, "is a file");
  refused({"first", "second", "first/"}, "named twice");
  CHECK(read_training_runs({folder.within("first"), folder.within("plain")}).size() == 2);
  // The losses of a run that was not recorded, and what is missing.
  folder.write("plain/metrics.jsonl",
               R"({"type":"train","step":5,"epoch":1,"nll":2,"lr":0.1,"gradient_norm":3})"
               "\n");
  const std::vector<TrainingRun> runs = read_training_runs({folder.within("plain")});
  CHECK(runs[0].train.gradient_norm == std::vector<double>{3});
  // No step of it can be made again, so that its events have no command.
  std::vector<TrainingRun> stopped = runs;
  stopped[0].train.nll[0] = std::nan("");
  auto event = [&] { return nlohmann::json::parse(report_json(stopped))["runs"][0]["events"][0]; };
  CHECK(event()["command"] == "");
  stopped[0].recording.step = {5};
  CHECK(event()["command"].get<std::string>().starts_with("glim inspect "));
  CHECK(runs[0].notes.back().starts_with("not recorded: "));
  CHECK(pictures(runs).size() == 3);
}

TEST_CASE("single pictures of runs") {
  std::vector<TrainingRun> runs = {quiet_run(), quiet_run()};
  runs[1].name = "other";
  CHECK(pictures(runs).size() == 3 + 2 * 6);
  for (const Picture& p : pictures(runs)) CHECK(p.svg().starts_with("<svg"));
  CHECK(picture_svg(runs, "other/rms").find("layer 1") != std::string::npos);
  auto circles = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  CHECK(circles(picture_svg(std::vector{quiet_run(40)}, "rate")) == 40);  // few points are marked
  CHECK(circles(picture_svg(std::vector{quiet_run(41)}, "rate")) == 0);
  // Many records share a cell, which shows the largest: 1000 of them in 200 columns.
  auto svg = [&](std::size_t record) {
    runs[0] = quiet_run(1000);
    values(runs[0], "saturation")[record][0] = 0.875;
    return picture_svg(runs, "quiet/saturation");
  };
  CHECK(svg(0).find("largest of every 5 records") != std::string::npos);
  CHECK(svg(4) == svg(0));
  CHECK(svg(5) != svg(0));
}

}  // namespace test_report
