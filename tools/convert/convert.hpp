// Models from and to PyTorch: safetensors files of weights under another program's names (formats.hpp).
//
// A file may say in its metadata what weights cannot (models/pytorch.md):
//
//   config                               JSON: number of heads, activation, dropout, ... in the format's own
//                                        words; else of config.json beside the file
//   tokenizer                            of a gpt: as a checkpoint of Glim has under this name
//   source_tokenizer, target_tokenizer   of a transformer; one of them: of both sides
//   label_smoothing                      ε of the loss, else 0
//
// Hugging Face's have their tokenizers beside them (imported_tokenizers.hpp). Without a tokenizer tokens are their numbers: the text "17 4 5". A file that Glim has written has also
// `model`, its sizes, and so comes back the same to the bit.
#pragma once

#include "tools/train/checkpoint.hpp"

namespace glim {

struct ImportOptions {
  std::string format, file;  // a format's name; a file, or a folder with model.safetensors
  Index heads = 0;           // 0, empty: not in the file
  std::string norm, activation;
};
struct ImportedModel {
  Checkpoint checkpoint;
  std::vector<std::string> summary;  // values that were found, and assumptions
};
// FileError naming the file and the weights, by their names there, that are missing, unexpected or of another
// shape; ValueError("--heads") where the number of heads is not known.
ImportedModel import_model(const ImportOptions& options);

// Writes the weights of a model (as model_file takes it) under the names of a format: torch or nanogpt.
// FileError where the format has no such model.
void export_model(const std::string& name, const std::string& model, const std::string& out);

}  // namespace glim
