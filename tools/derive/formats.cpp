// A sheet as text, Markdown, LaTeX and HTML.
#include <algorithm>
#include <fmt/format.h>

#include "tools/common/utf8.hpp"
#include "tools/derive/sheet.hpp"

namespace glim::derive {
namespace {

constexpr std::size_t kMostColumns = 72;  // of the left column of a terminal

// Cut at blanks, further lines by four columns in.
std::vector<std::string> wrapped(std::string text, std::size_t columns) {
  std::vector<std::string> lines;
  while (static_cast<std::size_t>(display_width(text)) > columns) {
    std::size_t at = std::string::npos;
    for (std::size_t blank = text.find(' ', 5); blank != std::string::npos;
         blank = text.find(' ', blank + 1))
      if (static_cast<std::size_t>(display_width(text.substr(0, blank))) <= columns) at = blank;
    if (at == std::string::npos) break;
    lines.push_back(text.substr(0, at));
    text = "    " + text.substr(at + 1);
  }
  lines.push_back(text);
  return lines;
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t width = static_cast<std::size_t>(display_width(text));
  return text + std::string(columns > width ? columns - width : 0, ' ');
}

}  // namespace

std::string text_of(const Sheet& sheet) {
  std::string out = sheet.title + "\n";
  for (const std::string& note : sheet.notes) out += note + "\n";
  std::size_t width = 30;
  for (const Section& s : sheet.sections)
    for (const Row& r : s.rows)
      width = std::max(
          width,
          std::min<std::size_t>(kMostColumns, static_cast<std::size_t>(display_width(r.forward))));
  for (const Section& s : sheet.sections) {
    out += "\n" + padded(s.heading, width) + "   backward, from the last line up\n";
    for (const Row& r : s.rows) {
      std::vector<std::string> left = wrapped((r.value == sheet.marked ? "=> " : "") + r.forward,
                                              width),
                               right;
      left.push_back("    " + r.shape + (r.where.empty() ? "" : "  " + r.where));
      for (const std::string& b : r.backward)
        for (const std::string& line : wrapped(b, kMostColumns)) right.push_back(line);
      for (std::size_t k = 0; k < std::max(left.size(), right.size()); ++k) {
        std::string line = padded(k < left.size() ? left[k] : "", width) + " │ " +
                           (k < right.size() ? right[k] : "");
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
      }
    }
  }
  return out;
}

namespace {

// An equation in pieces. A word is the name of a value, a function before "(", or prose.
struct Piece {
  enum Kind { Name, Function, Prose, Number, Symbol } kind;
  std::string text;
};

std::vector<Piece> pieces_of(const std::string& equation, const Sheet& sheet) {
  std::vector<Piece> all;
  auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  for (std::size_t i = 0; i < equation.size();) {
    const char c = equation[i];
    std::size_t end = i + 1;
    if (std::isalpha(static_cast<unsigned char>(c))) {
      while (end < equation.size() && letter(equation[end])) ++end;
      while (equation[end - 1] == '.') --end;
      const std::string word = equation.substr(i, end - i);
      const bool name =
          sheet.names.contains(word) || (word[0] == 'd' && sheet.names.contains(word.substr(1)));
      const bool call = end < equation.size() && (equation[end] == '(' || equation[end] == '_');
      all.push_back({name || word.size() == 1 ? Piece::Name
                     : call                   ? Piece::Function
                                              : Piece::Prose,
                     word});
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      while (end < equation.size() &&
             (letter(equation[end]) || (equation[end] == '-' && equation[end - 1] == 'e')))
        ++end;
      all.push_back({Piece::Number, equation.substr(i, end - i)});
    } else {
      while (end < equation.size() && (equation[end] & 0xC0) == 0x80) ++end;
      all.push_back({Piece::Symbol, equation.substr(i, end - i)});
    }
    i = end;
  }
  return all;
}

struct Sign {
  std::string_view text, latex;
};
constexpr Sign kSigns[] = {{"ᵀ", "^{\\top}"},   {"Σ", "\\textstyle\\sum "},
                           {"√", "\\surd "},    {"⊙", "\\odot "},
                           {"γ", "\\gamma "},   {"β", "\\beta "},
                           {"μ", "\\mu "},      {"σ", "\\sigma "},
                           {"ε", "\\epsilon "}, {"φ", "\\varphi "},
                           {"Φ", "\\Phi "},     {"π", "\\pi "},
                           {"θ", "\\theta "},   {"ρ", "\\rho "},
                           {"²", "^2"},         {"³", "^3"},
                           {"…", "\\dots "},    {"·", "\\cdot "},
                           {"̂", "\\hat{}"},     {"'", "'"},
                           {"#", "\\#"},        {"%", "\\%"},
                           {"&", "\\&"},        {" ", "\\;"},
                           {"|", "|"},          {"≤", "\\le "}};

std::string escaped(std::string text, const std::string& characters, const std::string& with) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (characters.find(text[i]) != std::string::npos) text.insert(i, with), i += with.size();
  return text;
}

std::string latex_of(const std::string& equation, const Sheet& sheet) {
  std::string out;
  bool below = false;  // after _
  for (const Piece& p : pieces_of(equation, sheet)) {
    std::string text;
    const bool gradient =
        p.text.size() > 1 && p.text[0] == 'd' && sheet.names.contains(p.text.substr(1));
    switch (p.kind) {
      case Piece::Name:
        text = p.text.size() == 1 ? p.text
               : gradient ? "\\mathrm{d}\\mathit{" + escaped(p.text.substr(1), "_", "\\") + "}"
                          : "\\mathit{" + escaped(p.text, "_", "\\") + "}";
        break;
      case Piece::Function:
        text = "\\mathrm{" + escaped(p.text, "_", "\\") + "}";
        break;
      case Piece::Prose:
        text = "\\text{" + escaped(p.text, "_", "\\") + "}";
        break;
      case Piece::Number:
        text = p.text;
        break;
      case Piece::Symbol:
        text = p.text;
        for (const Sign& s : kSigns)
          if (s.text == p.text) text = s.latex;
    }
    if (p.text == "_") {
      below = true;
      out += "_";
      continue;
    }
    out += below && p.text != "{" ? "{" + text + "}" : text;
    below = below && p.text == "-";
  }
  return out;
}

std::string mathml_of(const std::string& equation, const Sheet& sheet) {
  std::string out = "<math><mrow>";
  std::string last;
  bool below = false;
  auto escape = [](const std::string& t) {
    return t == "<" ? "&lt;" : t == ">" ? "&gt;" : t == "&" ? "&amp;" : t;
  };
  auto put = [&](const std::string& element) {
    out += last;
    last = element;
  };
  for (const Piece& p : pieces_of(equation, sheet)) {
    if (p.text == "_") {
      below = true;
    } else if (p.text == "ᵀ" || p.text == "²" || p.text == "³") {
      last = "<msup>" + last +
             (p.text == "ᵀ"   ? "<mo>⊤</mo>"
              : p.text == "²" ? "<mn>2</mn>"
                              : "<mn>3</mn>") +
             "</msup>";
    } else if (below && p.text != "-") {
      last = "<msub>" + last + "<mi>" + p.text + "</mi></msub>";
      below = false;
    } else if (p.text == " ") {
      put("<mspace width='.25em'/>");
    } else if (p.kind == Piece::Symbol) {
      put("<mo>" + escape(p.text) + "</mo>");
    } else if (p.kind == Piece::Number) {
      put("<mn>" + p.text + "</mn>");
    } else if (p.kind == Piece::Prose) {
      put("<mtext>" + p.text + "</mtext>");
    } else {
      put("<mi>" + p.text + "</mi>");
    }
  }
  return out + last + "</mrow></math>";
}

constexpr std::string_view kLatexHead = R"(\documentclass[a4paper,landscape,9pt]{extarticle}
\usepackage[margin=15mm]{geometry}
\usepackage{amsmath,amssymb}
\usepackage[utf8]{inputenc}
\allowdisplaybreaks
\begin{document}
)";

