// The tape of Python: `with glim.Tape() as tape:`, and its observers until it ends.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "autograd/observe/finite.hpp"
#include "autograd/observe/hook.hpp"
#include "autograd/observe/tape_table.hpp"
#include "tools/python/vars.hpp"
#if GLIM_PAGES
#include "tools/pass/changes.hpp"
#endif

namespace glim::python {

// A tape ends with its `with`. One that another thread or a call within it gives up is kept for ever.
class PyTape {
 public:
  struct Options {
    bool profile, check_finite, replay;
  };
  explicit PyTape(Options options) : options_(options) {}
  ~PyTape();
  static void end_those_of_call();
  void enter();
  // `failed`: by an exception, so that changes that were not used say nothing.
  void exit(bool failed);
  Tape& tape() const {
    if (!tape_) throw StateError("tape", "is not open: call it within `with glim.Tape() as tape:`");
    if (std::this_thread::get_id() != thread_)
      throw StateError("tape", "belongs to another thread");
    return *tape_;
  }
  // How many tapes it has been: a walk belongs to one of them. 0 while none is open.
  int entered() const { return tape_ ? entered_ : 0; }
  const OpTimes* times() const { return state().times ? &*state().times : nullptr; }
  // Null before the first watch(): a tape that nobody looks at tells nobody.
  const Watch* watched() const { return state().watch ? &*state().watch : nullptr; }
  Watch& watch() { return state().watch ? *state_->watch : state_->watch.emplace(tape()); }
  template <class Target>
  int hook(const Target& target, Hook::Function f) {
    Tape& on = tape();
    const int id = state_->next_hook;
    state_->hooks.emplace(id, std::make_unique<Hook>(on, target, std::move(f)));
    return state_->next_hook++;
  }
  void remove_hook(int id) {
    state().hooks.erase(id);
    std::erase_if(state().awaited, [&](const Awaited& a) { return a.hook == id; });
  }
  // Patterns of watch and hook, until a node matches.
  void await(std::string op, std::string pattern, int hook = -1) {
    state().awaited.push_back({std::move(op), std::move(pattern), hook});
  }
  // ValueError for a pattern that no node matches, with the nearest names.
  void require_matches() const;
  // f(tape) while backward runs: the tape may not end, Ctrl-C is an exception, other threads of Python run.
  template <class F>
  auto run(const F& f) {
    struct Running {
      int& count;
      explicit Running(int& c) : count(c) { ++count; }
      ~Running() { --count; }
    } running(running_);
    UntilCtrlC until;
    Tape& open = tape();
    Unlocked others;
    return f(open);
  }

#if GLIM_PAGES
  // Changes of the pass, which begins after it; then those that the backward has yet to make.
  void change(const Changes& changes);
  const Changes& inspected_changes();
  void require_changes_used() const;
#endif

 private:
  struct Awaited {
    std::string op, pattern;
    int hook;
  };
  // The observers of one tape.
  struct State {
    std::optional<OpTimes> times;
    std::optional<FiniteCheck> finite;
    std::optional<Watch> watch;
    std::map<int, std::unique_ptr<Hook>> hooks;
    std::vector<Awaited> awaited;
    int next_hook = 0;
#if GLIM_PAGES
    Changes changes;
    std::optional<ChangedForward> changed;
    bool inspected = false;
#endif
  };
  State& state() const {
    static_cast<void>(tape());
    return *state_;
  }
  void end() {
    state_.reset();
    tape_.reset();
  }

  Options options_;
  std::unique_ptr<Tape> tape_;
  std::unique_ptr<State> state_;
  std::thread::id thread_;
  int running_ = 0, calls_ = 0, entered_ = 0;
  static inline std::vector<PyTape*> open_;  // of all threads, by Python's lock
};

void bind_tape(nb::module_& m);
// Methods that show the tape or its pass: table, dot, derive, program; inspect, change and step (tape_pages.cpp).
void bind_pages(nb::class_<PyTape>& tape);

}  // namespace glim::python
