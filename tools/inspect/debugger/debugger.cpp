#include "tools/inspect/debugger/debugger.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/common/nearest.hpp"
#include "tools/inspect/debugger/show.hpp"
#include "tools/pass/node_names.hpp"

namespace glim::step {
namespace {

std::vector<std::string> split(const std::string& line) {
  const auto words = split_spaces(line);
  return {words.begin(), words.end()};
}

const char* kNames = R"(NAME is
  a path       decoder.layers.1.self_attn.scores, or the end of one: self_attn.scores, scores
  a pattern    *encoder*.probs     (* any run of characters, ? one)
  a number     #12
  .            the node that is looked at; also when NAME is left out
PART is
  [0,1], [:,2:4], [-1]   rows, columns and so on by number or range; :2   head 2 of attention
)";

}  // namespace

const std::vector<Debugger::Command>& Debugger::commands() {
  static const std::vector<Command> list{
      {"next", "n", "next [N]",
       "take one node and show what its op sends on; or N nodes, up to a breakpoint",
       &Debugger::next, 1},
      {"continue", "c", "continue", "go on to the next breakpoint, or the end", &Debugger::go_on,
       0},
      {"back", "reverse-next", "back [N]",
       "undo one node, or N: the pass is where it was, bit for bit", &Debugger::back, 1},
      {"reverse-continue", "rc", "reverse-continue",
       "go back to the last breakpoint before, or the loss", &Debugger::back_to_break, 0},
      {"break", "b", "break [NAME] [if CONDITION]",
       "stop before a node of this name, or any; CONDITION of its gradient: norm > X, norm < X, "
       "max > X, max < X (largest size), nan (or infinite), zero",
       &Debugger::set_break},
      {"delete", "", "delete [N]", "remove breakpoint N, or all", &Debugger::remove_break, 1},
      {"print", "p", "print [d] [NAME][PART]", "a value, or with d its gradient, or a part of it",
       &Debugger::print_tensor},
      {"stats", "", "stats [NAME]", "norm, minimum, maximum, mean and share of zeros", nullptr, 1,
       stats_text},
      {"formula", "f", "formula [NAME]", "the op's equation and those of its gradients", nullptr, 1,
       formula_text},
      {"saved", "", "saved [NAME]", "what the op saved for backward", nullptr, 1, saved_text},
      {"where", "w", "where [NAME]", "module, line of the forward pass, and how far the pass is",
       nullptr, 1, where_text},
      {"set", "", "set NAME[PART] zero|freeze|scale C",
       "change a gradient when the pass reaches it: zero sends zeros on, freeze sends nothing on",
       &Debugger::set},
      {"up", "", "up [K]", "look at the node's reader (the K-th), towards the loss", &Debugger::up,
       1},
      {"down", "", "down [K]", "look at the node's input (the K-th), towards the leaves",
       &Debugger::down, 1},
      {"diff", "", "diff [NAME] [N]",
       "compare gradient and op with difference quotients, N elements of each tensor (64)",
       &Debugger::diff, 2},
      {"list", "l", "list [NAME|MODULE]",
       "the nodes around it and the rule of its op, or a module written out", &Debugger::list, 1},
      {"graph", "g", "graph [NAME]", "its readers and inputs, and what flowed along each edge",
       nullptr, 1, graph_text},
      {"why", "", "why [NAME] [FILE.svg]",
       "the gradient as a sum over the ways it came: skips, value, query and key by head, "
       "feed-forward",
       &Debugger::why},
      {"info", "i", "info breakpoints|sets|nodes NAME", "breakpoints, changes, or nodes by name",
       &Debugger::info},
      {"export", "", "export FILE [NAME]",
       "the gradients of the parameters, or value and gradient of NAME, as safetensors",
       &Debugger::write_out, 2},
      {"run", "r restart", "run", "start again from the loss; breakpoints stay, changes do not",
       &Debugger::again, 0},
      {"help", "h", "help [COMMAND]", "this", &Debugger::help, 1},
      {"quit", "q", "quit", "leave", &Debugger::quit, 0},
  };
  return list;
}

Debugger::Debugger(Pass& pass, std::function<void(const std::string&)> print,
                   std::function<bool()> interrupted,
                   std::function<std::unique_ptr<LetteredPass>()> lettered)
    : pass_(pass),
      print_(std::move(print)),
      interrupted_(std::move(interrupted)),
      lettered_(std::move(lettered)),
      selected_(pass.current()) {}

