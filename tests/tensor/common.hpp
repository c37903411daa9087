// Shared by the tests of tensor/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/parallel.hpp"
#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace glim {

// A file of tests/reference.
inline std::string reference(const std::string& name) {
  return std::string(GLIM_REFERENCE) + "/" + name;
}

inline DType dtype_named(const std::string& name) {
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool})
    if (name_of(t) == name) return t;
  throw ValueError("dtype_named", name);
}

// Random numbers of any dtype, the same on every run.
inline Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t stream) {
  RandomKey key{2024, stream};
  if (dtype == DType::Bool) return bernoulli(shape, 0.5, key);
  if (dtype == DType::Int64) return random_integers(shape, -9, 10, key);
  return normal(shape, 0, 1, key, dtype);
}

// The element at row-major position `at`, found by strides alone, as float64.
inline double element(const Tensor& x, Index at) {
  Index offset = 0;
  for (int i = x.rank() - 1; i >= 0; --i) {
    offset += at % x.shape()[i] * x.strides()[i];
    at /= x.shape()[i];
  }
  return visit_dtype(x.dtype(),
                     [&]<class T>() { return static_cast<double>(x.data<T>()[offset]); });
}

// The row-major position in `shape` read as a position in `small`, which broadcasts to it.
inline Index broadcast_position(Index at, const Shape& shape, const Shape& small) {
  Index result = 0, step = 1;
  for (int i = 1; i <= shape.rank(); ++i) {
    Index c = at % shape[shape.rank() - i];
    at /= shape[shape.rank() - i];
    if (i > small.rank()) continue;
    Index extent = small[small.rank() - i];
    if (extent != 1) result += c * step;
    step *= extent;
  }
  return result;
}

inline std::vector<double> elements(const Tensor& x) {
  std::vector<double> v;
  for (Index i = 0; i < x.numel(); ++i) v.push_back(element(x, i));
  return v;
}

// The elements of every group that the axes in `mask` reduce, in row-major order.
inline std::vector<std::vector<double>> groups(const Tensor& x, int mask) {
  Index count = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (!(mask >> i & 1)) count *= x.shape()[i];
  std::vector<std::vector<double>> all(static_cast<std::size_t>(count));
  for (Index at = 0; at < x.numel(); ++at) {
    Index rest = at, group = 0, step = 1;
    for (int i = x.rank() - 1; i >= 0; --i) {
      Index c = rest % x.shape()[i];
      rest /= x.shape()[i];
      if (mask >> i & 1) continue;
      group += c * step;
      step *= x.shape()[i];
    }
    all[static_cast<std::size_t>(group)].push_back(element(x, at));
  }
  return all;
}

inline double log_sum_exp(const std::vector<double>& v) {
  double s = 0;
  for (double e : v) s += std::exp(e);
  return std::log(s);
}

struct Dice {
  std::mt19937_64 source;
  explicit Dice(std::uint64_t seed) : source(seed) {}
  Index below(Index n) { return static_cast<Index>(source() % static_cast<std::uint64_t>(n)); }
  bool one_in(Index n) { return below(n) == 0; }
  Shape shape(int max_rank, Index max_extent) {
    Shape s;
    for (Index i = below(max_rank + 1); i > 0; --i)
      s.push_back(one_in(12) ? 0 : 1 + below(max_extent));
    return s;
  }
};

// A tensor with some history: transposed, cut with steps, expanded, of any rank up to 6.
inline Tensor random_view(Dice& dice, DType dtype) {
  Tensor x = random_tensor(dice.shape(4, 5), dtype, dice.source());
  for (Index k = dice.below(5); k > 0; --k) {
    Index axis = x.rank() ? dice.below(x.rank()) : 0;
    switch (x.rank() ? dice.below(5) : 4) {
      case 0:
        x = transpose(x, axis, dice.below(x.rank()));
        break;
      case 1:
        x = slice(x, axis, dice.below(2), x.size(axis), 1 + dice.below(3));
        break;
      case 2:
        if (x.size(axis) > 0) x = select(x, axis, dice.below(x.size(axis)));
        break;
      case 3:
        if (x.size(axis) == 1) {
          Shape wider = x.shape();
          wider[static_cast<int>(axis)] = 1 + dice.below(4);
          x = broadcast_to(x, wider);
        }
        break;
      default:
        if (x.rank() < 6) x = unsqueeze(x, dice.below(x.rank() + 1));
    }
  }
  return x;
}

// Runs f with 1, 2, 3 and 4 threads: true when every result has the same bits.
inline bool same_for_any_threads(const std::function<Tensor()>& f) {
  int before = num_threads();
  set_num_threads(1);
  Tensor first = f();
  bool same = true;
  for (int n : {2, 3, 4}) {
    set_num_threads(n);
    same = same && same_bits(first, f());
  }
  set_num_threads(before);
  return same;
}

// A folder that lives as long as the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "glim-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw FileError(name, "cannot make a folder");
    folder_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(folder_); }
  std::string operator/(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::filesystem::path folder_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace glim
