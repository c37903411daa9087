#include "tools/study/training.hpp"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include "tensor/error.hpp"
#include "tools/train/learners/kinds.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

struct TemporaryFolder {
  TemporaryFolder() {
    path = (std::filesystem::temp_directory_path() / "glim-study-XXXXXX").string();
    if (!::mkdtemp(path.data())) throw FileError(path, "cannot be made");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

struct LastValidation final : TrainObserver {
  void validated(const ValidationReport& r) override { valid = r.valid; }
  Measures valid;
};

}  // namespace

StudyRun train_for_study(TrainOptions options) {
  TemporaryFolder folder;
  options.out = folder.path;
  check(options);
  StudyRun run;
  run.learner = make_learner(options);
  LastValidation observer;
  std::atomic<bool> never{false};
  try {
    Trainer trainer(options, *run.learner, options.to_toml());
    trainer.run(observer, never);
    run.valid = observer.valid;
  } catch (const NonFiniteError&) {
    run.learner.reset();
    run.diverged = true;
  }
  return run;
}

}  // namespace glim
