// A module as a whole: printed, saved and loaded, frozen.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "nn/linear.hpp"
#include "nn/vision/batch_norm.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/sgd.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/reference.hpp"

namespace test_whole_module {

using namespace glim;

namespace {

using Names = std::vector<std::string>;

struct Net : Layer {
  Child<Linear> GLIM_NAMED(first, 2, 3), GLIM_NAMED(last, 3, 1);
  Child<BatchNorm> GLIM_NAMED(norm, 3);

 private:
  Var forward(const Var& x) override { return last(norm(tanh(first(x)))); }
};

// A folder that lives as long as the object.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "glim-test-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data())); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
};

template <class T>
std::string printed(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

Tensor points() { return normal({8, 2}, 0, 1, {3, 1}); }

void backward(Net& net) {
  Tape tape;
  Var y = net(Var(points()));
  tape.backward(sum(y * y));
}

}  // namespace

TEST_CASE("a module prints its type, its size and every parameter and buffer", "[module]") {
  Net net;
  CHECK(printed(net) ==
        "Net: 19 parameters\n"
        "  first.weight              (3, 2) float32, 6\n"
        "  first.bias                (3,) float32, 3\n"
        "  last.weight               (1, 3) float32, 3\n"
        "  last.bias                 (1,) float32, 1\n"
        "  norm.weight               (3,) float32, 3\n"
        "  norm.bias                 (3,) float32, 3\n"
        "  norm.running_mean         (3,) float32, buffer\n"
        "  norm.running_var          (3,) float32, buffer\n"
        "  norm.num_batches_tracked  () int64, buffer");
  net.freeze("last.*");
  CHECK(contains(printed(net), "Net: 19 parameters, 4 of them frozen\n"));
  CHECK(contains(printed(net), "  last.bias                 (1,) float32, 1, frozen\n"));
  CHECK(contains(printed(net.last), "Linear: 4 parameters, 4 of them frozen\n"));
  CHECK(printed(Linear(1, 1, false)) == "Linear: 1 parameter\n  weight  (1, 1) float32, 1");
  CHECK(printed(ModuleList<Linear>()) == "ModuleList<glim::Linear>: 0 parameters");
}

TEST_CASE("a parameter prints its value", "[module]") {
  Net net;
  net.last.bias = tensor({2.5});
  CHECK(printed(net.last.bias) == "[2.5]");
  CHECK(printed(net.norm.running_var) == "[1. 1. 1.]");
}

TEST_CASE("a module is saved in one line and loaded in one", "[module]") {
  Folder scratch;
  Net net, other;
  backward(net);  // so that the buffers are no longer the initial ones
  save(net, scratch / "net.safetensors");
  load(other, scratch / "net.safetensors");
  StateDict expected = net.state_dict();
  for (auto& [name, tensor] : other.state_dict()) CHECK(same_bits(tensor, expected.at(name)));

  Linear wider(2, 5), apart(2, 3);
  std::string text = error_of<FileError>([&] { load(wider, scratch / "net.safetensors"); });
  CHECK(contains(text, "net.safetensors: load_state_dict: missing: bias, weight; unknown: "));
  CHECK(contains(text, "first.bias, first.weight, last.bias, last.weight, norm.bias and 4 more"));
  save(apart, scratch / "linear.safetensors");
  text = error_of<FileError>([&] { load(wider, scratch / "linear.safetensors"); });
  CHECK(contains(text, "linear.safetensors: load_state_dict: bias has another shape"));
  CHECK(contains(text, "model (5,) float32"));
  CHECK(contains(text, "file (3,) float32"));
  CHECK_THROWS_AS(load(net, scratch / "nowhere"), FileError);
  CHECK_THROWS_AS(save(net, scratch / "no/folder"), FileError);
  {
    std::fstream file(scratch / "net.safetensors");
    file.seekp(-8, std::ios::end);
    file.write("\0\0\0\0\0\0\0", 8);
  }
  text = error_of<FileError>([&] { load(other, scratch / "net.safetensors"); });
  CHECK(contains(text, "net.safetensors: does not match its glim_checksum: it is damaged"));
  std::ofstream(scratch / "net.safetensors") << "no tensors";
  CHECK_THROWS_AS(load(net, scratch / "net.safetensors"), FileError);
}

TEST_CASE("what is frozen gets no gradient and stays as it is", "[module]") {
  Net net;
  backward(net);
  CHECK(net.freeze("first.*") == Names{"first.weight", "first.bias"});
  CHECK_FALSE(net.first.weight.grad().defined());
  net.zero_grad();
  backward(net);
  CHECK_FALSE(net.first.bias.grad().defined());
  CHECK(net.last.weight.grad().defined());

  StateDict before;
  for (auto& [name, tensor] : net.state_dict()) before[name] = tensor.clone();
  Adam adam(net.parameters(), {.weight_decay = 0.1});
  clip_gradient_norm(net.parameters(), 1);
  adam.step();
  CHECK(same_bits(net.first.weight.value(), before.at("first.weight")));
  CHECK_FALSE(same_bits(net.last.weight.value(), before.at("last.weight")));

  CHECK(net.unfreeze("*.bias") == Names{"first.bias", "last.bias", "norm.bias"});
  backward(net);
  adam.step();
  CHECK(same_bits(net.first.weight.value(), before.at("first.weight")));
  CHECK_FALSE(same_bits(net.first.bias.value(), before.at("first.bias")));
  CHECK(net.unfreeze().size() == 6);
  net.freeze("*");
  CHECK(contains(error_of<StateError>([&] { backward(net); }), "not computed from any trainable"));
}

TEST_CASE("a pattern that no parameter has is refused", "[module]") {
  Net net;
  std::string text = error_of<ValueError>([&] { net.freeze("first"); });
  CHECK(contains(text, "freeze: no parameter matches 'first'; * stands for any text"));
  CHECK(contains(text, "'first.weight'"));
  CHECK_THROWS_AS(net.freeze("norm.running_mean"), ValueError);
  CHECK(contains(error_of<ValueError>([&] { net.unfreeze("x*"); }), "unfreeze: no parameter"));
  CHECK(contains(error_of<ValueError>([] { Module().freeze("*"); }), "there are none"));
  for (const Var& p : net.parameters()) CHECK(p.leaf().trainable);
}

TEST_CASE("a tied parameter is frozen under each of its names", "[module]") {
  struct Tied : Module {
    Child<Linear> GLIM_NAMED(a, 2, 2, false), GLIM_NAMED(b, 2, 2, false);
    Tied() { b.weight.tie(a.weight); }
  } tied;
  CHECK(tied.freeze("b.*") == Names{"b.weight"});
  CHECK_FALSE(tied.a.weight.leaf().trainable);
}

}  // namespace test_whole_module
