// A small fresh Transformer, as the tests of the microscope look at it.
#pragma once

#include "tests/catch.hpp"
#include "tools/kinds/example.hpp"

inline glim::ExampleOptions small_options() {
  glim::ExampleOptions o;
  o.init = true;
  o.fresh.set("layers", 1).set("d_model", 16).set("heads", 2).set("d_ff", 32);
  o.fresh.tokenizer = "word";
  o.fresh.target_tokenizer = "char";
  return o;
}
