// The table of a sheet's signs: those that its lines have, with what they mean.
#include <array>

#include "tools/common/ascii.hpp"
#include "tools/derive/fill.hpp"
#include "tools/derive/sheet.hpp"

namespace glim::derive {
namespace {

// A sign, its meaning, and the characters by which a line has it.
constexpr std::array<std::array<std::string_view, 3>, 15> kSigns{{
    {"dx", "∂L/∂x, the gradient of the loss, of x's shape", ""},
    {"a b", "the product of matrices", ""},
    {"xᵀ", "the last two axes swapped", "ᵀ"},
    {"x ⊙ y", "the product of elements", "⊙"},
    {"Σ_-1(x)", "the sum along the last axis (Σ_0: axis 0), which stays with extent 1", "Σ_"},
    {"Σ_rows(x)", "the sum along all axes but the last", "Σ_rows"},
    {"Σ(x)", "the sum of all elements", "Σ("},
    {"d(a b)", "the gradient of a b, which has no line", "= d("},
    {"x as (T, D)", "the same elements in another shape", " as ("},
    {"x at [0:D] of zeros", "zeros, but for x at these indices", " of zeros"},
    {"dx += y (1 of 2)", "the first of two parts of a gradient, where x is read twice", "+="},
    {"Q, K, V", "queries, keys and values: query, key and value of the module", "Q"},
    {"S", "scores", "dS"},
    {"A", "attention, the softmax of S: probs", "dA"},
    {"O", "outputs of the heads, A V: context", "dO"},
}};

}  // namespace

void add_signs(Sheet& sheet, const Letters& letters) {
  std::string lines, shapes;
  for (const Section& s : sheet.sections)
    for (const Row& r : s.rows) {
      lines += r.forward + "\n";
      shapes += r.shape + "\n";
      for (const std::string& b : r.backward) lines += b + "\n";
    }
  auto has = [](const std::string& text, std::string_view word) {  // between other characters
    auto letter = [](char c) { return is_letter(c) || c == '\''; };
    for (std::size_t i = 0; (i = text.find(word, i)) != std::string::npos; ++i) {
      const std::size_t end = i + word.size();
      if (i > 0 && letter(text[i - 1])) continue;
      if (!letter(text[end]) && text[end] != '_' && text[end] != '.') return true;
    }
    return false;
  };
  for (const auto& [sign, means, in] : kSigns) {
    const bool word = !in.empty() && is_letter(in.back()) && in.size() < 3;
    if (word ? has(lines, in) : lines.find(in) != std::string::npos)
      sheet.signs.push_back({std::string(sign), std::string(means)});
  }
  if (shapes.find("(B") != std::string::npos)
    sheet.signs.push_back({"(B, …)", "a shape: B is sentences of a batch, here 1, and", true});
  for (const Extent& e : letters.extents) {
    sheet.extents.insert({e.letter, "B"});
    if (has(shapes, e.letter) || (e.letter.size() > 1 && has(lines, e.letter)))
      sheet.signs.push_back({e.letter, fill_in("{}, here {}", e.means, e.size), true});
  }
}

}  // namespace glim::derive
