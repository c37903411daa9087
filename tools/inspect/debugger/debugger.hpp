// The commands of `glim step`, in the manner of gdb: a word, or the start of one, and what it is
// about. Each says what it did by lines of text. Their table is in debugger.cpp, what they do in
// commands.cpp.
//
// Errors: ValueError, IndexError, StateError and FileError whose text says what is wrong and what is near.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/inspect/debugger/session.hpp"

namespace glim::step {

class Debugger {
 public:
  // `interrupted` is asked while a command is at work: true, and the command stops where it is.
  Debugger(Session& session, std::function<void(const std::string&)> print,
           std::function<bool()> interrupted = {});

  // One line. False: leave.
  bool run(const std::string& line);
  // Where the pass stands, as it is shown after each stop.
  void show_place();
  // What may stand in place of `word`, before which stands `before` on the line.
  std::vector<std::string> completions(const std::string& before, const std::string& word) const;

 private:
  using Words = std::vector<std::string>;
  struct Command {
    const char *name, *alias, *usage, *summary;
    void (Debugger::*run)(const Words&);
  };
  static const std::vector<Command>& commands();
  const Command& command(const std::string& word) const;

  void next(const Words& words);
  void go_on(const Words& words);
  void set_break(const Words& words);
  void remove_break(const Words& words);
  void print_tensor(const Words& words);
  void stats(const Words& words);
  void formula(const Words& words);
  void saved(const Words& words);
  void where(const Words& words);
  void set(const Words& words);
  void up(const Words& words);
  void down(const Words& words);
  void diff(const Words& words);
  void list(const Words& words);
  void graph(const Words& words);
  void info(const Words& words);
  void write_out(const Words& words);
  void again(const Words& words);
  void help(const Words& words);
  void quit(const Words& words);

  void select_current();
  void move(int to, const std::vector<int>& others, const std::string& what);
  // To the K-th of these nodes, as `up K` and `down K` say; `none`: what a node without any is.
  void step_to(const Words& words, const std::vector<int>& nodes, const char* none,
               const char* what);
  void over_note();
  bool stopped();                                             // interrupted, which is then said
  static void at_most(const Words& words, std::size_t most);  // ValueError for more words
  // The nodes of words[at], "." when there is none; ValueError for more than `most`.
  std::vector<int> nodes(const Words& words, std::size_t at, std::size_t most = 12) const;
  void each(const Words& words, std::string (*text)(const Session&, int));
  struct Breakpoint {
    int id;
    std::string name;  // as given
    std::vector<int> nodes;
    int hits = 0;
  };
  bool hits();  // the current node has a breakpoint, which is then said
  void show_flows(const WalkStep& step);

  Session& session_;
  std::function<void(const std::string&)> print_;
  std::function<bool()> interrupted_;
  int selected_ = -1;
  bool leaving_ = false;
  std::vector<Breakpoint> breaks_;
  int next_break_ = 1;
};

}  // namespace glim::step
