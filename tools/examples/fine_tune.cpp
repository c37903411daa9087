// Freeze and fine-tune: what one task taught serves another.
//
//   fine_tune      writes body.safetensors into the folder it is run in
//
// A body with a head learns in which of four rings a point is. The body is saved, loaded under a new head,
// and frozen: the head alone learns another circle's inside and outside. Then all of it learns on, slowly.
#include <iostream>

#include "nn/activation.hpp"
#include "nn/linear.hpp"
#include "nn/loss.hpp"
#include "nn/sequential.hpp"
#include "optim/adam.hpp"
#include "tensor/ops/reduce.hpp"
using namespace glim;

struct Net : Layer {
  explicit Net(Index classes) : GLIM_NAMED(head, 16, classes) {
    body.append<Linear>(2, 32);
    body.append<Tanh>();
    body.append<Linear>(32, 16);
    body.append<Tanh>();
  }
  Child<Sequential> GLIM_NAMED(body);
  Child<Linear> head;
  Var forward(const Var& x) override { return head(body(x)); }
};

// Trains on random points of class n: outside of n circles, given by the squares of their radii.
void train(const char* what, Net& net, double rate, const std::vector<double>& circles) {
  Adam adam(net.parameters(), {.rate = rate});
  double right = 0;
  for (int step = 0; step < 300; ++step) {
    Tensor points = uniform({256, 2}, -1, 1, generator().next());
    Tensor squares = sum(points * points, {1}), classes = zeros({256}, DType::Int64);
    for (double c : circles) classes = classes + greater(squares, c).to(DType::Int64);
    Tape tape;
    Var logits = net(points);
    tape.backward(cross_entropy(logits, classes));
    adam.step();
    adam.zero_grad();
    right = mean(equal(argmax(logits.value(), -1), classes).to(DType::Float32)).item();
  }
  std::cout << what << ": " << right << " of the last points right\n";
}

int main() {
  Net teacher(4), net(2);  // classes
  train("four rings", teacher, 1e-2, {0.2, 0.45, 0.8});
  save(teacher.body, "body.safetensors");
  load(net.body, "body.safetensors");
  net.freeze("body.*");
  std::cout << net << "\n";
  train("another circle, the head alone", net, 1e-2, {0.3});
  net.unfreeze();
  train("another circle, all of it", net, 1e-3, {0.3});
}
