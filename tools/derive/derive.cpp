#include "tools/derive/derive.hpp"

#include "tensor/error.hpp"
#include "tools/derive/paper.hpp"

namespace glim {

void print_backward(Tape& tape, std::ostream& out, const BackwardLines& lines) {
  using namespace derive;
  const int last = static_cast<int>(tape.nodes().size()) - 1;
  if (last < 0 || tape.nodes()[static_cast<std::size_t>(last)].leaf)
    throw StateError("derive", "no op is on the tape");
  const bool rules = lines.level != "primitives";
  if (rules && lines.level != "rules" && lines.level != "paper")
    throw ValueError("derive",
                     "the level '" + lines.level + "' is none of rules, primitives and paper");
  Pass pass(tape, tape.value(last));
  while (pass.current() >= 0) pass.step();
  Sheet sheet = lines.level == "paper"
                    ? paper_of(pass, lines.module)
                    : sheet_of(Listing(rules ? forward_of(pass) : trace_of(pass), rules), {},
                               lines.module, rules);
  sheet.title = "backward of " + tape.path(last);
  add_notes_on_hooks(sheet, pass, rules);
  out << written_as(sheet, lines.format);
}

}  // namespace glim
