#include "tensor/error.hpp"

#include "tests/catch.hpp"

namespace test_error {

TEST_CASE("an error lists its operands and its place", "[error]") {
  glim::ShapeError e("matmul", "inner dimensions differ");
  e.add_operand("a", "(8, 10, 64) float32");
  e.set_operand_path(0, "decoder.query");
  e.set_place("decoder", "attention.cpp:41");
  e.set_place("outer", "train.cpp:1");
  CHECK(std::string(e.what()) ==
        "matmul: inner dimensions differ\n"
        "  a (8, 10, 64) float32  decoder.query\n"
        "  in decoder, at attention.cpp:41");
  CHECK(e.one_line() ==
        "matmul: inner dimensions differ; a (8, 10, 64) float32 decoder.query; in decoder, at "
        "attention.cpp:41");
}

}  // namespace test_error
