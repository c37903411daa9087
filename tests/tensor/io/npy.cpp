#include "tensor/io/npy.hpp"

#include "tensor/io/safetensors.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_npy {

using namespace glim;

namespace {

std::string npy_bytes(std::string header, std::size_t data, int version = 1) {
  std::string s = "\x93NUMPY";
  s += static_cast<char>(version);
  s += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    s += static_cast<char>(header.size() >> (8 * i) & 255);
  return s + header + std::string(data, '\1');
}

std::string problem_of(const std::string& bytes) {
  Scratch scratch;
  std::string path = scratch / "f";
  put(path, bytes);
  std::string text = error_of<FileError>([&] { read_npy(path); });
  return text.empty() ? "" : text.substr(path.size() + 2);
}

}  // namespace

TEST_CASE("files that NumPy wrote are read", "[npy]") {
  SafeTensors expected = read_safetensors(reference("npy/expected.safetensors"));
  CHECK(expected.tensors.size() == 18);
  for (const auto& [name, x] : expected.tensors) {
    INFO(name);
    Tensor y = read_npy(reference("npy/" + name + ".npy"));
    CHECK(y.is_contiguous());
    CHECK(same_bits(y, x));
  }
}

TEST_CASE("narrower numbers are widened, what has no counterpart is refused", "[npy]") {
  Tensor ramp = reshape(arange(0, 24), {2, 3, 4});
  CHECK(same_bits(read_npy(reference("npy/unsupported_int32.npy")), ramp));
  CHECK(same_bits(read_npy(reference("npy/unsupported_float16.npy")), ramp.to(DType::Float32)));
  auto error = [](const std::string& name) {
    std::string path = reference("npy/unsupported_" + name + ".npy");
    return error_of<FileError>([&] { read_npy(path); }).substr(path.size());
  };
  CHECK(error("complex128") == ": dtype '<c16' is not supported");
  CHECK(error("text") == ": dtype '<U2' is not supported");
  CHECK(error("object") == ": dtype '|O' is not supported");
  CHECK(error("record") == ": header: record arrays are not supported at byte 10");
}

TEST_CASE("the bytes are those that numpy.save writes", "[npy]") {
  Scratch scratch;
  for (std::string name : {"float32_v1", "float64_v1", "int64_v1", "bool_v1", "scalar", "empty",
                           "one_element", "special_float64"}) {
    INFO(name);
    std::string path = reference("npy/" + name + ".npy");
    write_npy(scratch / "f", read_npy(path));
    CHECK(contents(scratch / "f") == contents(path));
  }
}

TEST_CASE("any tensor comes back bit for bit", "[npy]") {
  Scratch scratch;
  std::uint64_t stream = 0;
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool})
    for (Shape s :
         {Shape{}, Shape{1}, Shape{2, 3, 5}, Shape{3, 0, 2}, Shape{1, 2, 1, 2, 1, 2, 1, 2}}) {
      Tensor x = random_tensor(s, t, stream++);
      write_npy(scratch / "f", x);
      CHECK(same_bits(read_npy(scratch / "f"), x));
    }
  Tensor view = slice(transpose(random_tensor({5, 6}, DType::Float64, 77)), 0, 1, 6, 2);
  write_npy(scratch / "f", view);
  CHECK(same_bits(read_npy(scratch / "f"), view));
  CHECK_THROWS_AS(write_npy(scratch / "g", Tensor()), FileError);
  CHECK(scratch.names() == std::vector<std::string>{"f"});
}

TEST_CASE("hostile headers are refused, each with its reason", "[npy]") {
  auto dict = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  };
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 8)) == "");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 8, 2)) == "");
  CHECK(problem_of(npy_bytes("{\"shape\":(2),\"fortran_order\":True,\"descr\":\"|u1\"}", 2)) == "");

  CHECK(problem_of("") == "is not a .npy file");
  CHECK(problem_of("PK\3\4 a zip file") == "is not a .npy file");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 8, 4)) ==
        "version 4.0 of the .npy format is unknown");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 8, 2).substr(0, 11)) ==
        "is truncated in its header");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 0).substr(0, 40)) ==
        "is truncated in its header");
  CHECK(problem_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)) ==
        "header of 4294967295 bytes exceeds the maximum of 64 KiB");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 7)) ==
        "shape (2,) of '<f4' needs 8 bytes, the file holds 7");
  CHECK(problem_of(npy_bytes(dict("<f4", "(2,)"), 9)) ==
        "shape (2,) of '<f4' needs 8 bytes, the file holds 9");
  CHECK(contains(problem_of(npy_bytes(dict("<f4", "(4294967296, 4294967296)"), 8)),
                 "has more elements than memory can address"));
  CHECK(problem_of(npy_bytes(dict("<f4", "(1,1,1,1,1,1,1,1,1)"), 4)) ==
        "header: a rank above 8 at byte 67");
  for (std::string shape :
       {"(-1,)", "(x)", "2", "(99999999999999999999,)", "(1", "(1,,)", "[1]", "(1 2)", "(1.0,)"})
    CHECK(problem_of(npy_bytes(dict("<f4", shape), 4)).starts_with("header: expected"));
  for (std::string descr : {"<u8", "<f16", "<c8", "|S3", "|V4", "f4", "<f", "", "<m8", "?f4"})
    CHECK(problem_of(npy_bytes(dict(descr, "(1,)"), 4)) ==
          "dtype '" + descr + "' is not supported");
  for (std::string header :
       {"", "{", "}", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}", "{'descr", "{descr: 1}",
        "__import__('os')"})
    CHECK(problem_of(npy_bytes(header, 4)).starts_with("header: "));
  CHECK(problem_of(npy_bytes(dict("|b1", "(1,)"), 0) + "\7") ==
        "the array holds a bool that is neither 0 nor 1");
}

}  // namespace test_npy
