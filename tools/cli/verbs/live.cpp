// glim live: what `glim inspect --live` writes, of a fresh model where none is named, opened in the browser. It shows the
// options that choose the model and the example, and takes those of inspect that change the pass or its files.
#include <set>

#include "tensor/system/process.hpp"
#include "tools/cli/verbs.hpp"

namespace glim {
namespace {

const std::set<std::string_view> kShown{"model", "sentence", "translation", "hide",
                                        "label", "image",    "out"};
// Options of inspect that print something in place of the page.
const std::set<std::string_view> kPrinting{"why",        "why-part",      "patch-node",
                                           "patch-from", "list-pictures", "json"};

template <class T>
T& field(Command& command, std::string_view option) {
  return *std::get<T*>(command.find(option)->field);
}

}  // namespace

Command live_command() {
  Command c = inspect_command();
  c.name = "live";
  c.help = "a page in the browser in which a model is changed, and every gradient with it";
  c.footer = "Options of `glim inspect` that change the pass or its files are taken, too.";
  std::erase_if(c.options, [](const Option& o) { return kPrinting.contains(o.name); });
  for (Option& o : c.options) o.hidden = !kShown.contains(o.name);
  c.find("model")->default_text = "a fresh one";
  field<bool>(c, "live") = true;
  field<std::string>(c, "out") = "live";
  c.run = [inspect = c.run](Command& command) {
    if (!command.given("model") && !command.given("run") && !command.given("fresh"))
      set_option(*command.find("fresh"), {"true"});
    // A page in the folder that nobody named is replaced by the next one.
    if (!command.given("out")) field<bool>(command, "overwrite") = true;
    inspect(command);
    if (!open_in_browser(field<std::string>(command, "out") + "/inspect.html"))
      say("It is not opened here: no screen, or no browser, was found.");
  };
  return c;
}

}  // namespace glim
