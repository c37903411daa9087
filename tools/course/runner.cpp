// Runs the functions of a student's file for the checker, as runner.py does. The judge puts an include of the file above,
// and the functions of the exercise in the place of FUNCTIONS. After the start no file can be opened, and no program or
// connection be made.
#include <cctype>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <new>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace course_runner {

using glim::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int kSeconds = 2;
constexpr long kMegabytes = 512;
int replies = 1, errors = 2;
FILE* requests = nullptr;
volatile std::sig_atomic_t ticks = 0;

[[noreturn]] void fail(const char* text) {
  const std::string line = std::string(COURSE_FILE ": ") + text + "\n";
  [[maybe_unused]] const auto written = ::write(errors, line.data(), line.size());
  ::_exit(1);
}
void out_of_time(int) { fail("has not ended after 2 s: is there a loop that never ends?"); }
void tick(int) {  // of the clock, but not while the machine stands still
  ticks = ticks + 1;
  if (ticks > 10 * kSeconds) fail("has not ended after 20 s: does it wait for something?");
}
void refused(int) {
  fail("writes a file, starts a program or connects, which an exercise may not");
}
void crashed(int signal) {
  fail(signal == SIGSEGV ? "crashed (segmentation fault): is an index outside?" : "crashed");
}

// Reading is answered by "permission denied", whatever else by refused().
void forbid() {
  std::vector<sock_filter> f{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  auto on = [&](int call, std::vector<sock_filter> then) {
    f.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0,
                         static_cast<unsigned char>(then.size())));
    f.insert(f.end(), then.begin(), then.end());
  };
  const sock_filter trap = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  auto open = [&](unsigned argument) -> std::vector<sock_filter> {
    return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                     static_cast<unsigned>(offsetof(seccomp_data, args) + 8 * argument)),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1), trap,
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)};
  };
  on(SYS_openat, open(2));
#ifdef SYS_open
  on(SYS_open, open(1));
  for (int call : {SYS_creat, SYS_unlink, SYS_rename, SYS_mkdir, SYS_rmdir, SYS_link, SYS_symlink,
                   SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod, SYS_utime, SYS_utimes,
                   SYS_futimesat, SYS_renameat, SYS_fork, SYS_vfork})
    on(call, {trap});
#endif
  for (int call : {SYS_unlinkat,        SYS_renameat2,
                   SYS_mkdirat,         SYS_linkat,
                   SYS_symlinkat,       SYS_fchmodat,
                   SYS_fchmod,          SYS_truncate,
                   SYS_execve,          SYS_execveat,
                   SYS_clone,           SYS_clone3,
                   SYS_socket,          SYS_kill,
                   SYS_tkill,           SYS_pidfd_send_signal,
                   SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
                   SYS_ptrace,          SYS_openat2,
                   SYS_fchownat,        SYS_fchown,
                   SYS_mknodat,         SYS_utimensat,
                   SYS_ftruncate,       SYS_setxattr})
    on(call, {trap});
  f.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(f.size()), f.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    fail("the system has no seccomp, without which a stranger's program is not run");
}

void limit_time(int seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  const itimerval second{{seconds > 0, 0}, {seconds > 0, 0}};
  ticks = 0;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
  ::setitimer(ITIMER_REAL, &second, nullptr);
}