const Debugger::Command& Debugger::command(const std::string& word) const {
  std::vector<const Command*> starting;
  std::vector<std::string> names;
  for (const Command& c : commands()) {
    const Words aliases = split(c.alias);
    if (word == c.name || std::find(aliases.begin(), aliases.end(), word) != aliases.end())
      return c;
    if (std::string_view(c.name).starts_with(word)) starting.push_back(&c);
    names.emplace_back(c.name);
  }
  if (starting.size() == 1) return *starting[0];
  if (starting.empty())
    throw ValueError(word, "no such command" + nearest_names(word, names) + "; `help` lists them");
  std::string list;
  for (const Command* c : starting) list += (list.empty() ? "" : ", ") + std::string(c->name);
  throw ValueError(word, "may mean " + list);
}

bool Debugger::run(const std::string& line) {
  if (line.size() > kLongestLine)
    throw ValueError("line", fmt::format("has {} characters; a command has {} at most", line.size(),
                                         kLongestLine));
  Words words = split(line);
  if (words.empty()) return true;
  const Command& c = command(words[0]);
  words[0] = c.name;
  at_most(words, c.most);
  if (c.text)
    for (int i : nodes(words, 1)) print_(c.text(pass_, i));
  else
    (this->*c.run)(words);
  return !leaving_;
}

std::vector<std::string> Debugger::completions(const std::string& before,
                                               const std::string& word) const {
  std::vector<std::string> all, found;
  Words words = split(before);
  if (words.empty()) {
    for (const Command& c : commands()) all.emplace_back(c.name);
  } else {
    std::string name, usage;
    try {
      const Command& c = command(words[0]);
      name = c.name, usage = c.usage;
    } catch (const Error&) {
      return {};
    }
    if (name == "help")
      for (const Command& c : commands()) all.emplace_back(c.name);
    else if (name == "info" && words.size() == 1)
      all = {"breakpoints", "nodes", "sets"};
    else if (name == "set" && words.size() == 2)
      all = {"zero", "freeze", "scale"};
    else if (usage.find("NAME") != usage.npos && !(name == "export" && words.size() == 1))
      all = all_paths(pass_);
  }
  for (std::string& a : all)
    if (a.starts_with(word)) found.push_back(std::move(a));
  return found;
}

void Debugger::at_most(const Words& words, std::size_t most) {
  if (words.size() > most + 1)
    throw ValueError(words[0], fmt::format("'{}' is one word too many; see `help {}`",
                                           words[most + 1], words[0]));
}

void Debugger::select_current() { selected_ = pass_.current(); }

void Debugger::show_place() {
  int i = pass_.current();
  if (i < 0)
    over_note();
  else
    print_("=> " + node_line(pass_, i) + "\n" + forward_line(pass_, i));
}

void Debugger::over_note() {
  int leaves = 0;
  for (int i = 0; i < pass_.size(); ++i)
    leaves += pass_[i].is_leaf() && pass_.state(i) == GradientState::Taken;
  print_(
      fmt::format("the pass is over: {} nodes taken, {} of them leaves, whose gradients are now "
                  "complete; `run` starts it again\n",
                  pass_.taken(), leaves));
}

std::vector<int> Debugger::nodes_of(const std::string& name) const {
  if (!name.empty() && name != ".") return nodes_named(pass_, name);
  if (selected_ < 0)
    throw ValueError("name", "the pass is over, so there is no current node: give a NAME");
  return {selected_};
}

std::vector<int> Debugger::nodes(const Words& words, std::size_t index, std::size_t most) const {
  auto found = nodes_of(index < words.size() ? words[index] : ".");
  if (found.size() > most)
    throw ValueError(words[0], fmt::format("{} matches {} nodes; at most {} are shown at once; "
                                           "`info nodes {}` lists them",
                                           words[index], found.size(), most, words[index]));
  return found;
}

void Debugger::help(const Words& words) {
  if (words.size() > 1) {
    const Command& c = command(words[1]);
    std::string alias = *c.alias ? fmt::format(" (short: {})", c.alias) : "";
    print_(fmt::format("{}{}\n  {}\n", c.usage, alias, c.summary));
    if (std::string_view(c.usage).find("NAME") != std::string_view::npos) print_(kNames);
    return;
  }
  for (const Command& c : commands())
    print_(fmt::format("  {:<34} {}{}\n", c.usage, c.summary,
                       *c.alias ? fmt::format(" ({})", c.alias) : ""));
  print_(
      "A command may be shortened while it stays unique. At a terminal an empty line repeats the "
      "last command,\nthe arrow keys bring back earlier ones, and Tab completes commands and "
      "paths. In a script (standard\ninput that is not a terminal) empty lines and lines that "
      "begin with # are skipped. An error goes to\nstandard error with the number of its line; "
      "the script continues, and its exit status is 1.\n");
  print_(kNames);
}

}  // namespace glim::step
