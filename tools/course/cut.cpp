// Cuts a student's file: derive's lines as functions, with marks around the answers, and what is left without them.
#include <fmt/format.h>
#include <sstream>
#include <utility>

#include "autograd/tape.hpp"
#include "tools/common/ascii.hpp"
#include "tools/course/exercise.hpp"
#include "tools/derive/program.hpp"

namespace glim::course {
namespace {

std::string indented(const std::string& lines, const std::string& indent) {
  std::string text;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) text += indent + line + "\n";
  return text;
}

bool has_word(const std::string& code, const std::string& word) {
  auto part = [&](std::size_t i) {
    return i < code.size() && (is_letter_or_digit(code[i]) || code[i] == '_');
  };
  for (std::size_t i = 0; (i = code.find(word, i)) != std::string::npos; ++i)
    if ((i == 0 || (!part(i - 1) && code[i - 1] != '.')) && !part(i + word.size())) return true;
  return false;
}

// "B, T, _ = x.shape": the sizes that the lines use.
std::string sizes_of(const ExerciseFunction& f, const std::string& lines, bool cpp) {
  std::string text, code;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);)
    code += line.substr(0, line.find(cpp ? "  // " : "  # ")) + "\n";
  std::vector<std::string> known;
  for (const Input& input : f.inputs) {
    std::string left, cpp_list;
    std::size_t count = 0, last = 0;
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::string& letter = input.shape[axis];
      const bool fresh = letter.size() == 1 && letter != "1" && has_word(code, letter) &&
                         std::find(known.begin(), known.end(), letter) == known.end();
      left += (axis ? ", " : "") + (fresh ? letter : "_");
      if (!fresh) continue;
      known.push_back(letter);
      cpp_list += fmt::format("{}{} = {}.size({})", count++ ? ", " : "", letter, input.name, axis);
      last = axis;
    }
    if (count == 0) continue;
    text += cpp          ? "const Index " + cpp_list + ";\n"
            : count == 1 ? fmt::format("{} = {}.shape[{}]\n", input.shape[last], input.name, last)
                         : left + " = " + input.name + ".shape\n";
  }
  return text;
}

std::string parameters(const ExerciseFunction& f, bool cpp, bool backward) {
  std::string text = backward ? cpp ? "const Tensor& dy" : "dy" : "";
  for (const Input& input : f.inputs)
    text += (text.empty() ? "" : ", ") + (cpp ? "const Tensor& " + input.name : input.name);
  return text;
}

std::string function_text(const ExerciseFunction& f, bool cpp, std::string& helpers) {
  Recording r = make_recording(f, extents_of(f, Sizes::Recorded), 0);
  Tape tape({.replay = true});
  const Var y = f.forward(r);
  const Tensor dy = normal(y.shape(), 0, 1, {1, 0}, DType::Float64);
  derive::Letters letters;
  for (const Size& s : f.sizes) letters.names[s.recorded] = s.letter;
  const Index B = r.sizes["B"], T = r.sizes["T"], D = r.sizes["D"];
  if (B > 0) letters.names[B * T] = "B * T";
  if (D > 0) letters.names[2 * D] = "2 * D";
  const derive::FunctionText lines =
      derive::function_text(derive::Listing(derive::trace_of(Pass(tape, y, dy), r.names)), letters,
                            cpp ? derive::kCpp : derive::kNumpy);
  const std::string indent = cpp ? "  " : "    ", mark = cpp ? "// " : "# ";
  auto head = [&](const std::string& code) {
    const std::string line = cpp ? f.cpp_head : f.numpy_head;
    const std::string name = line.substr(0, line.find(" = "));
    return indented(sizes_of(f, code + (line.empty() ? "" : line), cpp) + line, indent);
  };
  std::string answers, gradients;
  std::size_t count = 0;
  for (const Input& input : f.inputs) {
    if (input.kind != Kind::Real) continue;
    std::string shape;
    for (const std::string& letter : input.shape) shape += (shape.empty() ? "" : ", ") + letter;
    answers += fmt::format("{}{}answer: d{} ({}{})\n", indent, mark, input.name, shape,
                           input.shape.size() == 1 ? "," : "");
    gradients += (count++ ? ", d" : "d") + input.name;
  }
  std::string text;
  helpers += lines.helpers;
  const std::string signature = "def " + f.name + "(x, axis):";
  if (const std::size_t position = helpers.find(signature); position != std::string::npos) {
    helpers.replace(position, signature.size(), "def " + f.name + "(x, axis=-1):");
  } else {
    text += cpp ? fmt::format("\nTensor {}({}) {{\n", f.name, parameters(f, cpp, false))
                : fmt::format("\n\ndef {}({}):\n", f.name, parameters(f, cpp, false));
    text += head(lines.forward) + lines.forward + indent + "return y" + (cpp ? ";\n}\n" : "\n");
  }
  std::string result = "Tensor";
  for (std::size_t k = 1; k < count; ++k) result += ", Tensor";
  if (count > 1) result = "std::tuple<" + result + ">";
  text += cpp ? fmt::format("\n{} {}_backward({}) {{\n", result, f.name, parameters(f, cpp, true))
              : fmt::format("\n\ndef {}_backward({}):\n", f.name, parameters(f, cpp, true));
  if (count > 1) gradients = cpp ? "{" + gradients + "}" : gradients;
  text += head(lines.again + lines.backward) + lines.again + answers;
  const std::string end = indent + mark + "end\n";
  // Without the lines of the gradients C++ could not compile their names.
  if (cpp)
    return text + fmt::format("{0}// answer: return {1};\n{2}{0}return {1};\n{3}}}\n", indent,
                              gradients, lines.backward, end);
  return text + lines.backward + end + indent + "return " + gradients + "\n";
}

}  // namespace

