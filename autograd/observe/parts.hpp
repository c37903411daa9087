// The observers that a tape makes itself, each on first use. Internal to autograd.
#pragma once

#include "autograd/tape.hpp"

namespace glim {

template <class F>
void Engine::notify(Tape& tape, const F& f) {
  for (std::size_t k = 0; k < tape.observers_.size(); ++k) f(*tape.observers_[k]);
}

// Tape::watch: keeps values and gradients (watch.cpp).
class Watching final : public Observer {
 public:
  explicit Watching(Tape& tape) : tape_(tape) {}
  void add(std::string pattern) { patterns_.push_back(std::move(pattern)); }
  void add(int node, const Tensor& value);  // once
  const std::vector<Watched>& list() const { return list_; }

  void recorded(int node, const Tensor& value) override;
  void named(int node, const Tensor& value) override;
  void arrived(int node, const Var& dy) override;
  void nodes_removed(int size, bool keep) override;

 private:
  const Tape& tape_;
  std::vector<std::string> patterns_;
  std::vector<Watched> list_;
};

// Tape::hook: functions that see gradients on their way, and may change them (hooks.cpp).
class Hooks final : public Observer {
 public:
  explicit Hooks(Tape& tape) : tape_(tape) {}
  int add(int node, std::string pattern, Hook h);  // node -1: by pattern
  void remove(int id);

  Var change(int node, Var dy) override;
  void nodes_removed(int size, bool keep) override;

 private:
  struct Entry {
    int id, node;
    std::string pattern;
    Hook call;
  };
  const Tape& tape_;
  std::vector<Entry> entries_;
  int next_ = 0;
};

// TapeOptions::profile (profile.cpp).
class Profiler final : public Observer {
 public:
  explicit Profiler(Tape& tape) : tape_(tape) {}
  const Timing& of(int node) const;

  void op_started(double ago) override;
  void recorded(int node, const Tensor&) override;
  void rule_begins(int node) override;
  void rule_ended(int node) override;
  void nodes_removed(int size, bool) override;

 private:
  Timing& at(int node);
  const Tape& tape_;
  std::vector<Timing> times_;  // by node
  double start_ = 0;
};

// TapeOptions::check_finite (finite.cpp).
class FiniteCheck final : public Observer {
 public:
  explicit FiniteCheck(Tape& tape) : tape_(tape) {}
  void computed(const Formula& op, const Tensor& y) override;
  void arrived(int node, const Var& dy) override;
  bool sees_flows() const override { return true; }
  Tensor flow(const Flow& flow) override;

 private:
  const Tape& tape_;
};

}  // namespace glim
