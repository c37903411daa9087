#include "tools/common/nearest.hpp"

#include <algorithm>

#include "autograd/scope.hpp"
#include "tensor/error.hpp"
#include "tools/common/ascii.hpp"

namespace glim {

std::size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = lower(first), b = lower(second);
  // Three rows of the table of distances between beginnings of a and of b.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_names(std::string_view name, const std::vector<std::string>& known) {
  struct Candidate {
    int like;  // 0: begins with it, 1: contains it
    std::size_t distance;
    const std::string* name;
  };
  std::vector<Candidate> list;
  const std::string word = lower(name);
  for (const std::string& k : known)
    list.push_back({word.empty() || lower(k).find(word) == std::string::npos ? 2
                    : lower(k).starts_with(word)                             ? 0
                                                                             : 1,
                    edit_distance(name, k), &k});
  auto better = [](const Candidate& a, const Candidate& b) {
    if (a.like != b.like) return a.like < b.like;
    if (a.distance != b.distance) return a.distance < b.distance;
    return *a.name < *b.name;
  };
  std::stable_sort(list.begin(), list.end(), better);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, list.size()); ++i)
    text += (i ? ", " : " (nearest: ") + *list[i].name;
  return text.empty() ? text : text + ")";
}

std::string meant_name(std::string_view name, const std::vector<std::string>& known) {
  auto plain = [](std::string_view text) {
    std::string r;
    for (char c : lower(text))
      if (c != '-' && c != '_' && c != '.') r += c;
    return r;
  };
  const std::string word = plain(name);
  std::string best;
  std::size_t least = std::string::npos;
  for (const std::string& k : known) {
    const std::string other = plain(k);
    if (other.empty() || word.size() < 2 || word.size() > 100) continue;
    std::size_t distance = edit_distance(word, other);
    bool part = word.size() >= 3 && (other.starts_with(word) || word.starts_with(other));
    if (3 * distance > std::max(word.size(), other.size()) && !part) continue;
    // A name begun is as good as one with a single letter wrong.
    if (part) distance = std::min<std::size_t>(distance, other.starts_with(word) ? 1 : 2);
    if (distance < least) least = distance, best = k;
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  std::string meant = meant_name(name, known);
  return meant.empty() ? "" : ": did you mean " + meant + "?";
}

std::vector<std::string> matching_names(const std::string& op, const std::string& what,
                                        const std::string& pattern,
                                        const std::vector<std::string>& known, std::size_t most) {
  std::vector<std::string> found;
  for (const std::string& name : known)
    if (name == pattern || glob_match(pattern, name)) found.push_back(name);
  if (found.empty())
    throw ValueError(op,
                     "no " + what + " is named '" + pattern + "'" + nearest_names(pattern, known));
  if (found.size() > most)
    throw ValueError(op, "'" + pattern + "' matches " + std::to_string(found.size()) + " " + what +
                             "s, more than " + std::to_string(most) + ": use a narrower pattern");
  return found;
}

std::string file_stem(const std::string& name) {
  std::string stem = name;
  for (char& c : stem)
    if (c == '/' || c == '#') c = '-';
  return stem;
}

}  // namespace glim
