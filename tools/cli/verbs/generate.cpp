// glim generate: text from a language model, printed as it is drawn.
//
// The prompt comes first, then what follows it; several samples are divided by a line of dashes, as nanoGPT's
// are. A prompt of "-" is read from standard input, one of "FILE:PATH" from that file, without its last line
// end. With --json a sample is an object (tools/cli/json.md). Sample i is a function of (model, prompt,
// options, seed, i).
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/pipeline/text_generator.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/data/corpus/files.hpp"

namespace glim {
namespace {

struct GenerateArguments {
  std::string model = "model", prompt = "\n";
  Index samples = 1, seed = 1;
  GenerateOptions options;
  bool json = false;
};

constexpr std::string_view kFilePrefix = "FILE:";

std::string prompt_text(const std::string& prompt) {
  bool file = prompt.starts_with(kFilePrefix);
  if (!file && prompt != "-") return prompt;
  std::string text = read_file(file ? prompt.substr(kFilePrefix.size()) : prompt, "--prompt");
  // As in every text file: no byte order mark, no "\r" before a line end; the last line end is the editor's.
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  for (std::size_t i = 0; (i = text.find("\r\n", i)) != std::string::npos;) text.erase(i, 1);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void run_generate(Command& command, GenerateArguments& a) {
  for (const char* name : {"temperature", "top-k", "top-p"})
    if (a.options.sampling.greedy && command.given(name))
      throw ValueError(std::string("--") + name, "contradicts --greedy, which draws nothing");
  const TextGenerator generator(a.model);
  a.prompt = prompt_text(a.prompt);
  a.options.seed = static_cast<std::uint64_t>(a.seed);
  for (Index sample = 0; sample < a.samples; ++sample) {
    a.options.sample = static_cast<std::uint64_t>(sample);
    try {
      const std::string start = generator.as_read(a.prompt);
      generator.check(a.options);
      if (sample > 0 && !a.json) print_line("---------------");
      if (!a.json && command.given("prompt")) print(start);
      print_flush();
      const std::string text = generator.generate(a.prompt, a.options, [&](std::string_view piece) {
        if (a.json) return;
        print(std::string(piece));
        print_flush();
      });
      if (a.json)
        print_json({{"sample", sample}, {"seed", a.seed}, {"prompt", start}, {"text", text}});
      else
        print_line("");
    } catch (const ValueError& e) {
      throw ValueError("--" + e.op(), e.problem());
    }
  }
}

}  // namespace

Command generate_command() {
  Command c("generate", "text from a language model (--kind gpt)");
  auto a = std::make_shared<GenerateArguments>();
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option("prompt", &a->prompt,
           "text to continue (-: standard input, FILE:PATH: what PATH has; without: a line end)");
  c.option("max-tokens", &a->options.max_tokens, "tokens to draw", kPositive);
  c.option("temperature", &a->options.sampling.temperature,
           "below 1 more predictable, above 1 more varied, 0 the likeliest token", kNotNegative);
  c.option("top-k", &a->options.sampling.top_k, "draw from the k likeliest tokens (all)", kPositive)
      .default_text = "";
  c.option("top-p", &a->options.sampling.top_p,
           "draw from the fewest likeliest tokens whose probabilities reach p",
           {.least = 0, .most = 1, .above = true});
  c.option("greedy", &a->options.sampling.greedy, "take the likeliest token instead of drawing");
  c.option("seed", &a->seed, "seed of the draws", kCount);
  c.option("samples", &a->samples, "texts to generate", kPositive);
  c.option("slide", &a->options.slide,
           "tokens dropped when the context is full (0: a quarter of it)", kCount);
  c.option("json", &a->json, "print a JSON object for each text");
  c.words_are = "the text to continue is given as --prompt 'Once upon a time'";
  c.run = [a](Command& command) { run_generate(command, *a); };
  return c;
}

}  // namespace glim
