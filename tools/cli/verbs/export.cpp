// glim export: a model's weights under the names of PyTorch, as safetensors.
#include <memory>

#include "tools/cli/verbs.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/convert/convert.hpp"

namespace glim {

Command export_command() {
  struct ExportArguments {
    std::string format, model, out;
    bool overwrite = false;
  };
  Command c("export", "write a model's weights for PyTorch (models/pytorch.md)");
  c.computes = false;
  auto a = std::make_shared<ExportArguments>();
  c.argument("model", &a->model, "folder of a model, or one of its files").required = true;
  Option& format = c.option("to", &a->format, "torch (a transformer) or nanogpt (a gpt)");
  format.choices = {"torch", "nanogpt"};
  format.required = true;
  c.option("out", &a->out, "safetensors file to write").required = true;
  c.option("overwrite", &a->overwrite, "replace the file");
  c.run = [a](Command&) {
    refuse_existing(a->out, a->overwrite);
    export_model(a->format, a->model, a->out);
    print_line("Weights written to " + visible(a->out));
  };
  return c;
}

}  // namespace glim
