// A Transformer learns to copy without autograd, modules or an optimizer: gradients are the lines of backward.cpp,
// which `glim derive` writes. The loop and Adam are here. Compile both files with -DWITHOUT_MAIN. DATA, which `glim
// derive` writes too, has the weights to begin with, the positions and the masks.
//
//   copy_task DATA.safetensors
#include <cmath>
#include <iostream>

#include "tensor/io/safetensors.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/random.hpp"
using namespace glim;

Tensor forward_and_backward(const StateDict& w, const StateDict& batch, StateDict& d);
constexpr Index kWords = 6, kFirstWord = 4, kBegin = 1, kEnd = 2;

// A sentence of random words. The decoder reads kBegin and the words, and has to say the words and kEnd.
void draw_sentence(StateDict& batch, RandomKey key) {
  const Index vocabulary = batch.at("q").size(1);
  const Tensor words = random_integers({kWords}, kFirstWord, vocabulary, key);
  const Tensor target = concatenate({words, full({1}, kEnd, DType::Int64)}, 0);
  batch["src_embed.index"] = reshape(target, {1, kWords + 1});
  batch["tgt_embed.index"] =
      reshape(concatenate({full({1}, kBegin, DType::Int64), words}, 0), {1, kWords + 1});
  batch["q"] = one_hot(target, vocabulary, DType::Float64);
}

int main(int argc, char** argv) try {
  if (argc != 2) throw ValueError("data", "run it as copy_task DATA.safetensors");
  StateDict w, batch, d, m, v;
  for (const auto& [name, x] : read_safetensors(argv[1]).tensors)
    if (name.starts_with("batch."))
      batch[name.substr(6)] = x;
    else if (!name.starts_with("gradient."))
      w[name] = x, m[name] = v[name] = zeros(x.shape(), x.dtype());
  Generator generator(1);
  for (int step = 1; step <= 400; ++step) {
    StateDict sum;
    double loss = 0;
    for (int sentence = 0; sentence < 8; ++sentence) {
      draw_sentence(batch, generator.next());
      loss += forward_and_backward(w, batch, d).item() / 8;
      for (const auto& [name, g] : d) sum[name] = sentence ? sum[name] + g : g;
    }
    for (auto& [name, x] : w) {  // Adam: Kingma and Ba 2015, algorithm 1
      const Tensor g = div(sum.at(name), 8);
      m[name] = 0.9 * m[name] + 0.1 * g;
      v[name] = 0.98 * v[name] + 0.02 * g * g;
      const Tensor mean = div(m[name], 1 - std::pow(0.9, step)),
                   square = div(v[name], 1 - std::pow(0.98, step));
      x = x - 0.002 * mean / (sqrt(square) + 1e-9);
    }
    if (step % 50 == 0) std::cout << "step " << step << "  loss " << loss << "\n";
  }
} catch (const Error& e) {
  std::cerr << "copy_task: " << e.one_line() << "\n";
  return 1;
}
