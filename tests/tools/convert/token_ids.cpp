// token_ids FOLDER gpt2, token_ids FOLDER marian source|target: of each line of standard input the ids that glim import
// gives it, and what they decode to. Lines are JSON strings, so that they may hold any white space; ids are Glim's.
// For tests/reference/imported_lines.py, which compares them with those of PyPI's tokenizers.
#include <iostream>
#include <nlohmann/json.hpp>

#include "models/tokenizers/tokenizer.hpp"
#include "tools/convert/convert.hpp"

int main(int argc, char** argv) {
  using namespace glim;
  const std::string from = argc > 2 ? argv[2] : "", side = argc > 3 ? argv[3] : "";
  if (argc < 3) {
    std::cerr << "usage: token_ids FOLDER gpt2 | FOLDER marian source|target\n";
    return 2;
  }
  try {
    ImportOptions options;
    options.format = from;
    options.file = argv[1];
    const auto& description = import_model(options).checkpoint.description;
    auto name = side.empty() ? "tokenizer" : side + "_tokenizer";
    TokenizerPtr tokenizer = deserialize_tokenizer(description.at(name), name);
    for (std::string line; std::getline(std::cin, line);) {
      const std::string text = nlohmann::json::parse(line);
      const auto ids = side.empty() ? tokenizer->encode_text(text) : tokenizer->encode(text);
      std::cout << nlohmann::json{{"ids", ids}, {"text", tokenizer->decode(ids)}}.dump() << "\n";
    }
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
