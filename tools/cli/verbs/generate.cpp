// glim generate: text from a language model, printed as it is drawn.
//
// The prompt comes first, then what follows it; several samples are divided by a line of dashes, as nanoGPT's
// are. A prompt of "-" is read from standard input, one of "FILE:PATH" from that file, without its last line
// end. With --json a sample is an object (tools/cli/json.md). Sample i is a function of (model, prompt,
// options, seed, i).
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/decoding/sampling.hpp"
#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tools/cli/verbs/verbs.hpp"
#include "tools/data/corpus/files.hpp"
#include "tools/data/corpus/text_stream.hpp"
#include "tools/train/learners/language.hpp"

namespace glim {
namespace {

struct GenerateArguments {
  std::string model = "model", prompt = "\n";
  Index max_tokens = 500, samples = 1, slide = 0, seed = 1;
  SamplingOptions sampling;
  bool json = false;
};

constexpr std::string_view kFilePrefix = "FILE:";

std::string prompt_text(const std::string& prompt) {
  bool file = prompt.starts_with(kFilePrefix);
  if (!file && prompt != "-") return prompt;
  std::string text = read_file(file ? prompt.substr(kFilePrefix.size()) : prompt, "--prompt");
  // As in every text file: no byte order mark, no "\r" before a line end; the last line end is the editor's.
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos;) text.erase(at, 1);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

std::vector<Index> prompt_tokens(const GenerateArguments& a, const LoadedLanguageModel& loaded) {
  if (auto bad = first_invalid_utf8(a.prompt))
    throw ValueError("--prompt", describe_invalid_utf8(a.prompt, *bad));
  std::vector<Index> ids = loaded.tokenizer->encode_text(a.prompt);
  if (ids.empty()) throw ValueError("--prompt", "has no token to begin with");
  auto unknown = [&](Index id) {
    return id == kUnk || id < loaded.model->config().never_predicted;
  };
  if (std::any_of(ids.begin(), ids.end(), unknown))
    throw ValueError("--prompt", unknown_part(*loaded.tokenizer, a.prompt) +
                                     " is not in the vocabulary of " + a.model);
  Index context = loaded.model->config().context;
  if (static_cast<Index>(ids.size()) > context)
    throw ValueError("--prompt", fmt::format("has {} tokens, {} has a context of {}", ids.size(),
                                             a.model, context));
  return ids;
}

void run_generate(Command& command, GenerateArguments& a) {
  for (const char* name : {"temperature", "top-k", "top-p"})
    if (a.sampling.greedy && command.given(name))
      throw ValueError(std::string("--") + name, "contradicts --greedy, which draws nothing");
  LoadedLanguageModel loaded = load_language_model(a.model);
  a.prompt = prompt_text(a.prompt);
  Index context = loaded.model->config().context;
  if (a.slide > context)
    throw ValueError("--slide", fmt::format("must be from 0 to {} (the context)", context));
  try {
    check(a.sampling, loaded.model->config().vocab);
  } catch (const ValueError& e) {
    throw ValueError("--" + e.op(), e.problem());
  }
  // As characters, line ends are tokens of their own; else they are </s>.
  if (loaded.tokenizer->kind() == "char") a.sampling.never.push_back(kEos);
  std::vector<Index> prompt = prompt_tokens(a, loaded);
  Index last = prompt.back();
  Tensor before = narrow(from_vector(prompt, {1, static_cast<Index>(prompt.size())}), 1, 0,
                         static_cast<Index>(prompt.size()) - 1);
  for (Index sample = 0; sample < a.samples; ++sample) {
    if (sample > 0 && !a.json) print_line("---------------");
    TextStream text(loaded.tokenizer);
    std::string start;
    for (Index token : prompt) start += text.push(token);
    if (!a.json && command.given("prompt")) print(start);
    print_flush();
    std::string drawn;
    auto decoder = loaded.model->decoder_for(before, a.slide);
    RandomKey key{static_cast<std::uint64_t>(a.seed), static_cast<std::uint64_t>(sample)};
    generate(*decoder, last, a.max_tokens, a.sampling, key, [&](Index token) {
      if (token == loaded.tokenizer->end_of_text()) return false;
      std::string piece = text.push(token);
      if (a.json) {
        drawn += piece;
      } else {
        print(piece);
        print_flush();
      }
      return true;
    });
    if (a.json)
      drawn += text.rest();
    else
      print(text.rest());
    if (a.json)
      print_json({{"sample", sample}, {"seed", a.seed}, {"prompt", start}, {"text", drawn}});
    else
      print_line("");
  }
}

}  // namespace

Command generate_command() {
  Command c("generate", "text from a language model (--kind gpt)");
  auto a = std::make_shared<GenerateArguments>();
  c.option("model", &a->model, "folder of a model, or one of its files");
  c.option(
      "prompt", &a->prompt,
      "text to continue, FILE:PATH for that of a file, - for standard input (without: a line end)");
  c.option("max-tokens", &a->max_tokens, "tokens to draw", kPositive);
  c.option("temperature", &a->sampling.temperature,
           "below 1 more predictable, above 1 more varied, 0 the likeliest token", kNotNegative);
  c.option("top-k", &a->sampling.top_k, "draw from the k likeliest tokens (all)", kPositive)
      .default_text = "";
  c.option("top-p", &a->sampling.top_p,
           "draw from the fewest likeliest tokens whose probabilities reach p",
           {.least = 0, .most = 1, .above = true});
  c.option("greedy", &a->sampling.greedy, "take the likeliest token instead of drawing");
  c.option("seed", &a->seed, "seed of the draws", kCount);
  c.option("samples", &a->samples, "texts to generate", kPositive);
  c.option("slide", &a->slide, "tokens dropped when the context is full (0: a quarter of it)",
           kCount);
  c.option("json", &a->json, "print a JSON object for each text");
  c.words_are = "the text to continue is given as --prompt 'Once upon a time'";
  c.run = [a](Command& command) { run_generate(command, *a); };
  return c;
}

}  // namespace glim
