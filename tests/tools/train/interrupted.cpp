// A run that is stopped within an update, or within the validation after an epoch, is what it was before, and goes on
// to the same bits.
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tests/tools/train/smallest.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/trainer.hpp"
#include "tools/train/weights_hash.hpp"

namespace test_interrupted {

using namespace glim;
using test::smallest;

TrainOptions options(const std::string& out) {
  TrainOptions o = smallest("transformer", "copy");
  o.examples = 100;
  o.epochs = 2;
  o.dropout = 0.2;
  o.out = out;
  return o;
}

// Sets `stop` in the backward of update `within`, or after the last update of epoch `after`.
struct Stopped {
  bool done;
  TrainState state;
};
Stopped run(const TrainOptions& o, Learner& learner, Trainer& trainer, Index within, Index after) {
  std::atomic<bool> stop{false};
  struct Observer final : TrainObserver {
    std::atomic<bool>* stop;
    Index after;
    void stepped(const StepReport& r) override {
      if (r.epoch == after && r.batch == r.batches) *stop = true;
    }
  } observer;
  observer.stop = &stop;
  observer.after = after;
  const Var leaf = learner.model().named_parameters().back().second;
  Index updates = trainer.state().step;
  const int hook = leaf.hook([&](const Var& g) {
    if (++updates == within) stop = true;
    return g;
  });
  const bool done = trainer.run(observer, stop);
  leaf.remove_hook(hook);
  CHECK(load_checkpoint(o.out + "/last.safetensors").state.step == trainer.state().step);
  return {done, trainer.state()};
}

TEST_CASE("a run gives up the update under way, and resumes to the same bits", "[train]") {
  const test::TemporaryFile alone_at, stopped_at;  // names of folders
  for (const auto* file : {&alone_at, &stopped_at}) {
    std::filesystem::remove(file->path());
    std::filesystem::create_directory(file->path());
  }
  const TrainOptions o = options(alone_at.path());
  auto learner = make_learner(o);
  Trainer trainer(o, *learner, o.to_toml());
  REQUIRE(run(o, *learner, trainer, 0, 0).done);
  const std::string right = weights_hash(learner->model().named_parameters());
  const Index updates = trainer.state().step;
  REQUIRE(updates >= 4);

  const TrainOptions s = options(stopped_at.path());
  auto begun = make_learner(s);
  Trainer first(s, *begun, s.to_toml());
  Stopped at = run(s, *begun, first, 2, 0);
  CHECK_FALSE(at.done);
  CHECK(at.state.step == 1);  // the second was given up

  auto resumed = [&](Index within, Index after) {
    Checkpoint from = load_checkpoint(s.out + "/last.safetensors");
    auto again = make_learner(s, &from);
    Trainer next(s, *again, std::move(from));
    Stopped stopped = run(s, *again, next, within, after);
    return std::pair(stopped, weights_hash(again->model().named_parameters()));
  };
  at = resumed(0, 1).first;  // within the validation after the first epoch
  CHECK_FALSE(at.done);
  CHECK(at.state.step == updates / 2);
  CHECK(at.state.validations == 0);
  const auto [end, hash] = resumed(0, 0);
  CHECK(end.done);
  CHECK(end.state.step == updates);
  CHECK(end.state.validations == 2);
  CHECK(hash == right);
}

}  // namespace test_interrupted
