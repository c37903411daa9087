#include "tools/train/same_run.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "tensor/error.hpp"
#include "tensor/io/input_file.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/system/process.hpp"
#include "tools/common/counted.hpp"
#include "tools/kinds/fingerprint.hpp"

namespace glim {
namespace {

void mix_file(Fingerprint& f, const std::string& path) {
  constexpr std::uint64_t kBlock = 1 << 20;
  const InputFile in(path);
  for (std::uint64_t offset = 0; offset < in.size(); offset += kBlock)
    f.mix_all(in.read_text(offset, std::min(kBlock, in.size() - offset)));
}

struct Compared {
  const char* what;
  std::uint64_t hash;
};

void require_same(const Processes& processes, FunctionRef<std::vector<Compared>()> of_this) {
  if (processes.size() == 1) return;
  std::vector<Compared> items;
  processes.together([&] { items = of_this(); });
  std::vector<std::uint64_t> hashes;
  for (const Compared& c : items) hashes.push_back(c.hash);
  const std::vector<std::uint64_t> all = processes.gather(hashes);
  processes.together([&] {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (const std::size_t k = i % hashes.size(); all[i] != all[k])
        throw ValueError("processes", fmt::format("process {} has {} than process 0",
                                                  i / hashes.size(), items[k].what));
  });
}

}  // namespace

void require_shares(const Processes& processes, const TrainOptions& o) {
  if (o.shards % processes.size() == 0) return;
  throw ValueError(
      "--shards",
      fmt::format("{} of a batch cannot be shared by {} processes: it must be a multiple of them",
                  counted(o.shards, "part"), processes.size()));
}

void require_same_options(const Processes& processes, const TrainOptions& o, bool distils) {
  require_same(processes, [&]() -> std::vector<Compared> {
    Fingerprint program, options, files;
    mix_file(program, program_path());
    program.mix_all(std::string(name_of(gemm_engine())));
    program.mix_all(std::string(name_of(float32_matmul_precision())));
    options.mix_all(o.to_json());
    TrainOptions copy = o;
    for (const Row& row : copy.rows()) {
      std::error_code ignored;
      const auto* path = std::get_if<std::string*>(&row.field);
      if (path && std::filesystem::is_regular_file(**path, ignored)) mix_file(files, **path);
    }
    if (distils && !o.teacher.empty()) mix_file(files, model_file(o.teacher));
    return {{"another program, or other --gemm or --matmul-precision,", program.value()},
            {"other options", options.value()},
            {"other input files", files.value()}};
  });
}

void require_same_weights(const Processes& processes, Learner& learner, const TrainState& state) {
  require_same(processes, [&]() -> std::vector<Compared> {
    Fingerprint model;
    model.mix_all(learner.fingerprint() + state.to_json() +
                  weights_hash(learner.model().named_parameters()));
    return {{"other training data or weights", model.value()}};
  });
}

}  // namespace glim
