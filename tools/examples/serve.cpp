// A translator behind a socket of this machine: line in, translation out, a thread for each connection.
//
//   serve MODEL SOCKET
#include <ext/stdio_filebuf.h>
#include <glim/pipeline.hpp>
#include <iostream>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

void answer(const glim::Translator& translator, int client) try {
  __gnu_cxx::stdio_filebuf<char> in(client, std::ios::in), out(::dup(client), std::ios::out);
  std::istream lines(&in);
  for (std::string line; std::getline(lines, line);)
    std::ostream(&out) << translator(line, {.beam = 4}) << std::endl;
} catch (const glim::Error& e) {  // ends this connection
  std::cerr << e.what() << "\n";
}

int main(int argc, char** argv) try {
  const glim::Translator translator(argc == 3 ? argv[1] : "MODEL SOCKET are needed");
  sockaddr_un name{AF_UNIX, {}};
  std::string(argv[2]).copy(name.sun_path, sizeof name.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) || ::listen(fd, 64)) return 1;
  for (;;) std::thread(answer, std::cref(translator), ::accept(fd, 0, 0)).detach();
} catch (const glim::Error& e) {
  return std::cerr << "serve: " << e.what() << "\n", 1;
}
