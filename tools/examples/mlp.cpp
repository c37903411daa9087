// A network of two layers on images in MNIST's format, with its training loop in view.
//
//   mlp IMAGES LABELS      train-images-idx3-ubyte and train-labels-idx1-ubyte; a sixth is held out
#include <fstream>
#include <iostream>

#include "nn/activation.hpp"
#include "nn/linear.hpp"
#include "nn/loss.hpp"
#include "nn/sequential.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
using namespace glim;

// IDX: two zeros, 8 for bytes, the rank, its big-endian extents, and the elements.
Tensor read_idx(const std::string& path, unsigned rank) {
  std::ifstream file(path, std::ios::binary);
  std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
  unsigned header = 4 + 4 * rank;
  if (bytes.size() < header || bytes[2] != 8 || bytes[3] != rank)
    throw FileError(path, "cannot be read as IDX: it is missing, packed, or of another kind");
  Shape shape;
  for (unsigned i = 4; i < header; i += 4)
    shape.push_back(Index{bytes[i]} << 24 | bytes[i + 1] << 16 | bytes[i + 2] << 8 | bytes[i + 3]);
  return from_vector(std::vector<float>(bytes.begin() + header, bytes.end()), shape);
}

int main(int argc, char** argv) try {
  if (argc != 3) throw ValueError("usage", "mlp IMAGES LABELS");
  Tensor images = div(read_idx(argv[1], 3), 255);  // (N, H, W)
  Index n = images.size(0), train = n - n / 6;
  images = reshape(images, {n, images.size(1) * images.size(2)});
  Tensor labels = reshape(read_idx(argv[2], 1), {n}).to(DType::Int64);
  Sequential net;
  net.append<Linear>(images.size(1), 128);
  net.append<ReLU>();
  net.append<Linear>(128, static_cast<Index>(max(labels).item()) + 1);
  std::cout << net << "\n";
  Adam adam(net.parameters(), {.rate = 2e-3});
  for (Index epoch = 1; epoch <= 10; ++epoch) {
    Tensor order = permutation(train, generator().next()), rows;
    for (Index begin = 0; begin < train; begin += rows.numel()) {
      rows = slice(order, 0, begin, begin + 32);
      Tape tape;
      Var logits = net(index_select(images, 0, rows));
      tape.backward(cross_entropy(logits, index_select(labels, 0, rows)));
      adam.step();
      adam.zero_grad();
    }
    Var logits = net(slice(images, 0, train, n));
    Tensor truth = slice(labels, 0, train, n), right = equal(argmax(logits.value(), -1), truth);
    std::cout << "epoch " << epoch << "  held-out loss " << cross_entropy(logits, truth).item()
              << "  right " << mean(right.to(DType::Float32)).item() << "\n";
  }
} catch (const std::exception& e) {
  std::cerr << "mlp: " << e.what() << "\n";
  return 1;
}
