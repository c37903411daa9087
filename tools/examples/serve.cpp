// A translator behind a socket of this machine: line in, translation out, a thread for each connection.
//
//   serve MODEL SOCKET
#include <ext/stdio_filebuf.h>
#include <glim/pipeline.hpp>
#include <iostream>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

void answer(const glim::Translator& translator, int asked) try {
  __gnu_cxx::stdio_filebuf<char> in(asked, std::ios::in), out(::dup(asked), std::ios::out);
  std::istream lines(&in);
  for (std::string line; std::getline(lines, line);)
    std::ostream(&out) << translator(line, {.beam = 4}) << std::endl;
} catch (const glim::Error& e) {  // ends this connection
  std::cerr << e.what() << "\n";
}

int main(int argc, char** argv) try {
  const glim::Translator translator(argc == 3 ? argv[1] : "MODEL SOCKET are needed");
  sockaddr_un at{AF_UNIX, {}};
  std::string(argv[2]).copy(at.sun_path, sizeof at.sun_path - 1);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(server, reinterpret_cast<sockaddr*>(&at), sizeof at) || ::listen(server, 64)) return 1;
  for (;;) std::thread(answer, std::cref(translator), ::accept(server, 0, 0)).detach();
} catch (const glim::Error& e) {
  return std::cerr << "serve: " << e.what() << "\n", 1;
}
