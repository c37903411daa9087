#include "tools/study/training.hpp"

#include "tensor/error.hpp"
#include "tools/common/folder.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/study/study.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

struct LastValidation final : TrainObserver {
  explicit LastValidation(const TrainOptions& o) : steps(o.max_steps), epochs(o.epochs) {}
  void stepped(const StepReport& r) override {
    show_step(r.step, steps > 0 ? steps : epochs * r.batches);
  }
  void validated(const ValidationReport& r) override {
    valid = r.valid;
    curve.emplace_back(r.step, r.valid.nll);
  }
  Index steps, epochs;
  Measures valid;
  std::vector<std::pair<double, double>> curve;
};

}  // namespace

StudyRun train_for_study(TrainOptions options) {
  const TemporaryFolder folder;
  options.out = folder.path.string();
  check(options);
  StudyRun run;
  run.learner = make_learner(options);
  LastValidation observer(options);
  std::atomic<bool> never{false};
  try {
    Trainer trainer(options, *run.learner, options.to_toml());
    trainer.run({&observer}, never);
    run.valid = observer.valid;
    run.curve = observer.curve;
  } catch (const NonFiniteError&) {
    run.learner.reset();
    run.diverged = true;
  }
  return run;
}

}  // namespace glim
