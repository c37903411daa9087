// Manual pages, in roff's man macros.
#include <fmt/format.h>

#include "tools/cli/describe/describe.hpp"
#include "tools/cli/help.hpp"

namespace glim {
namespace {

std::string roff(const std::string& text) {
  std::string r;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) r += "\\&";
    if (c == '\\')
      r += "\\e";
    else if (c == '-')
      r += "\\-";
    else
      r += c;
    begins = c == '\n';
  }
  return r;
}

std::string heading(const Description& all, const std::string& name, const std::string& what) {
  return fmt::format(".TH \"{}\" 1 \"\" \"{} {}\" \"Glim\"\n.SH NAME\n{} \\- {}\n", roff(name),
                     all.about.name, all.about.version, roff(name), roff(what));
}

}  // namespace

std::string manual_page(const Description& all, const DescribedCommand& verb) {
  const Command& c = verb.command;
  std::string call = all.about.name + " " + c.name;
  std::string page = heading(all, all.about.name + "-" + c.name, c.help);
  page += ".SH SYNOPSIS\n.B " + roff(call) + "\n[\\fIOPTIONS\\fR]";
  for (const Option& o : c.options)
    if (o.argument) page += " " + roff(option_usage(o));
  page += "\n.SH OPTIONS\n";
  for (const OptionGroup& group : option_groups(c, true)) {
    if (!group.name.empty()) page += ".SS " + roff(group.name) + "\n";
    for (const Option* o : group.options) {
      page += ".TP\n\\fB" + roff(option_usage(*o)) + "\\fR\n" + roff(o->full_help()) + ".\n";
      if (!o->kinds.empty()) page += roff("Kinds: " + o->kinds + ".\n");
      if (auto d = verb.defaults.find(o->name); d != verb.defaults.end() && !d->second.empty())
        page += roff("Default: " + d->second + ".\n");
    }
  }
  if (!verb.recipes.empty()) {
    page += ".SH DEFAULTS BY TASK\n";
    for (const auto& r : verb.recipes)
      page +=
          ".TP\n" + roff("--kind " + r.kind + " --task " + r.task) + "\n" + roff(r.options) + "\n";
  }
  if (!c.footer.empty()) page += ".SH NOTES\n.nf\n" + roff(c.footer) + "\n.fi\n";
  return page + ".SH SEE ALSO\n.BR " + roff(all.about.name) + " (1)\n";
}

std::string manual_page(const Description& all) {
  std::string page = heading(all, all.about.name, "train, use, measure and check Transformers");
  page += ".SH SYNOPSIS\n.B " + all.about.name + "\n\\fIVERB\\fR [\\fIOPTIONS\\fR]\n";
  page += ".SH DESCRIPTION\n.nf\n" + roff(all.about.text) + ".fi\n.SH VERBS\n";
  std::string also;
  for (const DescribedCommand& v : all.verbs) {
    page += ".TP\n\\fB" + roff(v.command.name) + "\\fR\n" + roff(v.command.help) + "\n";
    also += (also.empty() ? "" : ",\n") +
            (".BR " + roff(all.about.name + "-" + v.command.name) + " (1)");
  }
  page +=
      ".SH ENVIRONMENT\n.TP\n\\fBOMP_NUM_THREADS\\fR\nnumber of threads; any number gives the same "
      "results\n.TP\n\\fBGLIM_ISA\\fR\ninstruction set of the kernels: baseline, avx2 or avx512\n"
      ".TP\n\\fBGLIM_GEMM\\fR\nwhich GEMM computes large products where --gemm does not say: "
      "builtin "
      "or openblas\n";
  page +=
      ".SH EXIT STATUS\n0 done; 1 an error, which standard error says in one line; 2 wrong usage; "
      "130 interrupted\n";
  return page + ".SH SEE ALSO\n" + also + "\n";
}

}  // namespace glim
