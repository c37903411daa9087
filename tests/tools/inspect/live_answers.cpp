// Answers the requests of a live page as its module does, one on a line: where there is no Emscripten, the tests of the
// page's scripts ask this program (page/without_module.py).
#include <iostream>
#include <string>

extern "C" const char* glim_live(const char* request);  // tools/live/live.cpp

int main() {
  for (std::string request; std::getline(std::cin, request);)
    std::cout << glim_live(request.c_str()) << std::endl;
}
