// Trained models from their folders (models/pipeline), and the program as a function.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "models/pipeline/classifier.hpp"
#include "models/pipeline/described.hpp"
#include "models/pipeline/scorer.hpp"
#include "models/pipeline/tagger.hpp"
#include "models/pipeline/text_generator.hpp"
#include "models/pipeline/translator.hpp"
#include "tools/python/arrays.hpp"
#if GLIM_PROGRAM
#include "tools/cli/program.hpp"
#endif

namespace glim::python {

using namespace nb::literals;
using Free = nb::call_guard<Unlocked>;  // other threads of Python go on meanwhile

void bind_pipeline(nb::module_& m) {
  m.def(
      "model_kind",
      [](const std::string& path) {
        const ModelFile file = read_model(path);
        return std::pair(kind_of(file).name, kNames<Gives>.print(kind_of(file).gives));
      },
      "path"_a, "The kind, and what it gives.");

  nb::class_<Translation>(m, "Translation", "One translation of a sentence.")
      .def_ro("text", &Translation::text)
      .def_ro("score", &Translation::score)
      .def_ro("log_prob", &Translation::log_prob)
      .def_ro("finished", &Translation::finished)
      .def_ro("source_pieces", &Translation::source_pieces)
      .def_ro("target_pieces", &Translation::target_pieces)
      .def_ro("attention", &Translation::attention)
      .def("__repr__", [](const Translation& t) {
        return "Translation(" + nb::cast<std::string>(nb::repr(nb::str(t.text.c_str()))) + ")";
      });
  nb::class_<Translator>(m, "Translator")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "translate",
          [](const Translator& t, const std::vector<std::string>& sentences, int beam, int nbest,
             double length_penalty, Index max_tokens, bool truncate, bool alignments,
             Index batch_sentences) {
            return t.translate(sentences, {.beam = beam,
                                           .n_best = nbest,
                                           .length_penalty = length_penalty,
                                           .max_length = max_tokens,
                                           .truncate = truncate,
                                           .alignments = alignments,
                                           .batch = batch_sentences});
          },
          Free(), "sentences"_a, nb::kw_only(), "beam"_a, "nbest"_a, "length_penalty"_a,
          "max_tokens"_a, "truncate"_a, "alignments"_a, "batch_sentences"_a);
  nb::class_<TextGenerator>(m, "TextGenerator")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "generate",
          [](const TextGenerator& g, const std::string& prompt, Index max_tokens,
             double temperature, Index top_k, double top_p, bool greedy, std::uint64_t seed,
             std::uint64_t sample, Index slide) {
            const GenerateOptions o{
                max_tokens, {greedy, temperature, top_k, top_p}, seed, sample, slide};
            g.check(o);
            return g.generate(prompt, o);
          },
          Free(), "prompt"_a, nb::kw_only(), "max_tokens"_a, "temperature"_a, "top_k"_a, "top_p"_a,
          "greedy"_a, "seed"_a, "sample"_a, "slide"_a);
  auto as_dict = [](const Labels& labels, const auto& classify) {
    std::vector<Classified> found;
    {
      Unlocked others;
      found = classify();
    }
    nb::list all;
    for (const Classified& c : found) {
      nb::dict probs;
      for (Index k = 0; k < labels.size(); ++k)
        probs[labels.name(k).c_str()] = c.probs[static_cast<std::size_t>(k)];
      all.append(nb::make_tuple(labels.name(c.label), probs));
    }
    return all;
  };
  nb::class_<Classifier>(m, "Classifier")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "classify",
          [as_dict](const Classifier& c, const std::vector<std::string>& sentences, bool truncate) {
            return as_dict(c.labels(), [&] { return c.classify(sentences, truncate); });
          },
          "sentences"_a, nb::kw_only(), "truncate"_a);
  nb::class_<Tagger>(m, "Tagger")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "tag",
          [](const Tagger& t, const std::vector<std::string>& tokens, bool truncate) {
            std::vector<std::string> found;
            for (const Classified& c : t.tag(tokens, truncate))
              found.push_back(t.labels().name(c.label));
            return found;
          },
          Free(), "tokens"_a, nb::kw_only(), "truncate"_a);
  nb::class_<ImageClassifier>(m, "ImageClassifier")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "classify",
          [as_dict](const ImageClassifier& c, nb::handle images) {
            const Tensor x = tensor_of(images, "images").to(DType::Float32);
            return as_dict(c.labels(), [&] { return c.classify(x); });
          },
          "images"_a);
  nb::class_<Score>(m, "Score", "The probability of a text.")
      .def_ro("log_prob", &Score::log_prob)
      .def_ro("tokens", &Score::tokens)
      .def_prop_ro("perplexity", &Score::perplexity)
      .def("__repr__", [](const Score& s) {
        return "Score(log_prob=" + nb::cast<std::string>(nb::repr(nb::float_(s.log_prob))) +
               ", tokens=" + std::to_string(s.tokens) + ")";
      });
  nb::class_<Scorer>(m, "Scorer")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "score",
          [](const Scorer& s, const std::string& text, const std::optional<std::string>& target) {
            return target ? s.score(text, *target) : s.score(text);
          },
          Free(), "text"_a, "target"_a = nb::none());
#if GLIM_PROGRAM
  m.def(
      "run_program",
      [](std::vector<std::string> words) {
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        return run_program(static_cast<int>(words.size()), argv.data());
      },
      Free(), "words"_a, "The program glim: its exit status. It sets the handlers of signals.");
#endif
}

}  // namespace glim::python
