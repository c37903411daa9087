#include "tools/benchmarks/settings.hpp"

#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tools/gradient_cases/sizes.hpp"

namespace glim::bench {

const std::vector<Setting>& settings() {
  static const std::vector<Setting> list = {
      {"micro", 16, 16, 2, 32, 1, 4, 8, 8},           {"tiny", 10000, 128, 4, 256, 4, 128, 16, 16},
      {"small", 10000, 256, 4, 1024, 3, 128, 16, 16}, {"base", 10000, 512, 8, 2048, 6, 32, 32, 32},
      {"seed", 5000, 512, 8, 2048, 6, 16, 100, 99},   {"gpt-char", 65, 128, 4, 512, 4, 12, 0, 64},
      {"gpt2", 50257, 768, 12, 3072, 12, 4, 0, 64},
  };
  return list;
}

namespace {

struct Extent {
  const char* name;
  Index Setting::*member;
};
const Extent kExtents[] = {{"vocab", &Setting::vocab},   {"d", &Setting::d},
                           {"heads", &Setting::heads},   {"d_ff", &Setting::d_ff},
                           {"layers", &Setting::layers}, {"batch", &Setting::batch},
                           {"source", &Setting::source}, {"target", &Setting::target}};

}  // namespace

Setting setting(const std::string& name) {
  std::string known;
  for (const Setting& s : settings()) {
    if (s.name == name) return s;
    known += " " + s.name;
  }
  if (name.rfind('{', 0) != 0) throw ValueError("bench", "'" + name + "' is not one of" + known);
  try {
    auto fields = nlohmann::json::parse(name);
    Setting s{};
    s.name = fields.at("name");
    for (const Extent& e : kExtents) s.*e.member = fields.at(e.name);
    return s;
  } catch (const nlohmann::json::exception& e) {
    throw ValueError("bench", std::string("a setting in JSON: ") + e.what());
  }
}

std::string settings_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Setting& s : settings()) {
    nlohmann::ordered_json one = {{"name", s.name}};
    for (const Extent& e : kExtents) one[e.name] = s.*e.member;
    one["flops"] = step_flops(s);
    list.push_back(one);
  }
  return list.dump();
}

double step_flops(const Setting& c) {
  auto d = static_cast<double>(c.d), ff = static_cast<double>(c.d_ff);
  auto s = static_cast<double>(c.source), t = static_cast<double>(c.target);
  auto n = static_cast<double>(c.layers);
  double encoder = n * s * (4 * d * d + 2 * d * ff + 2 * s * d);
  double across = c.decoder_only() ? 0 : n * (t * (2 * d * d + 2 * s * d) + s * 2 * d * d);
  double decoder = n * t * (4 * d * d + 2 * d * ff + 2 * t * d) + across;
  double generator = t * d * static_cast<double>(c.vocab);
  return 6 * static_cast<double>(c.batch) * (encoder + decoder + generator);
}

TransformerConfig transformer_config(const Setting& s, double dropout) {
  auto config = sized<TransformerConfig>(s.vocab, s.d, s.heads, s.d_ff, s.layers);
  config.dropout = dropout;
  return config;
}

}  // namespace glim::bench
