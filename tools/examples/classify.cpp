// A label for each sentence, and its probability, by a model of kind classifier.
//
//   classify MODEL SENTENCE...
#include <glim/pipeline.hpp>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 3) throw glim::ValueError("usage", "classify MODEL SENTENCE...");
  const glim::Classifier classifier(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const glim::Classified c = classifier(argv[i]);
    std::cout << argv[i] << " -> " << classifier.labels().name(c.label) << " (probability "
              << c.probs[static_cast<std::size_t>(c.label)] << ")\n";
  }
} catch (const std::exception& e) {
  std::cerr << "classify: " << e.what() << "\n";
  return 1;
}
