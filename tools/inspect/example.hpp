// What is inspected: a model and one example (tools/inspect/reading.hpp), whose loss can be recorded on a tape.
//
//   Tape tape({.replay = true});
//   Var loss = example.loss();       explicit: attention, norms and losses as their primitives
//   tape.backward(loss);
//
// The loss is the one of training, its mean over what is asked for. The model is in eval(): no dropout, so that two
// inspections agree.
#pragma once

#include "autograd/ops.hpp"
#include "tools/inspect/reading.hpp"

namespace glim {

class Example {
 public:
  explicit Example(const ExampleOptions& options);

  Var loss();  // records on the open tape
  Module& model() { return reading_->model(); }
  const Reading& reading() const { return *reading_; }

  // "transformer, trained (model)", "transformer, fresh (seed 1)".
  const std::string& title() const { return title_; }
  std::string heading() const;  // and ", label smoothing ε = 0.1", where the loss has it
  const std::vector<std::string>& source() const { return reading_->source; }          // (S)
  const std::vector<std::string>& target_in() const { return reading_->target_in; }    // (T)
  const std::vector<std::string>& target_out() const { return reading_->target_out; }  // (T)
  const std::vector<std::int64_t>& target_out_ids() const { return reading_->target_out_ids; }
  void change(const Changes& changes) { changes_ = changes; }  // the label smoothing stays
  const Changes& changes() const { return changes_; }          // loss() makes those of the forward

 private:
  std::unique_ptr<Reading> reading_;
  std::string title_;
  Changes changes_;
};

}  // namespace glim
