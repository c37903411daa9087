// Load, translate, save: a model of `glim train` in a program of one's own.
//
//   translate MODEL SENTENCE...      writes weights.safetensors into the folder it is run in
//
// First sentences in and sentences out. Then with the layers alone: the weights saved and loaded in a line each,
// ids in and ids out.
#include <iostream>

#include "models/pipeline/translator.hpp"
#include "models/transformer/transformer.hpp"
using namespace glim;

int main(int argc, char** argv) try {
  if (argc < 3) throw ValueError("usage", "translate MODEL SENTENCE...");
  std::vector<std::string> sentences(argv + 2, argv + argc);

  const Translator translator(argv[1]);
  auto translations = translator.translate(sentences, {.beam = 4});
  for (std::size_t i = 0; i < sentences.size(); ++i)
    std::cout << sentences[i] << " -> " << translations[i][0].text << "\n";

  auto* trained = dynamic_cast<Transformer*>(translator.model().get());
  if (!trained) throw ValueError("model", "is no Transformer");
  save(*trained, "weights.safetensors");
  Transformer model(trained->config());
  load(model, "weights.safetensors");
  model.eval();

  const auto& [source, target] = translator.tokenizers();
  auto ids = source->encode(sentences[0]);
  ids.push_back(kEos);  // as in training
  auto length = static_cast<Index>(ids.size());
  auto decoder = model.decoder_for(SourceBatch(from_vector(ids, {1, length})));
  auto found = search(*decoder, {2 * length + 10}, {.beam = 4, .length_penalty = 1});
  std::cout << "with the layers alone: " << target->decode(found[0][0].tokens) << "\n";
} catch (const std::exception& e) {
  std::cerr << "translate: " << e.what() << "\n";
  return 1;
}
