// GradBench's evaluations by ADOL-C (Walther and Griewank 2012, "Getting started with ADOL-C"), a tape of numbers in place
// of tensors. main.cpp answers the protocol with them. Each run records its tape, as Glim's does. ht, and what has a
// derivative within another (particle, saddle), are not here.
#include <adolc/adolc.h>

#include "tensor/error.hpp"
#include "tools/benchmarks/gradbench/adolc_formulas.hpp"
#include "tools/benchmarks/gradbench/evaluation.hpp"

namespace glim::gradbench {
namespace {

constexpr short kTape = 1;

Tensor row(const Numbers& x) { return from_vector(x, {std::ssize(x)}); }

// f of numbers or of adouble, and the x that it is differentiated by.
template <class F>
struct Program {
  Numbers x;
  F f;
};
template <class F>
Program(Numbers, F) -> Program<F>;

// A recording goes at the end of its block, with the files that a long one fills.
struct Recording {
  explicit Recording(int keep = 0) { trace_on(kTape, keep); }
  ~Recording() { removeTape(kTape, ADOLC_REMOVE_COMPLETELY); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};
Row<adouble> recorded(const Numbers& numbers) {
  Row<adouble> x(numbers.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] <<= numbers[i];
  return x;
}
// y = f(x) on the tape.
template <class F>
void record(const Program<F>& p) {
  double y;
  p.f(recorded(p.x)) >>= y;
  trace_off();
}

template <class Read>
Functions functions(const std::string& value, const std::string& gradient, const Read& read,
                    const Write& write = first) {
  auto compute = [read](const Json& input) {
    return [p = read(input)] { return Tensors{full({}, p.f(p.x), DType::Float64)}; };
  };
  auto derive = [read](const Json& input) {
    return [p = read(input)] {
      const Recording tape(1);  // keeps what one reverse sweep reads
      record(p);
      Numbers g(p.x.size());
      double one = 1;
      fos_reverse(kTape, 1, static_cast<int>(g.size()), &one, g.data());
      return Tensors{row(g)};
    };
  };
  return {{value, compute, first}, {gradient, derive, write}};
}

}  // namespace

Functions hello() {
  auto read = [](const Json& input) {
    return Program{Numbers{input.get<double>()}, [](const auto& x) { return x[0] * x[0]; }};
  };
  return functions("square", "double", read, [](const Tensors& g, const Json&) -> Json {
    return g[0].to_vector<double>()[0];
  });
}

Functions lse() {
  return functions("primal", "gradient", [](const Json& input) {
    return Program{numbers_of(input.at("x")),
                   [](const auto& x) { return log_sum_exp(x.data(), x.size()); }};
  });
}

Functions gmm() {
  auto read = [](const Json& input) {
    Numbers z;
    for (const char* name : {"alpha", "mu", "q", "l"}) append(z, input.at(name));
    return Program{z, Mixture(input)};
  };
  auto write = [](const Tensors& g, const Json& input) -> Json {
    const Index d = input.at("d"), k = input.at("k");
    auto part = [&](Index from, const Shape& shape) {
      return lists_of(reshape(narrow(g[0], 0, from, numel_of(shape)), shape));
    };
    return {{"alpha", part(0, {k})},
            {"mu", part(k, {k, d})},
            {"q", part(k + k * d, {k, d})},
            {"l", part(k + 2 * k * d, {k, d * (d - 1) / 2})}};
  };
  return functions("objective", "jacobian", read, write);
}

Functions kmeans() {
  auto read = [](const Json& input) {
    return Program{numbers_of(input.at("centroids")), Clusters(input)};
  };
  Functions both = functions("cost", "dir", read);
  both[1].prepare = [read](const Json& input) {
    return [p = read(input)] {
      const Recording tape;
      record(p);
      const int n = static_cast<int>(p.x.size());
      Numbers x = p.x, ones(n, 1), g(n), h(n);
      ::gradient(kTape, n, x.data(), g.data());
      ::hess_vec(kTape, n, x.data(), ones.data(), h.data());
      return Tensors{reshape(div(row(g), row(h)), {-1, static_cast<Index>(p.f.d)})};
    };
  };
  return both;
}

Functions llsq() {
  return functions("primal", "gradient", [](const Json& input) {
    return Program{numbers_of(input.at("x")), Polynomial{input.at("n")}};
  });
}

Functions det() {
  return functions("primal", "gradient", [](const Json& input) {
    Row<std::size_t> all(input.at("ell").get<std::size_t>());
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = j;
    return Program{numbers_of(input.at("A")),
                   [all](const auto& a) { return minor(a, all.size(), 0, all); }};
  });
}

Functions lstm() {
  return functions("objective", "jacobian", [](const Json& input) {
    Numbers parameters = numbers_of(input.at("main_params"));
    append(parameters, input.at("extra_params"));
    return Program{parameters, Lstm(input)};
  });
}

Functions ode() {
  auto read = [](const Json& input) {
    return Program{numbers_of(input.at("x")), [steps = input.at("s").get<Index>()](const auto& x) {
                     return solved(x, steps).back();
                   }};
  };
  Functions both = functions("primal", "gradient", read);
  both[0].prepare = [](const Json& input) {
    return [x = numbers_of(input.at("x")), steps = input.at("s").get<Index>()] {
      return Tensors{row(solved(x, steps))};
    };
  };
  return both;
}

Functions ba() {
  struct Observation {
    Numbers z, measured;
    std::size_t count;
    explicit Observation(const Json& input)
        : measured(numbers_of(input.at("feat"))), count(input.at("p")) {
      for (const char* name : {"cam", "x", "w"}) append(z, input.at(name));
    }
  };
  auto objective = [](const Json& input) {
    return [o = Observation(input)] {
      Numbers all;
      for (std::size_t i = 0; i < o.count; ++i)
        for (double e : observed(o.z, o.measured)) all.push_back(e);
      return Tensors{row(all)};
    };
  };
  // One observation is recorded, and read at the numbers of each.
  auto derive = [](const Json& input) {
    return [o = Observation(input)] {
      const std::size_t n = o.z.size();
      const Recording tape;
      Row<adouble> z = recorded(o.z);
      Row<adouble> e = observed(z, o.measured);
      double unused;
      for (adouble& part : e) part >>= unused;
      trace_off();
      Numbers all(o.count * 3 * n);
      for (std::size_t at = 0; at < o.count; ++at) {
        double* rows[3];
        for (std::size_t i = 0; i < 3; ++i) rows[i] = &all[(3 * at + i) * n];
        jacobian(kTape, 3, static_cast<int>(n), o.z.data(), rows);
      }
      return Tensors{row(all)};
    };
  };
  auto errors = [](const Tensors& e, const Json& input) -> Json {
    const Numbers all = e[0].to_vector<double>();
    return {{"reproj_error", {{"elements", {all[0], all[1]}}, {"repeated", input.at("p")}}},
            {"w_err", {{"element", all[2]}, {"repeated", input.at("p")}}}};
  };
  auto sparse = [](const Tensors& J, const Json&) -> Json {
    Numbers all = J[0].to_vector<double>(), shown(all.begin(), all.begin() + 30);
    shown.push_back(all.back());
    return {{"vals", shown}};
  };
  return {{"objective", objective, errors}, {"jacobian", derive, sparse}};
}

#define GLIM_NONE(name) \
  Functions name() { throw ValueError("define", #name " is not written for ADOL-C"); }
GLIM_NONE(ht)
GLIM_NONE(particle)
GLIM_NONE(saddle)
#undef GLIM_NONE

}  // namespace glim::gradbench
