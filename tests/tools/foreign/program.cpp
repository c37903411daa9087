// A function in another program: the exchange, and programs that do not keep to it.
#include "tools/foreign/program.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tests/catch.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/common/folder.hpp"

namespace glim::foreign_program {
namespace {

using foreign::Program;

// A program of Perl: y = x² for one input x, whose value is `x`, and the derivative `derivative`.
std::string perl(const std::string& x, const std::string& derivative = "2 * $x[$_] * $dy[$_]") {
  return R"(perl -e 'use JSON::PP; $| = 1;
    sub array { "[" . join(",", map { sprintf "%.17g", $_ } @_) . "]" }
    while (<STDIN>) {
      my $r = decode_json($_);
      if ($r->{call} eq "inputs") { print "{\"x\": )" +
         x + R"(}\n"; next }
      my @x = @{$r->{inputs}{x}};
      if ($r->{call} eq "value") { print "{\"y\": ", array(map { $_ ** 2 } @x), "}\n"; next }
      my @dy = @{$r->{dy}{y}};
      print "{\"x\": ", array(map { )" +
         derivative + R"( } 0 .. $#x), "}\n";
    }')";
}

// y = x³, whose output is named x, too. Its gradient is right, and that of its gradient has these elements.
std::string cube(const std::string& by_x, const std::string& by_dy) {
  return R"(perl -e 'use JSON::PP; $| = 1;
    sub array { "{\"x\": [" . join(",", map { sprintf "%.17g", $_ } @_) . "]}" }
    while (<STDIN>) {
      my $r = decode_json($_);
      if ($r->{call} eq "inputs") { print "{\"n\": 7, \"x\": [0.5, -1.25, 3.5]}\n"; next }
      my @x = @{$r->{inputs}{x}};
      if ($r->{call} eq "value") { print array(map { $_ ** 3 } @x), "\n"; next }
      my @dy = @{$r->{dy}{x}};
      if ($r->{call} eq "gradient") { print array(map { 3 * $x[$_] ** 2 * $dy[$_] } 0 .. $#x), "\n"; next }
      my @v = @{$r->{v}{x}};
      print "{\"inputs\": ", array(map { )" +
         by_x + R"( } 0 .. $#x), ", \"dy\": ", array(map { )" + by_dy + R"( } 0 .. $#x), "}\n";
    }')";
}

// Replies to the three requests with these lines.
std::string replying(const std::string& inputs, const std::string& value,
                     const std::string& gradient) {
  return "while read line; do case \"$line\" in *inputs\\\"}*) echo '" + inputs +
         "';; *value*) echo '" + value + "';; *) echo '" + gradient + "';; esac; done";
}

FunctionReport checked(const std::string& command, double seconds = 60) {
  Program program(command, seconds);
  const std::vector<GradcheckInput> inputs = program.inputs();
  return check_function(program.function(), inputs, {.name = "mine"});
}

FunctionReport checked_twice(const std::string& command, double seconds = 60) {
  Program program(command, seconds);
  std::vector<GradcheckInput> inputs = program.inputs();
  const Callbacks f = program.second_order(inputs);
  return check_function(f, inputs, {.name = "mine"});
}

// The one line that says what is wrong with the program.
std::string problem(const std::string& command, double seconds = 60,
                    FunctionReport (*check)(const std::string&, double) = checked) {
  std::string text;
  try {
    check(command, seconds);
  } catch (const ValueError& e) {
    text = e.one_line();  // as the program says it
  }
  CHECK(text.starts_with("--program: "));
  CHECK_FALSE(contains(text, "\n"));
  // Nothing is left of it.
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
  return text;
}

// The process whose number the file has ends. The signal takes a moment, and so does init, which reaps it.
bool ends(const std::string& path) {
  std::string process;
  std::ifstream(path) >> process;
  REQUIRE_FALSE(process.empty());
  auto alive = [&] {
    std::string state = "Z", word;
    std::ifstream status("/proc/" + process + "/status");
    while (status >> word)
      if (word == "State:") status >> state;
    return state != "Z" && state != "X";
  };
  for (int i = 0; i < 600 && alive(); ++i) ::usleep(100000);
  return !alive();
}

}  // namespace

TEST_CASE("a program is checked by its replies") {
  const FunctionReport right = checked(perl("[0.5, -1.25, 3.5]"));
  INFO(right.text());
  CHECK(right);
  const FunctionReport wrong = checked(perl("[0.5, -1.25, 3.5]", "$x[$_] * $dy[$_]"));
  CHECK_FALSE(wrong);
  CHECK(contains(wrong.mistake, "a constant factor: 1/2 times"));
  // A request that no pipe holds, of a program that prints before it has read all of it.
  std::string many = "[0.5";
  for (int i = 0; i < 20000; ++i) many += ",1.5";
  Program program(perl(many + "]"), 60);
  const Tensor x = program.inputs()[0].value;
  CHECK(x.numel() == 20001);
  CHECK(same_bits(program.function().value({x})[0], x * x));
}

TEST_CASE("a program's gradient of its gradient is checked against its gradient") {
  const char *by_x = "6 * $x[$_] * $dy[$_] * $v[$_]", *by_dy = "3 * $x[$_] ** 2 * $v[$_]";
  const FunctionReport right = checked_twice(cube(by_x, by_dy));
  INFO(right.text());
  CHECK(right);
  CHECK(right.differences.inputs.size() == 2);
  CHECK(right.differences.inputs[0].name == "dy");
  CHECK(contains(right.check("elsewhere").detail, "and for dy (4,), x (4,)"));
  FunctionReport wrong = checked_twice(cube("3 * $x[$_] * $dy[$_] * $v[$_]", by_dy));
  CHECK(wrong.differences.inputs[0].failed == 0);
  CHECK(wrong.differences.inputs[1].failed > 0);
  CHECK(contains(wrong.mistake, "a constant factor: 1/2 times"));
  wrong = checked_twice(cube(by_x, "3 * $x[$_] * $v[$_]"));
  CHECK(wrong.differences.inputs[0].failed > 0);
  CHECK(wrong.differences.inputs[1].failed == 0);
  // The program would take a dy of another size than y. It is not asked to.
  Program program(cube(by_x, by_dy), 60);
  std::vector<GradcheckInput> inputs = program.inputs();
  const Callbacks f = program.second_order(inputs);
  REQUIRE(inputs.size() == 3);
  CHECK_THROWS_WITH(f.value({ones({4}, DType::Float64), inputs[1].value, inputs[2].value}),
                    Catch::Matchers::StartsWith("--program: dy has not the shape of y"));
  // A gradient that is wrong makes the gradient of it wrong: x² for 3 x².
  std::string first = cube(by_x, by_dy);
  first.replace(first.find("3 * $x[$_] ** 2 * $dy"), 4, "");
  CHECK_FALSE(checked_twice(first));
}

TEST_CASE("a program without a gradient of its gradient is told so in one line") {
  CHECK(contains(problem(perl("[0.5, -1.25, 3.5]"), 60, checked_twice),
                 "asked for the second_order: the reply to --second-order is "
                 "{\"inputs\": {...}, \"dy\": {...}}, and has no object \"inputs\""));
  CHECK(contains(problem(cube("die(qq(no such call\n))", "0"), 60, checked_twice),
                 "asked for the second_order: it ended with status"));
}

TEST_CASE("numbers arrive with all their bits") {
  Program echo(R"(perl -ne 'BEGIN { $| = 1 }
    if (/"inputs"}/) { print "{\"x\": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 0.30000000000000004], \"i\": [[1, 2], [3, 4]], \"b\": [true, false], \"s\": 2.5, \"e\": [[], []]}\n" }
    else { s/.*"inputs": //; s/}$//; print }')",
               60);
  const std::vector<GradcheckInput> in = echo.inputs();
  REQUIRE(in.size() == 5);
  Tensors x;
  for (const GradcheckInput& input : in) x.push_back(input.value);
  CHECK(x[0].to_vector<double>() ==
        std::vector<double>{0.1, -0.0, 5e-324, 1.7976931348623157e308, 0.30000000000000004});
  CHECK(x[1].kind() == "(2, 2) int64");
  CHECK(x[2].kind() == "(2,) bool");
  CHECK(x[3].kind() == "() float64");
  CHECK(x[4].kind() == "(2, 0) float64");
  CHECK(in[1].name == "i");
  const Tensors back = echo.function().value(x);
  REQUIRE(back.size() == 5);
  for (std::size_t k = 0; k < x.size(); ++k) CHECK(same_bits(back[k], x[k].to(DType::Float64)));
}

TEST_CASE("what is not finite arrives, and integers that no double holds") {
  test::TemporaryFile file;
  Program echo(R"(perl -ne 'BEGIN { $| = 1 }
    if (/"inputs"}/) { print "{\"x\": [NaN, Infinity, -Infinity, 1.5], \"i\": [9007199254740993, -9223372036854775808, 9223372036854775807], \"n\": NaN}\n" }
    else { open(my $f, ">", ")" +
                   file.path() + R"("); print $f $_; close $f; s/.*"inputs": //; s/}$//; print }')",
               60);
  const std::vector<GradcheckInput> in = echo.inputs();
  REQUIRE(in.size() == 3);
  CHECK(in[1].value.to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{9007199254740993, std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()});
  const Tensors back = echo.function().value({in[0].value, in[1].value, in[2].value});
  const std::vector<double> x = back[0].to_vector<double>();
  CHECK(std::isnan(x[0]));
  CHECK(x[1] == std::numeric_limits<double>::infinity());
  CHECK(x[2] == -x[1]);
  CHECK(std::isnan(back[2].item()));
  std::string sent;
  std::getline(std::ifstream(file.path()), sent);
  CHECK(
      contains(sent, R"({"call": "value", "inputs": {"x": [NaN,Infinity,-Infinity,1.5], "i": [)"));
  CHECK(contains(sent, "[9007199254740993,-9223372036854775808,9223372036854775807]"));
}

TEST_CASE("null is neither NaN nor an input that is left out") {
  CHECK(
      contains(problem("read l; echo '{\"i\": [18446744073709551615]}'"), "which no int64 holds"));
  auto gradient = [](const std::string& x) {
    return replying(R"({"x": 1.5})", R"({"y": 2.0})", "{\"x\": " + x + "}");
  };
  CHECK(
      contains(problem(gradient("null")), "\"x\" has \"null\" where a number belongs: print NaN"));
  for (const char* x : {"NaN", "\"NaN\""})
    CHECK(contains(checked(gradient(x)).mistake, "the gradient of x is not finite: nan"));
  CHECK(contains(checked(gradient("Infinity")).mistake, "the gradient of x is not finite: inf"));
  CHECK(contains(checked(gradient("-Infinity")).mistake, "is not finite: -inf"));
}

TEST_CASE("a program that does not keep to the exchange is told so in one line") {
  CHECK(contains(problem("no-such-program"), "ended with status 127, and says: "));
  CHECK(contains(problem("no-such-program"), "not found"));
  CHECK(contains(problem("exit 3"), "\"exit 3\", asked for the inputs: it ended with status 3"));
  CHECK(contains(problem("echo first >&2; echo '  last' >&2; echo >&2; exit 1"),
                 "status 1, and says: first | last"));
  CHECK(contains(problem("seq 5 >&2; exit 1"), "status 1, and says: 3 | 4 | 5"));
  CHECK(contains(problem("kill -9 $$"), "was ended by a signal (Killed)"));
  CHECK(contains(problem("echo ready"), "\"ready\" is no JSON object of arrays by name"));
  CHECK(contains(problem("yes"), "\"y\" is no JSON object"));
  CHECK(contains(problem("echo '{\"x\": [1], \"x\": [2]}'"), "\"x\" is in the reply twice"));
  CHECK(contains(problem("exec >&-; sleep 20", 5), "closed its standard output"));
  CHECK(contains(problem("sleep 20", 0.2), "no reply within 0.2 s (--timeout)"));
  CHECK(contains(problem("exec <&-; sleep 20", 0.2), "no reply within 0.2 s"));
  CHECK(contains(problem("yes >&2", 0.2), "no reply within 0.2 s"));
  CHECK(contains(problem("tr '\\0' a </dev/zero", 120), "MB without an end of line"));
  CHECK(contains(problem("cat"), "\"call\" has \"\"inputs\"\" where a number belongs"));
}

TEST_CASE("a program that closes its standard input ends nothing else") {
  Program program(R"(read l; exec <&-; echo '{"x": 1.5}'; sleep 20)", 0.5);
  const Tensor x = program.inputs()[0].value;
  try {
    program.function().value({x});
    FAIL("it replied");
  } catch (const ValueError& e) {
    CHECK(contains(e.what(), "asked for the value: no reply within 0.5 s"));
  }
}

TEST_CASE("replies that make no sense are named by array") {
  auto reply = [](const std::string& inputs, const std::string& value = R"({"y": 1.0})",
                  const std::string& gradient = R"({"x": 1.0})") {
    return problem(replying(inputs, value, gradient));
  };
  CHECK(contains(reply(R"({"x": [[1.5], [2.5, 3]]})"), "\"x\" has lists of different lengths"));
  CHECK(contains(reply(R"({"x": [1.5, [2.5]]})"), "\"x\" has lists of different depth"));
  CHECK(contains(reply(R"({"x": ["one"]})"), "where a number belongs"));
  CHECK(contains(reply(R"({"x": [[[[[[[[[1.5]]]]]]]]]})"), "\"x\" has more than 8 axes"));
  CHECK(contains(reply(R"([1.5])"), "is no JSON object"));
  CHECK(contains(reply(R"({"x": [1.5})"), "is no JSON object"));
  CHECK(contains(reply(R"({"NaNs": [1.5, [2.5]]})"), "\"NaNs\" has lists of different depth"));
  CHECK(contains(reply(R"({"x": 1.5})", "{}"), "asked for the value: the reply has no output"));
  CHECK(contains(reply(R"({"x": 1.5})", R"({"y": 1.0})", R"({"dx": 1.0})"),
                 "asked for the gradient: \"dx\" is no input; the inputs are \"x\""));
  CHECK(contains(problem(R"(read l; echo '{"x": 1.5}'; read l; echo '{"y": 1.5}'
    while read l; do case "$l" in *value*) echo '{"z": 1.5}';; *) echo '{"x": 1.5}';; esac; done)"),
                 "\"y\" is missing, which was there before"));
  CHECK(contains(problem(R"(while read l; do printf '{"x": 1.5}\n{"x": 1.5}\n'; sleep 0.1; done)"),
                 "it prints more than one line for a request"));
}

TEST_CASE("wrong gradients of a program fail, and are reported") {
  auto of = [](const std::string& gradient) {
    return checked(replying(R"({"x": [1.5, 2.5]})", R"({"y": [1.0, 2.0]})", gradient));
  };
  FunctionReport r = of(R"({"x": [NaN, -Infinity]})");
  CHECK(contains(r.mistake, "the gradient of x is not finite"));
  r = of(R"({"x": [1.0, 2.0, 3.0]})");
  CHECK(contains(r.mistake, "the gradient of x has shape (3,), x has (2,)"));
  r = of("{}");  // right where f is constant; and nothing was found right
  CHECK(r.check("differences").verdict == CheckVerdict::Undecided);
  CHECK(r.mistake == "");
  CHECK_FALSE(r);
}

TEST_CASE("a program that has ended is started again") {
  // It ends where b is as large as x, which it is only asked to find out whether f broadcasts b.
  const FunctionReport r = checked(R"(perl -e 'use JSON::PP; $| = 1;
    while (<STDIN>) {
      my $r = decode_json($_);
      if ($r->{call} eq "inputs") { print "{\"x\": [0.5, 1.5], \"b\": 2.5}\n"; next }
      my ($x, $b) = ($r->{inputs}{x}, $r->{inputs}{b});
      die "b is an array" if ref $b;
      if ($r->{call} eq "value") { printf "{\"y\": [%.17g, %.17g]}\n", map { $_ * $b } @$x; next }
      my $dy = $r->{dy}{y};
      printf "{\"x\": [%.17g, %.17g], \"b\": %.17g}\n", $b * $dy->[0], $b * $dy->[1], $x->[0] * $dy->[0] + $x->[1] * $dy->[1];
    }')");
  INFO(r.text());
  CHECK(r);
  CHECK(r.check("broadcast").verdict == CheckVerdict::NotApplicable);
}

TEST_CASE("a program ends with the checker, whatever ends it, and so do temporary folders") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGKILL}) {
    CAPTURE(signal);
    test::TemporaryFile file, folder;
    const pid_t checker = ::fork();
    if (checker == 0) {
      std::signal(signal, SIG_DFL);  // not Catch2's handler
      const rlimit none{0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      const TemporaryFolder made;
      std::ofstream(made.path / "file") << "something";
      std::ofstream(folder.path()) << made.path.string() << std::endl;
      Program("sleep 300 & echo $! >" + file.path() + "; wait", 300).inputs();
      ::_exit(1);
    }
    auto started = [&] {
      return std::ifstream(file.path()).peek() != std::ifstream::traits_type::eof();
    };
    for (int i = 0; i < 600 && !started(); ++i) ::usleep(100000);
    ::kill(checker, signal);
    int status = 0;
    CHECK(::waitpid(checker, &status, 0) == checker);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(ends(file.path()));
    std::string path;
    std::ifstream(folder.path()) >> path;
    for (int i = 0; i < 600 && std::filesystem::exists(path); ++i) ::usleep(100000);
    CHECK_FALSE(std::filesystem::exists(path));
  }
}

TEST_CASE("a program that stays is ended with all it has started") {
  const auto start = std::chrono::steady_clock::now();
  test::TemporaryFile file;
  {
    Program program("trap '' HUP TERM INT; sleep 300 & echo $! >" + file.path() + "; " +
                        R"(while :; do read l && echo '{"x": 1.5}' || sleep 300; done)",
                    60);
    CHECK(program.inputs().size() == 1);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(ends(file.path()));
}

}  // namespace glim::foreign_program