constexpr std::string_view kHtmlHead = R"(<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; --soft: light-dark(#666, #aaa); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 90rem; margin: 1rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .3rem .8rem .3rem 0; vertical-align: top; width: 50%; overflow-x: auto; }
small { color: var(--soft); display: block; }
math { display: block; text-align: left; }
h2 { font-size: 1.05rem; margin: 1.4rem 0 .3rem; }
@media (max-width: 700px) { table, tbody, tr, td { display: block; width: auto; } td + td { border: 0; padding-left: 1.5rem; } }
@media print { tr { break-inside: avoid; } body { font-size: 9pt; } }
</style>
)";

}  // namespace

std::string markdown_of(const Sheet& sheet) {
  std::string out = "# " + sheet.title + "\n";
  for (const std::string& note : sheet.notes) out += "\n" + note + "\n";
  for (const Section& s : sheet.sections) {
    out += fmt::format("\n## `{}`\n\n| forward | backward |\n|---|---|\n", s.heading);
    for (const Row& r : s.rows) {
      out += fmt::format("| ${}$<br>{} {} |", latex_of(r.forward, sheet), r.shape, r.where);
      for (std::size_t k = 0; k < r.backward.size(); ++k)
        out += fmt::format("{}${}$", k ? "<br>" : " ", latex_of(r.backward[k], sheet));
      out += " |\n";
    }
  }
  return out;
}

