#include "tools/common/picture.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/tokenizers/utf8.hpp"

namespace glim {
namespace {

constexpr double kFrom[] = {0, 0.05, 0.2, 0.4, 0.7};
constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
constexpr std::size_t kNarrowest = 2;

std::size_t shade_of(double p) {
  std::size_t level = 0;
  while (level + 1 < std::size(kFrom) && p >= kFrom[level + 1]) ++level;
  return level;
}

std::string right_aligned(const std::string& text, std::size_t width) {
  std::string cut = display_width(text) > width ? fit_columns(text, width) : text;
  return std::string(width - std::min(display_width(cut), width), ' ') + cut;
}

// The widest cells that fit: every column gets its token's width, but no more than a common bound.
std::size_t widest_cell(const std::vector<std::size_t>& widths, std::size_t room) {
  for (std::size_t bound = 12; bound > kNarrowest; --bound) {
    std::size_t sum = 0;
    for (std::size_t w : widths) sum += std::min(w, bound) + 1;
    if (sum <= room) return bound;
  }
  return kNarrowest;
}

}  // namespace

std::string matrix_picture(const std::vector<std::vector<double>>& values,
                           const std::vector<std::string>& row_heads,
                           const std::vector<std::string>& column_heads, int most) {
  std::size_t columns = static_cast<std::size_t>(std::max(most, 20)), head = 0;
  for (const std::string& h : row_heads) head = std::max(head, display_width(h));
  head = std::min(head, columns / 3);
  std::vector<std::size_t> width;
  for (const std::string& h : column_heads) width.push_back(std::max(display_width(h), kNarrowest));
  std::size_t room = columns - head - 2, bound = widest_cell(width, room), shown = 0, used = 0;
  for (; shown < width.size(); ++shown) {
    width[shown] = std::min(width[shown], bound);
    if (used + width[shown] + 1 > room) break;
    used += width[shown] + 1;
  }

  std::string text(head + 1, ' ');
  for (std::size_t j = 0; j < shown; ++j) text += ' ' + fit_columns(column_heads[j], width[j]);
  text += '\n';
  for (std::size_t i = 0; i < row_heads.size(); ++i) {
    std::string line = right_aligned(row_heads[i], head) + ' ';
    for (std::size_t j = 0; j < shown; ++j) {
      double p = i < values.size() && j < values[i].size() ? values[i][j] : 0;
      const char* shade = kShades[shade_of(p)];
      line += ' ';
      for (std::size_t c = 0; c < width[j]; ++c) line += shade;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  if (shown < width.size())
    text += fmt::format("({} more columns do not fit)\n", width.size() - shown);
  return text;
}

std::string shade_legend() {
  std::string text;
  for (std::size_t level = 1; level < std::size(kFrom); ++level)
    text += fmt::format("  {} {:.2f}", kShades[level], kFrom[level]);
  return text + " and more";
}

}  // namespace glim
