// Events planted into the series of a run are found; quiet series give none.
#include "tools/inspect/report/events.hpp"

#include <cmath>

#include "tests/tools/inspect/report/common.hpp"

namespace test_events {

using namespace glim;
using namespace glim::test;

namespace {

// The one event of a run.
RunEvent only_event(const TrainingRun& run) {
  std::vector<RunEvent> events = find_events(run);
  REQUIRE(events.size() == 1);
  return events[0];
}

}  // namespace

TEST_CASE("a quiet run gives no events, nor does one without records") {
  CHECK(find_events(quiet_run()).empty());
  CHECK(find_events(quiet_run(1)).empty());
  CHECK(find_events(TrainingRun{}).empty());
}

TEST_CASE("the edge is the first record within a tenth of the threshold") {
  TrainingRun run = quiet_run();
  run.recording.threshold = 38;
  run.recording.step_curvature.assign(60, 30);
  run.recording.step_curvature[0] = std::nan("");
  CHECK(find_events(run).empty());
  run.recording.step_curvature[41] = 34.5;
  run.recording.step_curvature[50] = 40;
  RunEvent e = only_event(run);
  CHECK(e.rule == "edge");
  CHECK(e.step == 420);
  CHECK(e.text.find("(34.5 of 38)") != std::string::npos);
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

TEST_CASE("noise of a small norm is no event") {
  for (double size : {1e-6, 1e-3}) {
    TrainingRun run = quiet_run();
    for (auto& record : values(run, "gradient_norm"))
      for (double& norm : record) norm *= size;
    values(run, "gradient_norm")[30][2] *= 8;
    CHECK(find_events(run).size() == (size < 1e-4 ? 0 : 1));
  }
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
  for (auto& record : values(run, "gradient_norm")) record[3] = 1e-4;
  e = only_event(run);
  CHECK(e.rule == "vanishing");
  CHECK(e.step == 10);
  CHECK(e.where == std::vector<std::string>{"d"});
  CHECK(e.value == 1e-4);

  run = quiet_run();
  for (auto& record : values(run, "gradient_norm")) record[5] = 0;
  e = only_event(run);
  CHECK(e.rule == "no-gradient");
  CHECK(e.where == std::vector<std::string>{"f"});
}

TEST_CASE("a gradient that falls below a thousandth of its own first values fades") {
  TrainingRun run = quiet_run();
  for (std::size_t i = 0; i < 60; ++i)  // all together: none vanishes beside the others
    for (double& g : values(run, "gradient_norm")[i])
      if (i >= 40) g *= 5e-4;
  RunEvent e = only_event(run);
  CHECK(e.rule == "fading");
  CHECK(e.step == 410);
  CHECK(e.last == 600);
  CHECK(e.where.size() == 6);
  CHECK(e.text.find("below 0.001 times its own first values") != std::string::npos);
}

TEST_CASE("a loss that stays above its best until the end, but not one that comes back") {
  TrainingRun run = quiet_run();
  for (std::size_t i = 40; i < 60; ++i) run.train.nll[i] = 1.25;  // no spike: below 1.3 times
  RunEvent e = only_event(run);
  CHECK(e.rule == "above-best");
  CHECK(e.quantity == "nll");
  CHECK(e.step == 430);  // the median of 5
  CHECK(e.last == 600);
  CHECK(e.value == 1.25);
  CHECK(e.text.find(
            "the training NLL no longer falls and stays above its best, 1.1 nats at step 400") !=
        std::string::npos);
  for (std::size_t i = 55; i < 60; ++i) run.train.nll[i] = 1.01;
  CHECK(find_events(run).empty());

  run = quiet_run();
  run.valid.step = {100, 200, 300, 400, 500};
  run.valid.nll = run.valid.kl = {2, 1.5, 1.6, 1.6, 1.6};
  e = only_event(run);
  CHECK(e.rule == "above-best");
  CHECK(e.step == 300);
  CHECK(e.quantity == "kl");
  CHECK(e.text.find("the validation KL, which the best model has least, no longer falls") !=
        std::string::npos);
  // The NLL rises with label smoothing while the KL, by which the best model is chosen, falls.
  run.valid.nll = {2, 1.5, 1.6, 1.6, 1.6};
  run.valid.kl = {2, 1.5, 1.49, 1.4, 1.3};
  CHECK(find_events(run).empty());
  run.valid.kl = {2, 1.5, 1.49, 1.6, 1.6};
  CHECK(find_events(run).empty());
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

}  // namespace test_events
