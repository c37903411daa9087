#include "tools/cli/program.hpp"

int main(int argc, char** argv) { return glim::run_program(argc, argv); }
