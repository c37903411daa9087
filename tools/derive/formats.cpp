// A sheet as text, LaTeX, HTML and Markdown.
#include <algorithm>
#include <limits>
#include <utility>

#include "tensor/error.hpp"
#include "tools/common/ascii.hpp"
#include "tools/common/escape.hpp"
#include "tools/derive/fill.hpp"
#include "tools/derive/sheet.hpp"

namespace glim::derive {
namespace {

constexpr std::size_t kMostColumns = 72;  // of the left column of a terminal
constexpr std::size_t kMostNote = 120;    // of a note there
constexpr std::size_t kMostMath = 100;    // of an equation in LaTeX
constexpr std::size_t kMostSlide = 60;    // of one on a slide
constexpr std::size_t kMostColumn = 40;   // of one in a column of a paper
constexpr std::string_view kHat = "\u0302";

// In columns: of code points, but for the hat of x̂.
std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    columns += (text[i] & 0xC0) != 0x80 && !text.substr(i).starts_with(kHat);
  return columns;
}

// Cut at blanks, further lines by four columns in. With `groups`: in the latter half of a line where the fewest brackets
// are open, so that (0, 2, 1, 3) stays whole.
std::vector<std::string> wrapped(std::string text, std::size_t columns, bool groups = false) {
  std::vector<std::string> lines;
  while (display_width(text) > columns) {
    std::size_t position = std::string::npos;
    int open = 0, fewest = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '[') ++open;
      if (text[i] == ')' || text[i] == ']') --open;
      if (text[i] != ' ' || i < 5 || display_width(text.substr(0, i)) > columns) continue;
      if (groups && position != std::string::npos && open > fewest) continue;
      position = i;
      if (display_width(text.substr(0, i)) >= columns / 2) fewest = open;
    }
    if (position == std::string::npos) break;
    lines.push_back(text.substr(0, position));
    text = "    " + text.substr(position + 1);
  }
  lines.push_back(text);
  return lines;
}

// Two equations on a line, ",  " between them, as one line each where they are too long for a column.
std::vector<std::string> equations_in(const std::string& line) {
  const std::size_t comma = line.find(",  ");
  if (display_width(line) <= kMostColumn || comma == std::string::npos) return {line};
  std::vector<std::string> all = equations_in(line.substr(comma + 3));
  all.insert(all.begin(), line.substr(0, comma));
  return all;
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t width = display_width(text);
  return text + std::string(columns > width ? columns - width : 0, ' ');
}

// Prose. LaTeX has the signs in formulas alone.
std::string escaped(std::string_view text, Format format) {
  if (format == kHtml) return in_xml(text);
  if (format == kMarkdown) return in_markdown(text);
  std::string out;
  const std::string prose = in_latex(text);
  for (std::size_t i = 0, end; i < prose.size(); i = end) {
    for (end = i + 1; end < prose.size() && (prose[end] & 0xC0) == 0x80;) ++end;
    const std::string_view sign = std::string_view(prose).substr(i, end - i);
    const std::string_view spelled = end > i + 1 ? spelling(sign, format) : "";
    out += spelled.empty() ? std::string(sign) : fill_in("${}$", spelled);
  }
  return out;
}

// The pieces of an equation, each by its kind. A word is the name of a value, a function before "(", or prose.
class Equation {
 public:
  Equation(const Sheet& sheet, Format format) : sheet_(sheet), format_(format) {}

  std::string of(std::string_view equation) {
    return fill_in(spelling("equation", format_), pieces(equation));
  }
  std::string within_text(std::string_view text, bool shape) {
    return fill_in(spelling("shape", format_), pieces(text, shape));
  }

