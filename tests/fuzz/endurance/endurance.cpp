// endurance [--minutes M] [--rounds N]
//
// Rounds of what a long day with Glim is made of: a training run with validation, checkpoints and recording, its
// resumption, decoding by beam search, a session of the debugger, a tape of a million nodes, a tape in a thread of its
// own. After the first rounds, in which caches fill, resident memory may not grow by more than 1 MB, and no file may be
// left open. Ends after M minutes or N rounds, 5 unless told. A run that ends before two rounds are compared has failed.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "autograd/op_form.hpp"
#include "models/pipeline/translator.hpp"
#include "tensor/clock.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/small_transformer.hpp"
#include "tools/inspect/debugger/debugger.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/train/recorder.hpp"
#include "tools/train/trainer.hpp"

namespace glim {
namespace {

namespace fs = std::filesystem;

constexpr double kMegabyte = 1 << 20;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kFrees = false;  // AddressSanitizer keeps what was freed
#else
constexpr bool kFrees = true;
#endif

double resident() {  // bytes
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

struct Folder {
  Folder() : path(fs::temp_directory_path() / fmt::format("glim-endurance-{}", getpid())) {}
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

void train_and_translate(const Folder& folder) {
  fs::remove_all(folder.path);
  TrainOptions o;
  o.task = "copy";
  o.examples = 60;
  o.set("layers", 2).set("heads", 2);
  o.set("d_model", 16);
  o.set("d_ff", 24);
  o.max_steps = 12;
  o.batch_sentences = 8;
  o.record = true;
  o.out = folder.path.string();
  fs::create_directories(folder.path);
  const std::atomic<bool> go_on{false};
  {
    auto learner = make_learner(o);
    Trainer trainer(o, *learner, o.to_toml());
    const auto recorder = recorder_of(trainer);
    trainer.run({recorder.get()}, go_on);
  }
  {
    const std::string last = (folder.path / "last.safetensors").string();
    Checkpoint from = load_checkpoint(last);
    o.max_steps = 16;
    auto learner = make_learner(o, &from);
    Trainer trainer(o, *learner, std::move(from));
    trainer.run({}, go_on);
  }
  Translator(o.out).translate({"3 4 5", "", "6 7 3 4"},
                              {.beam = 4, .n_best = 2, .alignments = true});
}

void debug() {
  SmallTransformer example(Tie::Decoder, 0);
  example.model->eval();
  Pass pass([&] {
    UseForm use(OpForm::Explicit);
    Var logits =
        reshape((*example.model)(ids({3, 4, 5, 6}, {1, 4}), ids({1, 3, 3}, {1, 3})), {3, 11});
    return mul(label_smoothing_loss(logits, ids({3, 3, 2}, {3}), 0.1, 0), 1.0 / 3);
  });
  std::size_t said = 0;
  step::Debugger debugger(pass, [&](const std::string& text) { said += text.size(); });
  for (const char* line : {"next 20", "print d", "why", "back 5", "stats", "list", "next",
                           "break if norm > 1", "continue", "reverse-continue", "info breakpoints",
                           "delete", "diff . 2", "set . scale 2", "next 10", "run", "continue"})
    debugger.run(line);
  if (said < 1000) throw StateError("endurance", "the debugger says little");
}

// x ← 1.000001 x, half a million times, and as many sums.
void long_tape() {
  Var x = Var::leaf(ones({2}));
  Tape tape;
  Var y = x;
  for (int i = 0; i < 500'000; ++i) y = y * 1.0000001 + 1e-9;
  tape.backward(sum(y));
  if (!(x.grad().at<float>({0}) > 0)) throw StateError("endurance", "no gradient came");
}

void long_tapes() {
  long_tape();
  std::thread(long_tape).join();
}

// The caches fill in the first half of the rounds; of minutes, in the first two or the first third.
int endure(double minutes, long rounds) {
  const bool timed = minutes > 0;
  const Folder folder;
  const double start = seconds_now();
  double least = 0, most = 0, settled = 0;
  std::ptrdiff_t files = 0;
  long round = 0, compared = 0;
  for (; timed ? seconds_now() - start < 60 * minutes : round < rounds; ++round) {
    train_and_translate(folder);
    debug();
    long_tapes();
    const double now = resident();
    const bool warm = timed ? round >= 3 && seconds_now() - start >= std::min(120.0, 20 * minutes)
                            : round + 1 >= rounds / 2;
    if (settled > 0) ++compared;
    if (!warm || settled == 0) {
      least = most = now;
      files = open_files();
      if (warm) settled = seconds_now();
    }
    least = std::min(least, now);
    most = std::max(most, now);
    if (round < 5 || round % 20 == 0)
      fmt::print("{:>6.0f} s  round {:>5}  {:.2f} MB resident, {} files open\n",
                 seconds_now() - start, round + 1, now / kMegabyte, open_files());
    std::fflush(stdout);
  }
  if (compared == 0) throw StateError("endurance", "ended before two rounds could be compared");
  const bool constant = !kFrees || most - least <= kMegabyte, closed = open_files() == files;
  fmt::print(
      "{} rounds in {:.0f} s: memory within {:.3f} MB for the last {:.0f} s, {} files more open\n",
      round, seconds_now() - start, (most - least) / kMegabyte, seconds_now() - settled,
      open_files() - files);
  fmt::print("{} passed, {} failed\n", constant + closed, !constant + !closed);
  return !(constant && closed);
}

}  // namespace
}  // namespace glim

int main(int argc, char** argv) try {
  double minutes = 0;
  long rounds = 5;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with('~')) continue;  // tags for Catch2, which tools/test gives every program
    if (i + 1 < argc && word == "--minutes") {
      minutes = std::strtod(argv[++i], nullptr);
    } else if (i + 1 < argc && word == "--rounds") {
      rounds = std::strtol(argv[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "usage: endurance [--minutes M] [--rounds N]\n");
      return 2;
    }
  }
  return glim::endure(minutes, rounds);
} catch (const std::exception& e) {
  fmt::print(stderr, "endurance: {}\n", e.what());
  return 1;
}
