// A run that is stopped within an update, or within the validation after an epoch, is what it was before, and goes on
// to the same bits.
#include <filesystem>

#include "autograd/observe/hook.hpp"
#include "autograd/op_form.hpp"
#include "tests/catch.hpp"
#include "tests/tools/kinds/smallest.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/kinds/fingerprint.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/trainer.hpp"

namespace test_interrupted {

using namespace glim;
using test::smallest;

TrainOptions options(const std::string& out) {
  TrainOptions o = smallest("transformer", "copy");
  o.examples = 100;
  o.epochs = 2;
  o.set("dropout", 0.2);
  o.out = out;
  return o;
}

// A learner whose loss sets `stop` in the backward of update `within`.
struct Stopping final : Learner {
  explicit Stopping(std::unique_ptr<Learner> of) : Learner(of->options()), learner(std::move(of)) {}
  Module& model() override { return learner->model(); }
  std::map<std::string, std::string> description() const override { return learner->description(); }
  std::string fingerprint() const override { return learner->fingerprint(); }
  std::vector<std::string> summary() const override { return learner->summary(); }
  // A row is a batch of the other learner.
  std::vector<Rows> draw(Split split, Index epoch) const override {
    std::vector<Rows> batches;
    for (Index i = 0, count = learner->begin(split, epoch); i < count; ++i) batches.push_back({i});
    return batches;
  }
  Index row_targets(Split split, Index row) const override {
    return learner->size(split, row).targets;
  }
  Index probe_count(Split) const override { return kProbes; }
  TrainingSample sample(Index row) const override { return learner->samples(row).at(0); }
  MeasuredLoss rows_loss(Split split, const Rows& rows, Index step) override {
    if (op_form() == OpForm::Explicit)
      *stop = true;  // the step is run again, to find what is not finite
    MeasuredLoss y = learner->loss(split, rows.at(0), step);
    if (nan) y.sums.kl = std::numeric_limits<double>::quiet_NaN();
    if (Tape* tape = Tape::current(); tape && step + 1 == within)
      hook.emplace(*tape, y.loss, [this](const Var& g) {
        *stop = true;
        return g;
      });
    return y;
  }
  Var probe(Index i) override { return learner->probe(i); }
  std::vector<TrainingSample> samples(Index shard) const override {
    return learner->samples(shard);
  }
  Var sample_loss(Index shard, std::size_t i) override { return learner->sample_loss(shard, i); }
  double criterion(const Measures& m) const override { return learner->criterion(m); }
  std::optional<Trial> trial() override { return learner->trial(); }
  std::map<Index, Index> target_counts() const override { return learner->target_counts(); }
  std::vector<std::string> outputs() override { return learner->outputs(); }

  std::unique_ptr<Learner> learner;
  std::optional<Hook> hook;
  Index within = 0;
  bool nan = false;
  std::atomic<bool>* stop = nullptr;
};

TEST_CASE("a run that is stopped while it looks for what is not finite tells its observers",
          "[train]") {
  const test::TemporaryFile folder;
  std::filesystem::remove(folder.path());
  std::filesystem::create_directory(folder.path());
  const TrainOptions o = options(folder.path());
  std::atomic<bool> stop{false};
  Stopping learner(make_learner(o));
  learner.stop = &stop;
  learner.nan = true;
  struct Saves final : TrainObserver {
    int count = 0;
    void saved(const std::string&) override { ++count; }
  } saves;
  Trainer trainer(o, learner, o.to_toml());
  CHECK_FALSE(trainer.run({&saves}, stop));
  CHECK(saves.count == 1);
  CHECK_THROWS_AS(trainer.replay(0, {}), ValueError);
}

// Stops in the backward of update `within`, or after the last update of epoch `after`.
struct Stopped {
  bool done;
  TrainState state;
};
Stopped run(const TrainOptions& o, Stopping& learner, Trainer& trainer, Index within, Index after) {
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
  learner.within = within;
  learner.stop = &stop;
  const bool done = trainer.run({&observer}, stop);
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
  Stopping learner(make_learner(o));
  Trainer trainer(o, learner, o.to_toml());
  REQUIRE(run(o, learner, trainer, 0, 0).done);
  const std::string right = weights_hash(learner.model().named_parameters());
  const Index updates = trainer.state().step;
  REQUIRE(updates >= 4);

  const TrainOptions s = options(stopped_at.path());
  Stopping begun(make_learner(s));
  Trainer first(s, begun, s.to_toml());
  Stopped at = run(s, begun, first, 2, 0);
  CHECK_FALSE(at.done);
  CHECK(at.state.step == 1);  // the second was given up

  auto resumed = [&](Index within, Index after) {
    Checkpoint from = load_checkpoint(s.out + "/last.safetensors");
    Stopping again(make_learner(s, &from));
    Trainer next(s, again, std::move(from));
    Stopped stopped = run(s, again, next, within, after);
    return std::pair(stopped, weights_hash(again.model().named_parameters()));
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
