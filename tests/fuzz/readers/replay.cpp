// readers [--mutations N] [--seed S] CORPUS [READER...]
//
// Gives each reader (all, if none is named) the files of CORPUS/READER, and N simple mutations of each: bytes changed,
// cut out, moved or repeated, numbers replaced by large ones, the end lost. The same seed makes the same mutations. An
// input that breaks a promise (readers.hpp) is written to READER.failed; the sanitizers say what is wrong with it.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include "tests/fuzz/readers/readers.hpp"

namespace {

namespace fs = std::filesystem;
using glim::fuzz::Reader;

constexpr unsigned kHang = 120;  // seconds that no input takes

const Reader* under_way = nullptr;
std::string input;

// Keeps the input that ends the process.
void keep() {
  if (!under_way) return;
  const std::string path = under_way->name + ".failed";
  std::ofstream(path, std::ios::binary) << input;
  std::fprintf(stderr, "the input is kept in %s\n", path.c_str());
  under_way = nullptr;
}
extern "C" void end_by(int signal) {
  if (signal == SIGALRM) std::fprintf(stderr, "FAULT: a reader hangs\n");
  keep();
  std::signal(signal, SIG_DFL);
  ::raise(signal == SIGALRM ? SIGABRT : signal);
}

class Mutations {
 public:
  explicit Mutations(std::uint64_t seed) : random_(seed) {}

  std::string of(const std::string& original) {
    std::string s = original;
    for (std::size_t n = 1 + below(4); n > 0; --n) change(s);
    return s;
  }

 private:
  std::size_t below(std::size_t n) { return n ? random_() % n : 0; }
  std::size_t place(const std::string& s) { return below(s.size() + 1); }

  void change(std::string& s) {
    static const char* const kPieces[] = {"-1",
                                          "0",
                                          "1e999",
                                          "9007199254740993",
                                          "18446744073709551615",
                                          "null",
                                          "true",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          ",",
                                          "\n",
                                          "\t",
                                          "\\u0000",
                                          "\\ud800",
                                          "\xff",
                                          "\xef\xbb\xbf",
                                          "\"",
                                          "'",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "NaN",
                                          "\r\n",
                                          "=",
                                          "#"};
    const std::size_t at = place(s), length = std::min(below(32) + 1, s.size() - at);
    switch (below(8)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ 1 << below(8));
        break;
      case 1:
        if (at < s.size()) s[at] = static_cast<char>(below(256));
        break;
      case 2:
        s.erase(at, length);
        break;
      case 3:
        s.insert(place(s), s.substr(at, length));
        break;
      case 4:
        s.resize(at);
        break;
      case 5: {  // a number becomes another one
        const std::size_t first = s.find_first_of("0123456789", at),
                          last = s.find_first_not_of("0123456789", first);
        if (first == s.npos) break;
        s.replace(first, std::min(last, s.size()) - first, kPieces[below(5)]);
        break;
      }
      case 6:
        s.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      default: {  // a piece comes many times
        const std::string piece = s.substr(at, length);
        std::string many;
        for (std::size_t n = below(2000); n > 0; --n) many += piece;
        s.insert(at, many);
      }
    }
  }
  std::mt19937_64 random_;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t mutations = 0, seed = 1;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::uint64_t* number = word == "--mutations" ? &mutations : word == "--seed" ? &seed : nullptr;
    if (word.starts_with('~')) continue;  // tags for Catch2, which tools/test gives every program
    if (number && i + 1 < argc)
      *number = std::strtoull(argv[++i], nullptr, 10);
    else
      words.push_back(word);
  }
  if (words.empty()) {
    fmt::print(stderr, "usage: readers [--mutations N] [--seed S] CORPUS [READER...]\n");
    return 2;
  }
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(keep);
  for (int signal : {SIGABRT, SIGALRM}) std::signal(signal, end_by);
#else
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, end_by);
#endif
  std::uint64_t all = 0;
  for (const Reader& reader : glim::fuzz::readers()) {
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), reader.name) == words.end())
      continue;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(words[0]) / reader.name))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::uint64_t count = 0, taken = 0;
    for (const fs::path& file : files) {
      const std::string original = contents(file);
      Mutations mutate(seed * 1'000'003 + count);
      for (std::uint64_t i = 0; i <= mutations; ++i, ++count) {
        input = i == 0 ? original : mutate.of(original);
        under_way = &reader;
        ::alarm(kHang);
        taken += glim::fuzz::check(reader, input);
        under_way = nullptr;
      }
    }
    ::alarm(0);
    fmt::print("{}: {} files, {} inputs, {} taken\n", reader.name, files.size(), count, taken);
    if (files.empty() || taken == 0) {
      fmt::print("0 passed, 1 failed\n");
      return 1;
    }
    all += count;
  }
  fmt::print("{} passed, 0 failed\n", all);
  return 0;
}