std::string file_name(const Exercise& e, Language language) {
  return e.name + (language == Language::Cpp ? ".cpp" : ".py");
}

std::string marked_text(const Exercise& e, Language language) {
  if (e.by_hand()) return std::string(course_file(file_name(e, language)));
  const bool cpp = language == Language::Cpp;
  std::string functions, helpers;
  for (const ExerciseFunction& f : e.functions) {
    std::string definitions;
    functions += function_text(f, cpp, definitions);
    if (helpers.find(definitions) == std::string::npos) helpers += definitions;
  }
  const std::string head =
      fmt::format("{}. {}: `glim course check {}` checks it, `glim course hint {}` helps.",
                  e.number, e.title, e.name, e.name);
  return (cpp ? "// " + head + "\n#pragma once\n#include \"course.hpp\"\n"
              : "\"\"\"" + head + "\"\"\"\nimport numpy as np\n") +
         helpers + functions;
}

std::string cpp_header() {
  // Not #pragma once: the judge has a copy of its own.
  std::string text =
      "// The exercises include this: Glim's tensors, and functions that they call.\n"
      "#ifndef GLIM_COURSE\n#define GLIM_COURSE\n#include <tuple>\n";
  std::istringstream in(derive::cpp_helpers());
  for (std::string line; std::getline(in, line);) {
    const std::string_view prefix = "#include \"";
    if (line.starts_with(prefix))
      line = "#include <glim/" + line.substr(prefix.size(), line.size() - prefix.size() - 1) + ">";
    text += line + "\n";
  }
  return text + "#endif\n";
}

namespace {

// Walks over the lines: `answer` of each line between marks, `keep` of the others.
template <class Keep, class Answer, class Begin>
void walk(const std::string& marked, const Keep& keep, const Answer& answer, const Begin& begin) {
  std::istringstream in(marked);
  bool inside = false, first = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::string code = indent == std::string::npos ? "" : line.substr(indent);
    const bool opens = code.starts_with("# answer") || code.starts_with("// answer");
    if (opens) {
      first = !inside;
      inside = true;
      begin(line.substr(0, indent), code, first);
    } else if (inside && (code == "# end" || code == "// end")) {
      inside = false;
    } else {
      inside ? answer(line) : keep(line);
    }
  }
}

}  // namespace

std::string stub_of(const std::string& marked, Language language) {
  const bool cpp = language == Language::Cpp;
  std::string text, raise;
  auto flush = [&] { text += std::exchange(raise, ""); };
  walk(
      marked, [&](const std::string& line) { flush(), text += line + "\n"; },
      [](const std::string&) {},
      [&](const std::string& indent, const std::string& code, bool first) {
        const std::size_t colon = code.find(": ");
        if (first) flush();
        if (colon != std::string::npos)
          text += indent + (cpp ? "// write " : "# write ") + code.substr(colon + 2) + "\n";
        raise = indent + (cpp ? "throw std::logic_error(\"not written yet\");\n"
                              : "raise NotImplementedError\n");
      });
  flush();
  return text;
}

std::string solution_of(const std::string& marked) {
  std::string text;
  auto keep = [&](const std::string& line) { text += line + "\n"; };
  walk(marked, keep, keep, [](const auto&...) {});
  return text;
}

std::string answers_of(const std::string& marked) {
  std::string text;
  walk(
      marked, [](const std::string&) {}, [&](const std::string& line) { text += line + "\n"; },
      [&](const auto&, const auto&, bool first) { text += first && !text.empty() ? "\n" : ""; });
  return text;
}

}  // namespace glim::course
