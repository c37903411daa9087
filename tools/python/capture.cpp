// Named values of a tape as Vars: `with glim.capture("*.probs") as seen:`.
#include <map>
#include <memory>

#include "autograd/op_form.hpp"
#include "autograd/tape.hpp"
#include "tools/common/nearest.hpp"
#include "tools/python/vars.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// Values on the innermost tape, by their paths.
class Capture final : public Observer {
 public:
  explicit Capture(std::string pattern) : pattern_(std::move(pattern)) {}
  Var on_value(std::string_view path, Var v) override {
    if (glob_match(pattern_, path)) values[std::string(path)] = v;
    return v;
  }
  std::map<std::string, Var> values;

 private:
  std::string pattern_;
};
class PyCapture {
 public:
  explicit PyCapture(std::string pattern) : on_(std::move(pattern)) {}
  void enter() {
    if (!Tape::open())
      throw StateError("capture", "no tape is open: `with glim.Tape():` opens one");
    Tape::open()->observe(on_);
    form_ = std::make_unique<UseForm>(OpForm::Explicit);
  }
  void exit() {
    on_.stop();
    form_.reset();
  }
  const std::map<std::string, Var>& values() const { return on_.values; }
  Var at(const std::string& path) const {
    auto entry = on_.values.find(path);
    if (entry != on_.values.end()) return entry->second;
    std::vector<std::string> paths;
    for (const auto& [known, v] : on_.values) paths.push_back(known);
    throw ValueError("capture",
                     "no value has the path '" + path + "'" + nearest_names(path, paths));
  }

 private:
  Capture on_;
  std::unique_ptr<UseForm> form_;
};

}  // namespace

void bind_capture(nb::module_& m) {
  nb::class_<PyCapture>(
      m, "capture",
      "Within its `with`, values whose path matches (* and ?) are kept as Vars on the open tape, "
      "in "
      "a "
      "dict by path: attention weights, from which a loss may be computed.\n\n"
      "    with glim.Tape() as tape, glim.capture(\"*.probs\") as seen:\n"
      "        logits = model(src, tgt_in)\n"
      "    tape.grad(seen[\"decoder.layers.0.multihead_attn.probs\"][0, 2, 1, 3], ...)\n\n"
      "Attention is recorded as its primitives (explicit).")
      .def(
          "__init__",
          [](PyCapture* self, const std::string& pattern) { new (self) PyCapture(pattern); },
          "pattern"_a)
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<PyCapture&>(self).enter();
             return nb::borrow(self);
           })
      .def("__exit__", [](PyCapture& c, nb::args) { c.exit(); })
      .def(
          "keys",
          [](const PyCapture& c) {
            std::vector<std::string> paths;
            for (const auto& [path, v] : c.values()) paths.push_back(path);
            return paths;
          },
          "The paths of the values.")
      .def("__getitem__", &PyCapture::at, "path"_a,
           "A value; the last one, where several have this path.");
}

}  // namespace glim::python
