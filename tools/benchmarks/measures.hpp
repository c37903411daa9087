// The measurements of glim_bench.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/observe/op_times.hpp"
#include "tools/benchmarks/settings.hpp"

namespace glim::bench {

using Work = std::function<void()>;

// One training step: forward, label smoothing 0.1, backward, Adam; dropout 0.1, random tokens of
// full length. `recompute`: what backward runs again (models/transformer/transformer.hpp); ValueError for a
// decoder alone.
Work training_step(const Setting& s, Recompute recompute);
// Called in each step with the seconds of forward and backward, then with those of the optimizer.
struct StepProfile {
  std::function<void(const Tape& tape, const OpTimes& times, double seconds)> after_backward;
  std::function<void(Index weights, double seconds)> after_update;
};
void profiled_steps(const Setting& s, int steps, const StepProfile& profile);
// A table of a step's time by op, beside the least that products and memory allow (profile.cpp).
void print_profile(const Setting& s, int steps);
// The hash of all weights after `steps` steps (tools/kinds/fingerprint.hpp).
std::string weights_after(const Setting& s, int steps, Recompute recompute);

// One op forward and backward (NAME "forward only" ops say so), by name; ValueError if unknown.
Work one_op(const std::string& name);
std::vector<std::string> op_names();

// Decoding `batch` sources of 32 tokens to 32 tokens: greedy (beam 1) or beam search, with caches.
// The sizes of `s`, random weights, END never taken.
Work decoding(const Setting& s, Index batch, int beam);

}  // namespace glim::bench