 private:
  // `depth` counts the open brackets of sizes. Within them S and V are sizes, not matrices.
  std::string pieces(std::string_view equation, int depth = 0) {
    done_.clear(), last_.clear();
    depth_ = depth;
    bool sizes = depth > 0;
    for (rest_ = equation; !rest_.empty();) {
      const char c = rest_[0];
      if (rest_.starts_with(" as (")) sizes = true;
      if (c == '[' || (c == '(' && sizes)) ++depth_;
      if (c == ']' || (c == ')' && depth_ > 0)) sizes = --depth_ > 0;
      if (is_letter(c))
        word(cut([paper = sheet_.paper](char x) {
          return is_letter_or_digit(x) || x == '_' || x == '.' || x == '\'' || (paper && x == '^');
        }));
      else if (is_digit(c))
        number(cut([last = ' '](char x) mutable {  // 1e-05 is one
          const bool exponent = std::exchange(last, x) == 'e';
          return is_letter_or_digit(x) || x == '.' || (x == '-' && exponent);
        }));
      else if (c == '_' && rest_.size() > 1)
        attach("sub", cut([](char x) {
                        return is_letter_or_digit(x) || x == '-' || x == ',' || x == '_';
                      }).substr(1));
      else if (c == ' ')
        put("space", cut([](char) { return false; }));
      else
        sign(cut([plus = c == '+'](char x) { return (x & 0xC0) == 0x80 || (plus && x == '='); }));
    }
    return done_ + last_;
  }
  // The first character, and those after it that belong to it.
  template <class Belongs>
  std::string_view cut(Belongs belongs) {
    std::size_t end = 1;
    while (end < rest_.size() && belongs(rest_[end])) ++end;
    while (end > 1 && rest_[end - 1] == '.') --end;
    const std::string_view piece = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return piece;
  }
  void put(const char* kind, std::string_view text) {
    done_ += std::exchange(last_, fill_in(spelling(kind, format_), text));
  }
  void attach(const char* kind, std::string_view text) {  // to the piece before
    last_ = fill_in(spelling(kind, format_), last_, text);
  }
  void number(std::string_view text) {  // or "3D"
    put(sheet_.extents.contains(std::string(text.substr(text.size() - 1))) ? "extent" : "number",
        text);
  }
  void word(std::string_view text) {
    auto known = [&](std::string_view name) { return sheet_.names.contains(std::string(name)); };
    const bool gradient = text.size() > 1 && text[0] == 'd' &&
                          (known(text.substr(1)) || text.size() == 2) && !known(text),
               extent = sheet_.extents.contains(std::string(text)) &&
                        (depth_ > 0 || text.size() > 1 || !known(text));
    if (gradient) text.remove_prefix(1);
    if (sheet_.paper && (gradient || known(text))) return indexed(text, gradient);
    const char* kind = extent                    ? "extent"
                       : text.size() == 1        ? "letter"
                       : gradient || known(text) ? "name"
                       : rest_.starts_with('(')  ? "function"
                                                 : "prose";
    if (rest_.starts_with(kHat)) kind = "hat", rest_.remove_prefix(kHat.size());
    put(kind, escaped(text, format_ == kMarkdown ? kLatex : format_));
    if (gradient) last_ = fill_in(spelling("gradient", format_), last_);
  }
  // W_Q^h, or dW_Q^h.
  void indexed(std::string_view text, bool gradient) {
    const std::size_t sup = std::min(text.find('^'), text.size()),
                      sub = std::min(text.find('_'), sup);
    const char* kind = rest_.starts_with(kHat) ? "hat" : "letter";
    if (rest_.starts_with(kHat)) rest_.remove_prefix(kHat.size());
    put(kind, text.substr(0, sub));
    if (sub < text.size())
      last_ = fill_in(spelling("indexed", format_), last_,
                      sub < sup ? text.substr(sub + 1, sup - sub - 1) : "",
                      sup < text.size() ? text.substr(sup + 1) : "");
    if (gradient) last_ = fill_in(spelling("differential", format_), last_);
  }
  void sign(std::string_view text) {
    const std::string_view spelled = spelling(text, format_);
    if (spelled.starts_with('^'))
      attach("sup", spelled.substr(1));
    else
      put("symbol", spelled.empty() ? text : spelled);
  }

  const Sheet& sheet_;
  Format format_;
  std::string_view rest_;
  int depth_ = 0;
  std::string done_, last_;
};

}  // namespace

