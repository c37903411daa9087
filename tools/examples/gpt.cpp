// A GPT on a text of one's own, byte by byte.
//
//   gpt FILE      writes gpt.safetensors into the folder it is run in
//
// It prints the loss while it learns, in nats a byte, and a text of its own at the end.
#include "models/gpt/gpt.hpp"

#include <fstream>
#include <iostream>

#include "models/decoding/sampling.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "tensor/ops/index.hpp"
using namespace glim;

int main(int argc, char** argv) try {
  if (argc != 2) throw ValueError("gpt", "give a file: gpt FILE");
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
  GptConfig config{.vocab = 256, .context = 64, .d_model = 64, .layers = 2, .init = 0.1};
  auto n = static_cast<Index>(bytes.size());
  if (n <= config.context) throw FileError(argv[1], "is not there, or has less than 65 bytes");
  Tensor text = from_vector(std::vector<Index>(bytes.begin(), bytes.end()), {n});
  Gpt model(config);
  std::cout << n << " bytes, " << model.parameter_count() << " parameters\n";
  AdamW adam(model.parameters(), {.rate = 3e-3, .beta2 = 0.99, .weight_decay = 0.1});
  for (Index step = 1; step <= 500; ++step) {
    Tensor starts = random_integers({16}, 0, n - config.context, generator().next());
    std::vector<Tensor> rows;  // of one byte more than the context
    for (Index start : starts.to_vector<Index>())
      rows.push_back(slice(text, 0, start, start + config.context + 1));
    Tensor batch = stack(rows, 0);
    Tape tape;
    Var loss = cross_entropy(model(slice(batch, 1, 0, -1)), slice(batch, 1, 1, config.context + 1));
    tape.backward(loss);
    clip_gradient_norm(model.parameters(), 1);
    adam.step();
    adam.zero_grad();
    if (step % 50 == 0) std::cout << "step " << step << "  loss " << loss.item() << std::endl;
  }
  save(model, "gpt.safetensors");

  model.eval();
  auto decoder = model.decoder_for(empty({1, 0}, DType::Int64));
  SamplingOptions sampling{.temperature = 0.8, .never = {}};
  for (Index id : generate(*decoder, bytes[0], 300, sampling, {1, 0}))
    std::cout << static_cast<char>(id);
  std::cout << "\n";
} catch (const std::exception& e) {
  std::cerr << "gpt: " << e.what() << "\n";
  return 1;
}
