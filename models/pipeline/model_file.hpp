// A model is a folder of safetensors files, each with a whole model:
//
//   average.safetensors   the mean of several     best.safetensors    best on validation
//   last.safetensors      the newest
//
//   NAME                  weights and buffers, under the names of torch.nn modules
//   metadata              glim (format), glim_checksum (tensor/io/checksum.hpp), kind, and the description from which
//                         the model is built again: model (its sizes as JSON), tokenizers, labels
//
// Training keeps more in the same file (tools/train/checkpoint.hpp): the optimizer's state, the options, where it is.
// Until version 1.0 a program reads the files of its own version alone; from 1.0 on files stay readable.
//
// FileError naming the file when it is missing, is not such a file, does not match its checksum, or has tensors that are
// not finite or do not fit its description.
#pragma once

#include <map>
#include <string>

#include "nn/module.hpp"

namespace glim {

inline constexpr const char* kModelFormat = "1";
inline constexpr const char* kOptimizerPrefix = "optimizer.";

struct ModelFile {
  std::string file, kind;
  std::map<std::string, std::string> description;
  DType precision = DType::Float32;
  StateDict weights;
  // State of training: options, config and state; the optimizer's tensors.
  std::map<std::string, std::string> run;
  StateDict optimizer;

  // An entry of the description; FileError when it is absent.
  const std::string& described(const std::string& name) const;
};

// The file of a model: the path itself or, in a folder, the first that exists of average, best and last.
// FileError naming the folder otherwise.
std::string model_file(const std::string& path);
// `path` as model_file takes it.
ModelFile read_model(const std::string& path);

// Gives a model of the described sizes its precision and weights, and puts it into eval().
void load_weights(Module& model, const ModelFile& file);

}  // namespace glim