std::string text_of(const Sheet& sheet) {
  std::string out = visible(sheet.title) + "\n";
  for (const std::string& note : sheet.notes)
    for (const std::string& line : wrapped(note, kMostNote)) out += line + "\n";
  if (!sheet.signs.empty()) out += "\n";
  for (const Sign& s : sheet.signs) out += padded(s.sign, 22) + s.means + "\n";
  std::size_t width = 30;
  for (const Section& s : sheet.sections)
    for (const Row& r : s.rows)
      width = std::max(width, std::min(kMostColumns, display_width(r.forward)));
  for (const Section& s : sheet.sections) {
    if (!s.signs.empty()) out += "\n";
    for (const Sign& sign : s.signs) out += padded(sign.sign, 22) + sign.means + "\n";
    out += "\n" + padded(s.heading, width) + "   backward, from the last line up\n";
    for (const Row& r : s.rows) {
      const bool marked = std::ranges::find(r.nodes, sheet.marked) != r.nodes.end();
      std::vector<std::string> left = wrapped((marked ? "=> " : "") + r.forward, width), right;
      left.push_back("    " + r.shape + (r.where.empty() ? "" : "  " + r.where));
      for (const std::string& b : r.backward)
        for (const std::string& line : wrapped(b, kMostColumns)) right.push_back(line);
      left.resize(std::max(left.size(), right.size()));
      right.resize(left.size());
      for (std::size_t k = 0; k < left.size(); ++k) {
        std::string line = padded(left[k], width) + " │ " + right[k];
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
      }
    }
  }
  return out;
}

std::string document_of(const Sheet& sheet, Format format, bool bare) {
  Equation equation(sheet, format);
  const bool column = sheet.paper && format == kLatex;
  const std::size_t most = sheet.paper ? kMostColumn : bare ? kMostSlide : kMostMath;
  auto written = [&](const std::string& text) {
    if (format != kLatex) return equation.of(text);
    std::string aligned;  // at the first sign of equality
    for (const std::string& line : wrapped(text, most, true))
      aligned += (aligned.empty() ? "" : "\\\\\n&") + equation.of(line);
    return aligned.insert(std::min(aligned.find('='), aligned.find("\\mathrel")), "&");
  };
  auto part = [&](const char* key, const auto&... values) {
    return fill_in(spelling(key, format), values...);
  };
  auto signs = [&](const std::vector<Sign>& all) {
    std::string table = all.empty() ? "" : part(column ? "column" : "signs", "");
    for (const Sign& s : all) {
      std::string means = escaped(s.means, format);
      for (std::size_t i = 0; column && (i = means.find('.', i)) != std::string::npos;)
        means.insert(++i, "\\allowbreak{}");  // a path has no other place
      table += part("sign", equation.within_text(s.sign, s.extent), means);
    }
    return all.empty() ? table : table + part("endsigns", "");
  };
  const std::string title = escaped(sheet.title, format);
  std::string out;
  if (!bare) {
    out = format == kMarkdown ? part("title", title)
                              : fill_in(text_part(format == kHtml ? "html"
                                                  : sheet.paper   ? "paper"
                                                                  : "latex"),
                                        title, title);
    for (const std::string& note : sheet.notes) out += part("note", escaped(note, format));
    out += signs(sheet.signs);
  }
  for (const Section& s : sheet.sections) {
    out += bare ? "% " + s.heading + "\n" : part("section", escaped(s.heading, format));
    if (!bare) out += signs(s.signs);
    out += part("open", "");
    if (column) {  // forward, then backward in its order
      std::vector<std::string> lines;
      for (const Row& r : s.rows)
        lines.push_back(written(r.forward) + "\\quad " + equation.within_text(r.shape, true));
      for (auto r = s.rows.rbegin(); r != s.rows.rend(); ++r)
        for (const std::string& b : r->backward)
          for (const std::string& one : equations_in(b)) lines.push_back(written(one));
      for (const std::string& line : lines) out += line + (&line == &lines.back() ? "" : "\\\\\n");
      out += part("close", "");
      continue;
    }
    for (const Row& r : s.rows) {
      out += part(&r == &s.rows[0] ? "first" : "row", written(r.forward),
                  equation.within_text(r.shape, true), escaped(r.where, format));
      for (const std::string& b : r.backward)
        out += part(&b == &r.backward[0] ? "backward" : "next", written(b));
      out += part("end", "");
    }
    out += part("close", "");
  }
  return bare ? out : out + part("finish", "");
}

std::string written_as(const Sheet& sheet, const std::string& format) {
  if (format == "text") return text_of(sheet);
  if (format == "markdown") return document_of(sheet, kMarkdown);
  if (format == "latex" || format == "align") return document_of(sheet, kLatex, format == "align");
  if (format == "html") return document_of(sheet, kHtml);
  throw ValueError("derive",
                   "the format '" + format + "' is none of text, markdown, latex, align and html");
}

}  // namespace glim::derive