void limits() {
  requests = ::fdopen(::dup(0), "r");
  replies = ::dup(1);
  errors = ::dup(2);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) ::dup2(nothing, fd);
  long pages = 0;
  if (FILE* statm = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(statm, "%ld", &pages) != 1) pages = 0;
    std::fclose(statm);
  }
  const rlim_t memory = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (kMegabytes << 20));
  const rlimit of_memory{memory, memory}, none{0, 0}, minute{60, 60};
  if (::setrlimit(RLIMIT_AS, &of_memory) != 0)
    fail("a check needs 512 MB of address space more than ulimit -v allows");
  ::setrlimit(RLIMIT_FSIZE, &none);
  ::setrlimit(RLIMIT_CORE, &none);
  ::setrlimit(RLIMIT_CPU, &minute);
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, crashed);
  std::signal(SIGPROF, out_of_time);
  std::signal(SIGALRM, tick);
  std::signal(SIGSYS, refused);
  forbid();
  // The first request is answered before any code of the student's runs: what goes wrong until then is the machine's
  // fault.
  for (char c = 0; c != '\n';)
    if (::read(::fileno(requests), &c, 1) != 1) ::_exit(1);
  if (::write(replies, "{}\n", 3) != 3) ::_exit(1);
  limit_time(kSeconds);
}
// Runs before every constructor, whatever priority the student gives one.
__attribute__((section(".preinit_array"), used)) void (*const first)() = limits;

// A function of the student's as one of Tensors.
using Call = std::function<Tensors(const Tensors&)>;
template <class T>
T argument(const Tensor& x) {
  if constexpr (std::is_arithmetic_v<std::remove_cvref_t<T>>)
    return static_cast<T>(x.item());
  else
    return x;
}
inline Tensors results(const Tensor& y) { return {y}; }
inline Tensors results(double y) { return {glim::scalar(y, glim::DType::Float64)}; }
template <class... T>
Tensors results(const std::tuple<T...>& y) {
  return std::apply([](const auto&... each) { return Tensors{each...}; }, y);
}
template <class R, class... A>
Call call(R (*f)(A...)) {
  return [f](const Tensors& x) {
    if (x.size() != sizeof...(A))
      fail("a function has another number of arguments than it was given");
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return results(f(argument<A>(x[k])...));
    }
    (std::index_sequence_for<A...>());
  };
}

// Reads the arrays of a request, which follow "KEY":{ by name and in order.
struct Reader {
  const char* cursor;
  bool whole = true, logical = false;
  std::vector<double> values;
  std::vector<std::int64_t> integers;
  std::vector<glim::Index> lengths;

  void read(std::size_t depth) {
    if (*cursor == '[') {
      glim::Index n = 0;
      for (++cursor; *cursor != ']'; ++n) {
        read(depth + 1);
        if (*cursor == ',') ++cursor;
      }
      ++cursor;
      if (lengths.size() <= depth) lengths.resize(depth + 1);
      lengths[depth] = n;
      return;
    }
    if (*cursor == 't' || *cursor == 'f') {
      logical = true;
      values.push_back(*cursor == 't');
      while (std::isalpha(static_cast<unsigned char>(*cursor))) ++cursor;
      return;
    }
    char* end = nullptr;
    integers.push_back(std::strtoll(cursor, &end, 10));
    values.push_back(std::strtod(cursor, &end));  // NaN and Infinity too
    for (; cursor != end; ++cursor)
      whole = whole && (*cursor == '-' || std::isdigit(static_cast<unsigned char>(*cursor)));
  }
  Tensor tensor() {
    values.clear(), integers.clear(), lengths.clear();
    whole = true, logical = false;
    read(0);
    glim::Shape shape;
    for (glim::Index n : lengths) shape.push_back(n);
    if (whole && !logical) return glim::from_vector(integers, shape);
    const Tensor x = glim::from_vector(values, shape);
    return logical ? x.to(glim::DType::Bool) : x;
  }
};
Tensors arrays(const std::string& request, const std::string& key,
               std::vector<std::string>* names) {
  Tensors all;
  const std::size_t place = request.find('"' + key + "\":{");
  if (place == std::string::npos) return all;
  Reader r{request.data() + place + key.size() + 4, true, false, {}, {}, {}};
  while (*r.cursor == '"') {
    const char* end = std::strchr(r.cursor + 1, '"');
    if (names) names->emplace_back(r.cursor + 1, end);
    r.cursor = end + 2;
    all.push_back(r.tensor());
    if (*r.cursor == ',') ++r.cursor;
  }
  return all;
}

