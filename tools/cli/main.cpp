#include "tools/cli/program.hpp"
#include "tools/cli/waiting.hpp"

int main(int argc, char** argv) {
  glim::wait_briefly(argv);
  return glim::run_program(argc, argv);
}
