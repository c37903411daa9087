#include "tools/live/training.hpp"

#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/common/folder.hpp"
#include "tools/inspect/request.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

struct Run {
  TrainOptions options;
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Trainer> trainer;
};

class Some final : public TrainObserver {
 public:
  Some(int updates, std::atomic<bool>& stop) : left_(updates), stop_(stop) {}
  void stepped(const StepReport& r) override {
    const Measures mean = r.sums.per_target();
    steps.push_back({r.step, mean.kl, r.gradient_norm, r.rate});
    if (--left_ <= 0) stop_ = true;
  }
  void validated(const ValidationReport& r) override {
    if (r.trial) tried.push_back({r.step, r.trial->exact});
  }
  nlohmann::json steps = nlohmann::json::array(), tried = nlohmann::json::array();

 private:
  int left_;
  std::atomic<bool>& stop_;
};

}  // namespace

nlohmann::json train_in_page(const nlohmann::json& request) {
  static std::unique_ptr<Run> run;
  if (const nlohmann::json& options = request.at("train"); !options.is_null()) {
    auto begun = std::make_unique<Run>();
    begun->options = fresh_options(options);
    begun->options.out = "run";
    make_folder(begun->options.out);
    begun->learner = make_learner(begun->options);
    begun->trainer = std::make_unique<Trainer>(begun->options, *begun->learner, "");
    run = std::move(begun);
  }
  if (!run) throw StateError("train", "no run has begun");
  std::atomic<bool> stop = false;
  Some some(request.at("updates").get<int>(), stop);
  const bool over = run->trainer->run({&some}, stop);
  return {{"steps", some.steps}, {"tried", some.tried}, {"over", over}};
}

}  // namespace glim