void print(const Tensor& x, std::string& reply) {
  if (x.rank() == 0) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", x.item());
    reply += std::isnan(x.item())      ? "NaN"
             : std::isfinite(x.item()) ? text
             : x.item() > 0            ? "Infinity"
                                       : "-Infinity";
    return;
  }
  reply += '[';
  for (glim::Index i = 0; i < x.size(0); ++i) {
    if (i) reply += ',';
    print(glim::select(x, 0, i), reply);
  }
  reply += ']';
}

struct Functions {
  Call forward, backward;
};

void send(const std::string& reply) {
  for (std::size_t sent = 0; sent < reply.size();) {
    const auto n = ::write(replies, reply.data() + sent, reply.size() - sent);
    if (n <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(n);
  }
}

void answer(const Functions& f, const std::string& name, const std::string& request) {
  std::vector<std::string> names, outputs;
  Tensors x = arrays(request, "inputs", &names), copies;
  const bool value = request.find("\"call\":\"value\"") != std::string::npos;
  std::vector<std::string> targets;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (glim::is_floating(x[k].dtype())) targets.push_back(names[k]);
  if (!value) {
    x.insert(x.begin(), arrays(request, "dy", nullptr)[0].to(glim::DType::Float64));
    names.insert(names.begin(), "dy");
  }
  for (const Tensor& one : x) copies.push_back(one.clone());
  limit_time(kSeconds);
  const Tensors y = (value ? f.forward : f.backward)(x);
  limit_time(0);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (!glim::same_bits(x[k].contiguous(), copies[k].contiguous()))
      fail((name + " changes its input " + names[k] + ": work on a copy (" + names[k] + ".clone())")
               .c_str());
  if (!value && y.size() != targets.size())
    fail((name + "_backward returns another number of gradients than there are inputs").c_str());
  std::string reply = "{";
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (!y[k].defined()) fail((name + " returns an empty Tensor").c_str());
    const std::string key = !value ? targets[k] : y.size() == 1 ? "y" : "y" + std::to_string(k);
    reply += (k ? ",\"" : "\"") + key + "\":";
    print(y[k].to(glim::DType::Float64), reply);
  }
  send(reply + "}\n");
}

#ifdef COURSE_WHOLE  // exercise 12: its point, and its training
std::string whole(const std::string& request, const char* seed) {
  if (request.find("\"call\":\"train\"") != std::string::npos) {
    limit_time(10 * kSeconds);
    const std::string receipt = ::train();
    limit_time(0);
    return "{\"receipt\":\"" + receipt + "\"}\n";
  }
  if (request.find("\"call\":\"inputs\"") == std::string::npos) return "";
  const Tensors x = ::inputs(std::strtoull(seed, nullptr, 10));
  std::string reply;
  for (std::size_t k = 0; k < x.size(); ++k) {
    reply += (k ? ",\"" + ::kShapes[k - 1].first : std::string("{\"sentences")) + "\":";
    print(x[k], reply);
  }
  return reply + "}\n";
}
#else
std::string whole(const std::string&, const char*) { return ""; }
#endif

}  // namespace course_runner

int main(int, char** arguments) {
  using namespace course_runner;
  const std::map<std::string, Functions> all{FUNCTIONS};
  const std::string name = arguments[1];
  if (const char* prints = std::getenv("COURSE_PRINTS")) ::dup2(std::atoi(prints), 1);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 10);
  limit_time(0);
  std::string request;
  for (int c; (c = std::fgetc(requests)) != EOF;) {
    if (c != '\n') {
      if (c != ' ') request += static_cast<char>(c);
      continue;
    }
    try {
      if (const std::string reply = whole(request, arguments[2]); !reply.empty())
        send(reply);
      else
        answer(all.at(name), name, request);
    } catch (const std::bad_alloc&) {
      fail("needs more than 512 MB of memory");
    } catch (const std::exception& e) {
      const std::string text = e.what();
      fail(text.substr(0, text.find('\n')).c_str());
    }
    request.clear();
  }
}
