// Reports and messages have a decimal point in a locale of decimal commas.
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <locale>
#include <sstream>
#include <unistd.h>

#include "autograd/gradcheck/gradcheck.hpp"
#include "autograd/observe/tape_table.hpp"
#include "models/decoding/sampling.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"
#include "tests/models/common.hpp"

namespace test_decimal_comma {

using namespace glim;

// The locale "comma", made by localedef, until the end.
class CommaLocale {
 public:
  CommaLocale()
      : folder_(std::filesystem::temp_directory_path() /
                ("glim-locale-" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "source") << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                                         "grouping 3;3\nEND LC_NUMERIC\n";
    std::ofstream charmap(folder_ / "charmap");  // a bare Debian has none
    charmap << "<code_set_name> ANSI_X3.4-1968\n<comment_char> %\n<escape_char> /\nCHARMAP\n"
            << std::hex;
    for (int c = 0; c < 128; ++c)
      charmap << "<U" << std::setw(4) << std::setfill('0') << c << "> /x" << std::setw(2) << c
              << " C" << c << "\n";
    charmap << "END CHARMAP\n";
    charmap.close();
    std::string at = folder_.string();  // localedef warns of what the source lacks, and writes it
    [[maybe_unused]] int status = std::system(("localedef -c -f " + at + "/charmap -i " + at +
                                               "/source " + at + "/comma >" + at + "/log 2>&1")
                                                  .c_str());
    ::setenv("LOCPATH", at.c_str(), 1);
    REQUIRE(std::setlocale(LC_ALL, "comma"));  // else localedef (libc-bin) is missing
    std::locale::global(std::locale("comma"));
  }
  ~CommaLocale() {
    std::locale::global(std::locale::classic());
    ::unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_;
};

std::vector<std::string> texts() {
  std::vector<std::string> all;
  auto refused = [&](auto act) {
    try {
      act();
      all.push_back("accepted");
    } catch (const Error& e) {
      all.push_back(e.what());
    }
  };
  NamedParameters w{{"w", Var::leaf(ones({400}))}};
  refused([] { Dropout(1.5); });
  refused([] { layer_norm(ones({2}), {}, {}, -0.25); });
  refused([] { label_smoothing_loss(Var(ones({1, 3})), tensor({1}, DType::Int64), 1.5, 0); });
  refused([] {
    cross_entropy(Var(ones({2, 3})), tensor({0, 1}, DType::Int64), {.label_smoothing = 1.5});
  });
  refused([&] { Adam(w, {.rate = -1.5}); });
  refused([&] { Adam(w, {.eps = 1.5e-50}); });
  refused([] { check(SamplingOptions{.top_p = 1.5}, 3); });
  all.push_back(noam_schedule(512, 4000, 1.5).describe());
  NamedParameters x{{"x", Var::leaf(full({2}, 0.25, DType::Float64))}};
  all.push_back(
      gradcheck([&] { return 1.5 * sum(Var(x[0].second.value()) * x[0].second); }, x).to_string());
  Tape tape;
  tape.backward(sum(mul(w[0].second, 0.25)));
  all.push_back(to_table(tape));
  std::ostringstream out;
  out << ones({1, 2000}) / 4 << Linear(1000, 1000);
  all.push_back(out.str());
  return all;
}

TEST_CASE("a locale of decimal commas changes no report and no message", "[models]") {
  const std::vector<std::string> plain = texts();
  CommaLocale comma;
  REQUIRE(std::to_string(1.5) == "1,500000");
  const std::vector<std::string> with = texts();
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(plain[i] != "accepted");
    CHECK(with[i] == plain[i]);
  }
}

}  // namespace test_decimal_comma
