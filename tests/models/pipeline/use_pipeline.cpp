// A program of somebody else that uses trained models by <glim/pipeline.hpp> alone, for same_bytes.sh.
//
//   use_pipeline translate MODEL BEAM NBEST SECONDS   lines of standard input, as glim translate prints them
//   use_pipeline generate MODEL PROMPT SEED SECONDS   as glim generate prints it
//   use_pipeline classify MODEL SECONDS               lines of standard input, as glim classify prints them
//   use_pipeline images MODEL IDX SECONDS             the images of an IDX file, likewise
//   use_pipeline score MODEL SECONDS                  lines of text, or SOURCE<TAB>TARGET: NLL a token, and the tokens
//
// Eight threads use one new object for a number of seconds. Each thread must get the same bytes each time.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <glim/pipeline.hpp>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using Strings = std::vector<std::string>;

Strings lines_of_input() {
  Strings lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

template <class... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[4096];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::string translated(const glim::Translator& t, const Strings& lines, int beam, int n_best,
                       std::size_t first) {
  Strings all(lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {  // each thread begins with another line
    const std::size_t i = (first + k) % lines.size();
    if (n_best == 1) {
      all[i] = t(lines[i], {.beam = beam}) + "\n";
      continue;
    }
    const glim::TranslateOptions o{.beam = beam, .n_best = n_best, .alignments = true};
    for (const glim::Translation& found : t.best(lines[i], o))
      all[i] += printed("%zu ||| %s ||| %.6f ||| %s\n", i, found.text.c_str(), found.score,
                        glim::pharaoh_alignment(found).c_str());
  }
  std::string text;
  for (const std::string& one : all) text += one;
  return text;
}

std::string shown(const glim::Labels& labels, const std::vector<glim::Classified>& found) {
  std::string text;
  for (const glim::Classified& c : found) {
    text += labels.name(c.label) + "\t";
    for (glim::Index i = 0; i < labels.size(); ++i)
      text += printed("%s%s=%.4f", i > 0 ? " " : "", labels.name(i).c_str(),
                      c.probs[static_cast<std::size_t>(i)]);
    text += "\n";
  }
  return text;
}

glim::Tensor images_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const std::string all = bytes.str();
  auto size = [&](std::size_t at) {
    glim::Index n = 0;
    for (std::size_t i = at; i < at + 4; ++i) n = 256 * n + static_cast<unsigned char>(all[i]);
    return n;
  };
  glim::Tensor images = glim::empty({size(4), 1, size(8), size(12)});
  float* to = images.data<float>();
  for (std::size_t i = 16; i < all.size(); ++i)
    *to++ = static_cast<float>(static_cast<unsigned char>(all[i])) / 255;
  return images;
}

std::string scored(const glim::Scorer& scorer, const Strings& lines) {
  glim::Score all;
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    const glim::Score one = tab == line.npos
                                ? scorer.score(line)
                                : scorer.score(line.substr(0, tab), line.substr(tab + 1));
    all.log_prob += one.log_prob;
    all.tokens += one.tokens;
  }
  return printed("NLL %.4f per token, %td tokens\n",
                 -all.log_prob / static_cast<double>(all.tokens), all.tokens);
}

// The results of `work` with a Model, alone and in eight threads at once, which begin together.
template <class Model>
int same_in_all(const std::string& path, double seconds,
                const std::function<std::string(const Model&, std::size_t thread)>& work) {
  const std::string expected = work(Model(path), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::atomic<int> wrong = 0, right = 0;
  while (std::chrono::steady_clock::now() < end) {
    const Model model(path);
    std::barrier together(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        together.arrive_and_wait();
        for (int times = 0; times < 3; ++times) ++(work(model, i) == expected ? right : wrong);
      });
    for (std::thread& t : threads) t.join();
  }
  std::cout << expected;
  if (seconds > 0)
    std::cerr << "8 threads: the same " << right << " times, different " << wrong << " times\n";
  return wrong > 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const Strings a(argv + 1, argv + argc);
  const std::string &what = a.at(0), &path = a.at(1);
  const double seconds = std::stod(a.back());
  if (what == "translate") {
    const Strings lines = lines_of_input();
    return same_in_all<glim::Translator>(
        path, seconds, [&](const glim::Translator& model, std::size_t i) {
          return translated(model, lines, std::stoi(a.at(2)), std::stoi(a.at(3)), i);
        });
  }
  if (what == "generate") {
    const glim::GenerateOptions o{.max_tokens = 60, .seed = std::stoull(a.at(3))};
    return same_in_all<glim::TextGenerator>(
        path, seconds, [&](const glim::TextGenerator& model, std::size_t) {
          return model.as_read(a.at(2)) + model.generate(a.at(2), o) + "\n";
        });
  }
  if (what == "classify") {
    const Strings lines = lines_of_input();
    return same_in_all<glim::Classifier>(path, seconds,
                                         [&](const glim::Classifier& model, std::size_t) {
                                           std::string text;
                                           for (const std::string& line : lines)
                                             text += shown(model.labels(), {model(line)});
                                           return text;
                                         });
  }
  if (what == "images") {
    const glim::Tensor images = images_of(a.at(2));
    return same_in_all<glim::ImageClassifier>(
        path, seconds, [&](const glim::ImageClassifier& model, std::size_t) {
          return shown(model.labels(), model.classify(images));
        });
  }
  const Strings lines = lines_of_input();
  return same_in_all<glim::Scorer>(
      path, seconds, [&](const glim::Scorer& model, std::size_t) { return scored(model, lines); });
} catch (const glim::Error& e) {
  std::cerr << e.one_line() << "\n";
  return 2;
}
