// The weights of a file under our names (formats.hpp), and what does not fit, by its name in the file.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "tools/convert/formats.hpp"

namespace glim {

struct Misfits {
  std::vector<std::string> missing, unexpected, shapes;
  // FileError listing them, if there are any.
  void refuse(const std::string& file, const Format& format) const;
};

struct ForeignWeights {
  ForeignWeights(std::string path, const Format& f) : file(std::move(path)), format(f) {}
  std::string file;
  const Format& format;
  StateDict ours;
  Misfits misfits;

  // FileError for a weight that has two names and two values.
  void take(const StateDict& theirs);
  const Tensor* find(const std::string& name) const;  // by our name; null: not there
  std::string theirs(const std::string& name) const;
  // The tensor of this rank; FileError where it is not there.
  const Tensor& need(const std::string& name, int rank);
  // The number of layers.
  Index layers(const std::string& stack);
  // Compares with the weights that a model has, name by name and shape by shape.
  void compare(const StateDict& model);

 private:
  void take(const std::string& name, const Tensor& value);
  void join_thirds();
  std::map<std::string, std::array<Tensor, 3>> thirds_;  // of query, key and value
};

}  // namespace glim
