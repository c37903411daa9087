// An inspection as data: for the page, for a JSON file, for a safetensors file. Pages read JSON alone (data.md).
//
//   inspect.json          the findings, and "tensors": {NAME: {"shape": [...], "values": [...]}}: each
//                         activation under its name, its gradient under NAME.grad, row-major, every
//                         digit of a float32; "NAME.grad" of the parameters too (their values are in
//                         the model)
//   inspect.safetensors   the same tensors, and the parameters
//   inspect.html          the findings, tensors with three digits (pack.hpp), large ones as pictures
//
// NAMEs are paths on the tape, with "#NUMBER" where several nodes share one. Numbers that are not
// finite are null.
//
// FileError when a file cannot be written; ValueError, naming an option to use, when it would exceed the
// limit.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/inspect/inspection.hpp"

namespace glim {

// The parts of a live page: Glim as WebAssembly, the model, and the request that made the page (request.hpp).
struct LivePart {
  std::string script, module, model;  // of the model: its file; empty for a fresh one
  std::string request;                // JSON
  ImageSet images;                    // to choose from, of a vit
  std::vector<std::string>
      command;  // what gives the page without its changes: glim inspect --model M
};

struct DocumentOptions {
  bool tensors = true;                     // activations and gradients
  bool statistics = true;                  // of each node; else its gradient's norm alone
  std::uint64_t most_bytes = 200'000'000;  // of any file
  std::optional<LivePart> live;
  std::vector<std::string> command,
      lists;  // that makes the page, and its options with several values
};

// The findings, without tensors but for those of attention, tokens and rollout, which `write` turns
// into JSON: as numbers, or packed.
using TensorWriter = nlohmann::json (*)(const Tensor&);
nlohmann::json findings(const Inspection& inspection, TensorWriter write,
                        bool with_statistics = true);
nlohmann::json numbers(const Tensor& x);  // nested arrays
// The data of the page: the findings, packed, and a picture of each node's value and gradient. A live page asks for
// the details of a node when it shows it: pictures, and the statistics of value, gradient and flows.
nlohmann::json node_details(const Inspection& inspection, int node);
nlohmann::json lens_data(const std::vector<LensMatrix>& lens);
nlohmann::json page_data(const Inspection& inspection, const DocumentOptions& options);

void write_inspection_json(const Inspection& inspection, const std::string& path,
                           const DocumentOptions& options);
void write_inspection_tensors(const Inspection& inspection, const std::string& path,
                              const DocumentOptions& options);
// The page of page_data().
void write_inspection_page(nlohmann::json data, const std::string& path,
                           const DocumentOptions& options);
// Writes the page into a folder and, with `data`, the other two files.
void write_inspection(const Inspection& inspection, const std::filesystem::path& folder, bool data);

}  // namespace glim
