// A program of somebody else: a small network learns exclusive or.
#include <cstdio>
#include <glim/glim.hpp>

#include "tensor/tensor.hpp"  // its own, which Glim must not take for Glim's

int main() {
  glim::Sequential net;
  net.append<glim::Linear>(2, 8);
  net.append<glim::Tanh>();
  net.append<glim::Linear>(8, 1);
  glim::Tensor x = glim::from_vector<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  glim::Tensor y = glim::from_vector<float>({0, 1, 1, 0}, {4, 1});
  glim::Adam adam(net.named_parameters(), {.rate = kOwnRate});
  double loss = 1;
  for (int step = 0; step < 300; ++step) {
    glim::Tape tape;
    glim::Var error = glim::mse_loss(net(x), y);
    tape.backward(error);
    adam.step();
    adam.zero_grad();
    loss = error.item();
  }
  std::printf("exclusive or: %s\n", loss < 1e-3 ? "learned" : "not learned");
}
