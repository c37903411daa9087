// glim_gradbench: answers GradBench's messages, a line of JSON each, from standard input on standard output.
//
//   start     {id, kind, eval}                       {id, tool}
//   define    {id, kind, module}                     {id, success, error}
//   evaluate  {id, kind, module, function, input}    {id, success, output, timings, error}
//   analysis  {id, kind, of, valid}                  {id}
//
// A function runs min_runs times and for min_seconds, as its input says, and each run has its timing.
#include <chrono>
#include <iostream>

#include "tensor/error.hpp"
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace {

using namespace glim;
using namespace glim::gradbench;

Functions functions_of(const std::string& module) {
#define GLIM_IF(name) \
  if (module == #name) return name();
  GLIM_GRADBENCH(GLIM_IF)
#undef GLIM_IF
  throw ValueError("define", "'" + module + "' is no evaluation of glim_gradbench");
}

TimedFunction function_of(const Json& message) {
  const auto module = message.at("module").get<std::string>();
  const auto function = message.at("function").get<std::string>();
  for (const TimedFunction& f : functions_of(module))
    if (f.name == function) return f;
  throw ValueError("evaluate", module + " has no function '" + function + "'");
}

Json evaluated(const Json& message) {
  const TimedFunction function = function_of(message);
  const Json& input = message.at("input");
  const bool repeats = input.is_object();  // hello's input is a number
  const int min_runs = repeats ? input.value("min_runs", 1) : 1;
  const double min_seconds = repeats ? input.value("min_seconds", 0.0) : 0;
  Json timings = Json::array();
  auto timed = [&](const char* name, auto&& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    timings.push_back({{"name", name}, {"nanoseconds", time.count()}});
    return std::chrono::duration<double>(time).count();
  };
  std::function<Tensors()> compute;
  timed("prepare", [&] { compute = function.prepare(input); });
  Tensors result;
  double seconds = 0;
  for (int run = 0; run < min_runs || seconds < min_seconds; ++run)
    seconds += timed("evaluate", [&] { result = compute(); });
  return {{"success", true}, {"output", function.write(result, input)}, {"timings", timings}};
}

Json answer(const Json& message) {
  try {
    if (message.at("kind") == "start") return {{"tool", "glim"}};
    if (message.at("kind") == "define")
      return functions_of(message.at("module")), Json{{"success", true}};
    if (message.at("kind") == "evaluate") return evaluated(message);
    return Json::object();
  } catch (const std::exception& e) {
    return {{"success", false}, {"error", e.what()}};
  }
}

}  // namespace

int main() try {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const Json message = Json::parse(line);
    Json reply = answer(message);
    reply["id"] = message.at("id");
    std::cout << reply.dump() << std::endl;
  }
} catch (const std::exception& e) {
  std::cerr << "glim_gradbench: error: " << e.what() << "\n";
  return 1;
}
