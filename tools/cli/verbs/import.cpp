// glim import: a model folder from weights of PyTorch.
#include <filesystem>
#include <memory>

#include "tensor/error.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/convert/convert.hpp"

namespace glim {
namespace {

struct ImportArguments {
  ImportOptions options;
  std::string out = "model";
  bool overwrite = false;
};

void run_import(const ImportArguments& a) {
  namespace fs = std::filesystem;
  const FolderLock lock(a.out);
  std::vector<fs::path> earlier;
  for (const char* name : {"average.safetensors", "best.safetensors", "last.safetensors"})
    if (fs::path path = fs::path(a.out) / name; fs::exists(path)) earlier.push_back(path);
  if (!earlier.empty() && !a.overwrite)
    throw FileError(a.out,
                    "holds a model already: --overwrite replaces it, --out names another folder");
  ImportedModel found = import_model(a.options);
  make_folder(a.out);
  std::string file = (fs::path(a.out) / "best.safetensors").string();
  save_checkpoint(file, found.checkpoint);
  for (const fs::path& old : earlier)
    if (old != file) fs::remove(old);
  for (const std::string& line : found.summary) print_line(visible(line));
  print_line("Model saved to " + visible(file));
}

}  // namespace

Command import_command() {
  Command c("import", "make a model from weights of PyTorch (models/pytorch.md)");
  c.computes = false;
  auto a = std::make_shared<ImportArguments>();
  c.argument("file", &a->options.file, "safetensors file, or a folder with model.safetensors")
      .required = true;
  Option& format =
      c.option("from", &a->options.format,
               "torch (torch.nn.Transformer), nanogpt, gpt2 or marian (of Hugging Face)");
  format.choices = {"torch", "nanogpt", "gpt2", "marian"};
  format.required = true;
  c.option("out", &a->out, "folder of the model");
  c.option("overwrite", &a->overwrite, "replace the model in --out");
  c.option("heads", &a->options.heads, "attention heads, where the file does not say", kPositive)
      .default_text = "";
  c.option("norm", &a->options.norm, "pre or post, where the file does not say (post)").choices = {
      "pre", "post"};
  c.option("activation", &a->options.activation,
           "relu, gelu, gelu-tanh or silu, where the file does not say (relu; of a gpt gelu)");
  c.run = [a](Command&) { run_import(*a); };
  return c;
}

}  // namespace glim
