#include "tools/cli/program.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

#include "models/tokenizers/utf8.hpp"
#include "tensor/error.hpp"
#include "tensor/matmul/plan.hpp"
#include "tensor/simd/isa.hpp"
#include "tensor/system/files.hpp"
#include "tensor/system/process.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/verbs.hpp"
#include "tools/common/processes.hpp"

namespace {

const glim::About kAbout = {
    "glim", "0.1.0",
    "Glim: a Transformer in a glass box. Trains, translates, measures and gradient-checks on a "
    "CPU.\n\nFirst steps:\n"
    "  glim train                       the phrasebook, English to Chinese, in a few minutes\n"
    "  echo 'I have a cat' | glim translate --model model\n"
    "  glim gradcheck                   every op, every layer, a whole Transformer\n"};

int fail(std::string message, int status = 1) {
  std::fflush(stdout);
  glim::Processes::report_on_rank0();
  if (const auto rank = glim::Processes::world().rank(); rank > 0)
    message = "process " + std::to_string(rank) + ": " + message;
  glim::report_error(message);
  glim::Processes::abort(status);
  return status;
}

// Memory may run out where no exception can pass: nlohmann-json's destructor takes some. Whatever else ends there
// is a fault of the program, and said as it always is.
const std::terminate_handler say_fault = std::get_terminate();
[[noreturn]] void end_in_one_line() {
  try {
    if (std::exception_ptr e = std::current_exception()) std::rethrow_exception(e);
  } catch (const std::bad_alloc&) {
    if (glim::write_all(2, "glim: error: out of memory\n")) std::_Exit(1);
  } catch (...) {
  }
  say_fault();
  std::abort();
}

}  // namespace

int glim::run_program(int argc, char** argv) {
  std::set_terminate(end_in_one_line);
  if (!glim::prepare_streams()) return 1;
  try {
    glim::Processes::start();
    const glim::Processes& world = glim::Processes::world();
    if (!world.first() && !glim::drop_output()) return 1;
    bool quiet = false;
    std::string gemm;
    std::vector<glim::CommandMaker> makers = {GLIM_VERBS};
    for (const std::string_view name : glim::split_spaces(GLIM_LEFT_OUT))
      if (argc > 1 && argv[1] == name)
        throw glim::UsageError(std::string(name) + " " + GLIM_LEFT_OUT_WHY);
    for (glim::CommandMaker& maker : makers)
      maker = [make = maker, &quiet, &gemm] {
        glim::Command command = make();
        if (command.computes) {
          glim::Option& o = command.option("gemm", &gemm, "which GEMM computes large products");
          o.choices = {"builtin", "openblas"};
          o.default_text = "builtin";
        }
        command.option("quiet", &quiet, "print results and errors alone").in_config = false;
        return command;
      };
    std::vector<glim::Command> verbs;
    for (const glim::CommandMaker& maker : makers) verbs.push_back(maker());
    verbs.push_back(glim::describe_command(kAbout, makers));
    glim::Command* verb = nullptr;
    world.together([&] {
      verb = glim::parse_command_line(kAbout, verbs, argc, argv);
      if (verb && !verb->shares_work && world.size() > 1)
        throw glim::UsageError(verb->name + " runs in one process: start it without mpirun");
      glim::best_isa(), glim::gemm_engine();  // GLIM_ISA and GLIM_GEMM are refused here
      if (!gemm.empty()) glim::use_gemm_engine(glim::choose_gemm_engine(gemm.c_str()));
    });
    glim::set_quiet(quiet || !world.first());
    if (verb && verb->writes_files()) glim::go_on_without_reader();
    if (verb) glim::run_command(*verb);
    glim::print_flush();
    glim::Processes::finish();
    return 0;
  } catch (const glim::UsageError& e) {
    return fail(e.what(), 2);
  } catch (const glim::Exit& e) {
    glim::Processes::finish();
    return e.status;
  } catch (const glim::Error& e) {
    return fail(e.one_line());
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(e.path1().string() + ": " + e.code().message());
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
