// A small fresh Transformer, as the tests of the microscope look at it.
#pragma once

#include "tests/catch.hpp"
#include "tools/inspect/example.hpp"

inline glim::ExampleOptions small_options() {
  glim::ExampleOptions o;
  o.init = true;
  o.fresh.layers = 1;
  o.fresh.d_model = 16;
  o.fresh.heads = 2;
  o.fresh.d_ff = 32;
  o.fresh.tokenizer = "word";
  o.fresh.target_tokenizer = "char";
  return o;
}