std::string latex_of(const Sheet& sheet) {
  std::string out(kLatexHead);
  out += "\\section*{" + escaped(sheet.title, "_#%&", "\\") + "}\n";
  for (const std::string& note : sheet.notes) out += escaped(note, "_#%&", "\\") + "\n\n";
  for (const Section& s : sheet.sections) {
    std::string heading = escaped(s.heading, "_", "\\");
    if (const std::size_t dots = heading.find("…"); dots != std::string::npos)
      heading.replace(dots, 3, "\\dots{}");
    out += "\\subsection*{\\texttt{" + heading + "}}\n\\begin{align*}\n";
    std::string rows;
    auto put = [&](const std::string& equation, const std::string& before,
                   const std::string& shape) {
      const std::size_t is = std::min(equation.find("= "), equation.find("+= "));
      rows += (rows.empty() ? "" : " \\\\\n") + before;
      rows += is == std::string::npos ? "&" + latex_of(equation, sheet)
                                      : latex_of(equation.substr(0, is), sheet) + "&" +
                                            latex_of(equation.substr(is), sheet);
      if (!shape.empty()) rows += " && " + latex_of(shape, sheet);
    };
    for (const Row& r : s.rows) {
      put(r.forward, "", r.shape);
      for (const std::string& b : r.backward) put(b, "\\leftarrow\\quad ", "");
    }
    out += rows + "\n\\end{align*}\n";
  }
  return out + "\\end{document}\n";
}

std::string html_of(const Sheet& sheet) {
  std::string out(kHtmlHead);
  out += fmt::format("<title>{0}</title>\n<h1>{0}</h1>\n", sheet.title);
  for (const std::string& note : sheet.notes) out += "<p>" + note + "</p>\n";
  for (const Section& s : sheet.sections) {
    out += fmt::format("<h2>{}</h2>\n<table>\n", s.heading);
    for (const Row& r : s.rows) {
      out += "<tr><td>" + mathml_of(r.forward, sheet) +
             fmt::format("<small>{} {}</small><td>", r.shape, r.where);
      for (const std::string& b : r.backward) out += mathml_of(b, sheet);
      out += "\n";
    }
    out += "</table>\n";
  }
  return out + "</html>\n";
}

}  // namespace glim::derive
