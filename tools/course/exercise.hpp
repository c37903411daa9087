// The exercises of the course. 1 to 10 are small functions of Glim's ops: their programs are written by tools/derive,
// so that the library is the solution. 11 and 12 are written by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/derive/trace.hpp"
#include "tools/foreign/function.hpp"

namespace glim::course {

enum class Language { NumPy, Cpp };

struct Size {
  std::string letter;
  Index recorded, checked,
      large;  // `recorded` and `checked` sizes differ, so that each is one letter
};

enum class Kind { Real, Class, Keep };  // Class: int64, below the last size of the function

struct Input {
  std::string name;
  std::vector<std::string> shape;  // of letters, or "1"
  Kind kind = Kind::Real;
};

// The inputs and sizes with which a function is recorded.
struct Recording {
  std::map<std::string, Var> inputs;
  std::map<std::string, Index> sizes;
  derive::NamedConstants names;
  const Var& operator[](const std::string& name) const { return inputs.at(name); }
  const Tensor& given(const std::string& name) const { return inputs.at(name).value(); }
  // A constant that `head` computes.
  Tensor named(const std::string& name, const Tensor& x) {
    names.emplace_back(x, name);
    return x;
  }
};

struct ExerciseFunction {
  std::string name;  // its gradient is NAME_backward
  std::vector<Size> sizes;
  std::vector<Input> inputs;
  std::function<Var(Recording&)> forward = {};  // none: the exercise is written by hand
  std::string numpy_head = {}, cpp_head = {};   // lines before the recorded ones
  double large_values = 0;                      // exp of them is infinite; 0: it takes none
};

struct Exercise {
  int number = 0;
  std::string name, title;
  std::string look, term;  // hints of level 1 and 2
  std::vector<ExerciseFunction> functions;
  bool by_hand() const { return !functions[0].forward; }
};

const std::vector<Exercise>& exercises();
// By number or name. ValueError with the nearest names.
const Exercise& exercise_of(const std::string& name);
// A file of this folder: "runner.py", "softmax.md". The text is empty if there is none.
std::string_view course_file(std::string_view name);

enum class Sizes { Recorded, Checked, Large };
using Extents = std::map<std::string, Index>;  // by letter
Extents extents_of(const ExerciseFunction& f, Sizes sizes);
// With another extent for a letter, and for those that are made of it: K is half of D where there is a K. The same where
// the letter is such a one.
Extents resized(Extents extents, const std::string& letter, Index extent);
Recording make_recording(const ExerciseFunction& f, const Extents& extents, std::uint64_t seed);
// The inputs in order, with real numbers of the given size.
std::vector<GradcheckInput> drawn_inputs(const ExerciseFunction& f, const Extents& extents,
                                         std::uint64_t seed, double scale = 1);
// Glim's own value and gradients, for inputs of any size.
Callbacks reference(const ExerciseFunction& f);

// The student's file, with the answers between marks.
std::string marked_text(const Exercise& e, Language language);
// The file as it is handed out, solved, and the lines between the marks.
std::string stub_of(const std::string& marked, Language language);
std::string solution_of(const std::string& marked);
std::string answers_of(const std::string& marked);
std::string cpp_header();  // course.hpp, which files of C++ include
std::string file_name(const Exercise& e, Language language);

}  // namespace glim::course
