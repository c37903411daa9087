// A program that answers lines: each line of its standard input gets one line of its standard output.
#pragma once

#include <string>
#include <sys/types.h>

namespace glim::foreign {

class Child {
 public:
  // Run by /bin/sh, in a process group of its own. This process ignores SIGPIPE from then on. A signal that ends it,
  // unless handled, ends the child too.
  explicit Child(const std::string& command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // closes its input; ends it, and all that it started, a second later

  // Sends a line and returns the reply, without its end. ValueError when there is none within `seconds`; the child is
  // of no use after that.
  std::string ask(const std::string& line, double seconds);

 private:
  struct Descriptor {
    ~Descriptor() { reset(); }
    void reset();
    int fd = -1;
  };
  bool read_some(Descriptor& from, std::string& to);
  void read_errors();
  bool ended(double seconds);  // and reaped
  [[noreturn]] void fail_ended();

  Descriptor in_, out_, err_;  // of the child; in_ is written to
  std::string output_, errors_;
  pid_t pid_ = -1;  // -1: reaped
  int status_ = 0;
};

}  // namespace glim::foreign
