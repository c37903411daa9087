// warm-up: at which learning rates a Transformer needs it.
//
// Xiong et al. 2020 (arXiv 2002.04745), section 3.1: with Adam a post-norm Transformer fails without
// warm-up (8.45 BLEU against about 34 on IWSLT14), since gradients near the output are large at
// initialisation; a pre-norm one learns without.
//
// Here a grid of rate × warm-up × placement on the copy task: the rate rises linearly for 100 steps,
// or not at all, and falls as a cosine to the end. A guesser who knows the task's symbols and lengths but
// looks at no source has a loss of 9/11 ln 10 = 1.884 nats per token (the first word is always "1",
// and </s> is at a known place): a run has learned when it gets below half of that, 0.942.
#include <algorithm>
#include <cmath>

#include "tools/study/measures.hpp"
#include "tools/study/training.hpp"

namespace glim::warm_up {

bool alone_needs_warm_up(double without, double with, double other, double limit) {
  return !(without < limit) && with < limit && other < limit;
}

namespace {

const double kBlind = 9.0 / 11 * std::log(10.0);

TrainOptions run_options(std::uint64_t seed, bool small, double rate, Index warmup, bool post) {
  TrainOptions o;
  o.task = "copy";
  o.set("layers", small ? 1 : 6).set("d_model", 32);
  o.set("heads", 4).set("d_ff", 64).set("dropout", 0).set("norm", post ? "post" : "pre");
  o.label_smoothing = 0;
  o.max_steps = small ? 10 : 300;
  o.epochs = 1000;
  o.valid_every = o.max_steps;
  o.batch_tokens = 400;
  o.schedule = "cosine";
  o.rate = rate;
  o.warmup = small ? warmup / 20 : warmup;
  o.clip = 0;
  o.seed = static_cast<Index>(seed);
  return o;
}

}  // namespace

Measurement measure(std::uint64_t seed, bool small) {
  Measurement m;
  const auto rates = sizes<double>(small, {1e-3}, {1e-3, 2e-3, 4e-3, 8e-3});
  double needed_by_post = 0, needed_by_pre = 0;
  std::vector<double> learned(4, 0);
  for (double rate : rates) {
    // post without, post with, pre without, pre with warm-up
    std::vector<double> loss;
    for (bool post : {true, false})
      for (Index warmup : {0, 100}) {
        StudyRun run = train_for_study(run_options(seed, small, rate, warmup, post));
        loss.push_back(run.diverged ? kInf : run.valid.nll);
        m.curve("loss", std::string(post ? "post" : "pre") + "-norm" + (warmup ? ", warm-up" : ""),
                rate, loss.back());
      }
    for (std::size_t i = 0; i < 4; ++i) learned[i] += loss[i] < kBlind / 2;
    needed_by_post += alone_needs_warm_up(loss[0], loss[1], loss[2], kBlind / 2);
    needed_by_pre += alone_needs_warm_up(loss[2], loss[3], loss[0], kBlind / 2);
    m.curve("loss", "blind", rate, kBlind, CurveStyle::Reference);
  }
  m.values["post_needs"] = needed_by_post;
  m.values["pre_needs"] = needed_by_pre;
  m.values["post_without"] = learned[0];
  m.values["post_with"] = learned[1];
  m.values["pre_without"] = learned[2];
  m.values["pre_with"] = learned[3];
  return m;
}

}  // namespace glim::warm_up
