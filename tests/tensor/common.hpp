// What the tests of tensor/ share.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tensor/elementwise.hpp"
#include "tensor/error.hpp"
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
  Key key{2024, stream};
  if (dtype == DType::Bool) return bernoulli(shape, 0.5, key);
  if (dtype == DType::Int64) return random_integers(shape, -9, 10, key);
  return normal(shape, 0, 1, key, dtype);
}

// The text of the error that f throws; "" when it throws none.
template <class E = Error>
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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
