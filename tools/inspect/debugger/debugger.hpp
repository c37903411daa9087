// The commands of `glim step`, in the manner of gdb: a word or its beginning, and arguments. Each prints what
// it did. debugger.cpp has their table, commands.cpp what they do.
//
// Errors: ValueError, IndexError, StateError and FileError, naming the fault and the nearest valid names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/pass/pass.hpp"

namespace glim {
struct LetteredPass;
}
namespace glim::step {

inline constexpr std::size_t kLongestLine = 4096;

class Debugger {
 public:
  // `interrupted` is called while a command works; when it returns true, the command stops.
  Debugger(Pass& pass, std::function<void(const std::string&)> print,
           std::function<bool()> interrupted = {},
           std::function<std::unique_ptr<LetteredPass>()> lettered = {});

  // One line. False: leave.
  bool run(const std::string& line);
  // Prints where the pass is, as after each stop.
  void show_place();
  // Completions of `word`, which follows `before` on the line.
  std::vector<std::string> completions(const std::string& before, const std::string& word) const;

 private:
  using Words = std::vector<std::string>;
  struct Command {
    const char *name, *alias, *usage, *summary;
    void (Debugger::*run)(const Words&);  // or the text that it prints of each node:
    std::size_t most = kLongestLine;      // words behind the name; else the command counts them
    std::string (*text)(const Pass&, int) = nullptr;
  };
  static const std::vector<Command>& commands();
  const Command& command(const std::string& word) const;

  void next(const Words& words);
  void go_on(const Words& words);
  void back(const Words& words);
  void back_to_break(const Words& words);
  void set_break(const Words& words);
  void remove_break(const Words& words);
  void print_tensor(const Words& words);
  void set(const Words& words);
  void up(const Words& words);
  void down(const Words& words);
  void diff(const Words& words);
  void list(const Words& words);
  void why(const Words& words);
  void info(const Words& words);
  void write_out(const Words& words);
  void again(const Words& words);
  void help(const Words& words);
  void quit(const Words& words);

  void select_current();
  // Moves to the K-th of these nodes, for `up K` and `down K`; `none`: the message when there are none.
  void step_to(const Words& words, const std::vector<int>& nodes, const char* none,
               const char* what);
  void over_note();
  bool stopped();                                             // interrupted; prints that
  static void at_most(const Words& words, std::size_t most);  // ValueError for more words
  // The nodes of words[index], "." when there is none; ValueError for more than `most`.
  std::vector<int> nodes(const Words& words, std::size_t index, std::size_t most = 12) const;
  // nodes_named(); "." and "" are the node that is looked at.
  std::vector<int> nodes_of(const std::string& name) const;
  struct Breakpoint {
    int id;
    std::string name;  // as given
    std::vector<int> nodes;
    std::function<bool(const Tensor& gradient)> condition;  // none: always
    int hits = 0;
  };
  // This node, with this gradient, has a breakpoint, which is printed.
  bool hits(int node, const Tensor& gradient);
  bool hits_here();
  void show_flows(const PassNode& node);

  Pass& pass_;
  std::function<void(const std::string&)> print_;
  std::function<bool()> interrupted_;
  std::function<std::unique_ptr<LetteredPass>()>
      lettered_;  // for `list MODULE`; none: sizes are numbers
  int selected_ = -1;
  bool leaving_ = false;
  std::vector<Breakpoint> breaks_;
  int next_break_ = 1;
};

}  // namespace glim::step
