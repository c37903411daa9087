// The findings of an inspection add up to the tape's.
#include "tools/inspect/inspection.hpp"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <set>

#include "tensor/error.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tests/tools/pictures.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/pack.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/kinds/kind.hpp"
#include "tools/kinds/presets.hpp"
#include "tools/measure/statistics.hpp"

namespace test_inspection {

using namespace glim;

namespace {

ExampleOptions two_layers(const std::string& norm = "pre",
                          const std::string& kind = "transformer") {
  ExampleOptions o = small_options();
  o.fresh.kind = kind;
  o.fresh.set("layers", 2).set("d_model", 16);
  if (kind == "rnn" || kind == "conv") return o;  // they have none of these options
  o.fresh.set("heads", 2).set("d_ff", 32).set("norm", norm);
  return o;
}

double largest(const Tensor& x) { return max(abs(x)).item(); }

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("statistics are those of the elements") {
  Statistics s = statistics(tensor({3, 0, -4, 0}));
  CHECK(s.norm == 5);
  CHECK(s.low == -4);
  CHECK(s.high == 3);
  CHECK(s.mean == -0.25);
  CHECK(s.zeros == 0.5);
  s = statistics(tensor({1, NAN, INFINITY}));
  CHECK(s.not_finite == 2);
  CHECK(s.high == 1);
  CHECK(s.low == 1);
  CHECK(s.norm == 1);
  s = statistics(tensor({NAN}));
  CHECK(s.count == 1);
  CHECK(s.not_finite == 1);
  CHECK(s.low == 0);
}

TEST_CASE("the flows into a node add up to its gradient") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Pass c = pass_of(example);
  int several = 0;
  for (const PassNode& n : c.nodes()) {
    const auto readers = c.consumers(n.number);
    if (!n.gradient.defined() || readers.empty()) continue;
    Tensor total;
    for (int reader : readers) {
      Tensor flow = c.flow(reader, n.number);
      if (flow.defined()) total = total.defined() ? add(total, flow) : flow;
    }
    several += readers.size() > 1;
    CHECK(largest(sub(total, n.gradient)) <= 1e-6 * largest(n.gradient) + 1e-12);
  }
  CHECK(several > 10);
}

TEST_CASE("every kind of model says what its modules do") {
  auto roles_of = [](const std::string& kind) {
    ExampleOptions o;
    o.init = true;
    o.fresh.kind = kind;
    apply_preset(o.fresh, [](const std::string&) { return false; });
    return Roles(make_example(o)->model());
  };
  const Roles transformer = roles_of("transformer");
  CHECK(transformer.of("decoder.layers.1.self_attn") == Role::SelfAttention);
  CHECK(transformer.of("decoder.layers.1.multihead_attn") == Role::CrossAttention);
  CHECK(transformer.of("decoder.layers.1.multihead_attn.out_proj") == Role::Adds);
  CHECK(transformer.of("encoder.layers.0.linear1") == Role::Reads);
  CHECK(transformer.of("encoder.layers.0.norm1") == Role::None);
  CHECK(transformer.of("no.such.module") == Role::None);
  CHECK(transformer.within("encoder.layers.0.norm1", Role::Encoder));
  CHECK_FALSE(transformer.within("encoders.layers.0", Role::Encoder));
  CHECK(transformer.layer("encoder.layers.1.linear2") == "encoder.layers.1");
  CHECK(transformer.layer("encoder.norm").empty());
  CHECK(transformer.part("encoder.layers.1", "encoder.layers.1.linear2") == "feed_forward");
  CHECK(transformer.part("encoder.layers.1", "encoder.layers.1.self_attn.out_proj") == "self_attn");
  CHECK(transformer.part("encoder", "encoder.layers.1.linear2") == "layers.1");
  for (const Kind* one : kinds()) {
    const std::string& kind = one->name;
    if (kind == "cnn") continue;  // it has no encoder
    INFO(kind);
    const Roles roles = roles_of(kind);
    std::set<Role> found;
    for (const char* stack : {"encoder", "decoder", "bert.encoder", "transformer", "layers"})
      found.insert(roles.of(stack));
    CHECK((found.contains(Role::Encoder) || found.contains(Role::Decoder)));
    if (kind == "rnn") continue;  // its layers have no parts
    CHECK_FALSE((roles.layer("encoder.layers.0.x") + roles.layer("bert.encoder.layers.0.x") +
                 roles.layer("transformer.layers.0.x") + roles.layer("layers.0.x"))
                    .empty());
  }
}

TEST_CASE("rows of dS add up to 0, masked entries are exactly 0, rows of A add up to 1") {
  for (const char* kind : {"transformer", "rnn", "conv", "non-autoregressive"}) {
    const auto made = make_example(two_layers("post", kind));
    Example& example = *made;
    Inspection inspection = inspect(example, {.attribution_steps = 0});
    REQUIRE(!inspection.attention.empty());
    int masked = 0;
    for (const AttentionView& v : inspection.attention) {
      INFO(kind << " " << v.module);
      CHECK(static_cast<Index>(v.queries.size()) == v.a.size(1));
      CHECK(static_cast<Index>(v.keys.size()) == v.a.size(2));
      if (v.side == AttentionSide::Cross) CHECK(v.queries == example.target_out);
      if (v.side == AttentionSide::DecoderSelf) CHECK(v.queries == example.target_in);
      double most = largest(v.ds);
      CHECK(largest(sum(v.ds, {-1})) <= 1e-5 * most + 1e-12);
      CHECK(largest(add(sum(v.a, {-1}), -1.0)) < 1e-5);
      for (Index h = 0; h < v.a.size(0); ++h)
        for (Index t = 0; t < v.a.size(1); ++t)
          for (Index s = 0; s < v.a.size(2); ++s) {
            if (v.keep.at<bool>({t, s})) continue;
            ++masked;
            CHECK(v.a.at<float>({h, t, s}) == 0);
            CHECK(v.ds.at<float>({h, t, s}) == 0);
          }
    }
    // The causal mask hides the upper triangle; the non-autoregressive decoder has none.
    if (std::string(kind) == "transformer") CHECK(masked > 0);
  }
}

TEST_CASE("the value path's share is that of the squared gradients of q, k and v, head by head") {
  const auto made = make_example(two_layers("post"));
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  for (const AttentionView& v : inspection.attention) {
    auto gradient = [&](const char* name, Index h) {
      const Tensor& g =
          inspection.pass[inspection.pass.find(v.module + name)].gradient;  // (1, H, ., Dh)
      return norm(narrow(g, 1, h, 1));
    };
    for (std::size_t h = 0; h < v.heads.size(); ++h) {
      INFO(v.module << " head " << h);
      auto at = static_cast<Index>(h);
      double q = gradient(".query", at), k = gradient(".key", at), value = gradient(".value", at);
      CHECK(v.heads[h].query_norm == Approx(q));
      CHECK(v.heads[h].key_norm == Approx(k));
      CHECK(v.heads[h].value_norm == Approx(value));
      CHECK(v.heads[h].value_share == Approx(value * value / (q * q + k * k + value * value)));
      // At initialisation attention is nearly uniform: the values learn first.
      CHECK(v.heads[h].value_share > 0.5);
    }
  }
}

TEST_CASE("shares of a junction add up to 1, and its branches to the gradient") {
  for (const char* norm : {"pre", "post"}) {
    const auto made = make_example(two_layers(norm));
    Example& example = *made;
    Inspection inspection = inspect(example, {.attribution_steps = 0});
    // Two sublayers in each encoder layer, three in each decoder layer.
    CHECK(inspection.junctions.size() == 2 * 2 + 2 * 3);
    for (const Junction& j : inspection.junctions) {
      double shares = 0;
      for (const Branch& b : j.branches) shares += b.share;
      CHECK(shares == Approx(1).epsilon(1e-5));
      // The skip's flow is the gradient at the sum.
      const Tensor& dy = inspection.pass[j.sum].gradient;
      CHECK(j.branches[0].name == "skip");
      CHECK(j.branches[0].norm == Approx(std::sqrt(dot(dy, dy))).epsilon(1e-6));
    }
    CHECK(inspection.junctions[0].sublayer == "self_attn");
    CHECK(inspection.junctions[1].sublayer == "feed_forward");
    double shares = 0;
    for (const Branch& b : inspection.memory.branches) shares += b.share;
    CHECK(inspection.memory.branches.size() == 2);
    CHECK(shares == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("a recurrent model has one attention, with a query a step, and no residual connection") {
  CHECK(without_step("encoder.l0.t12") == "encoder.l0");
  CHECK(without_step("t3.attention") == "attention");
  CHECK(without_step("t.tgt_embed.t3x") == "t.tgt_embed.t3x");
  const auto made = make_example(two_layers("pre", "rnn"));
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  REQUIRE(inspection.attention.size() == 1);
  const AttentionView& v = inspection.attention[0];
  CHECK(v.module == "attention");
  CHECK(v.a.shape() == Shape{1, static_cast<Index>(example.target_in.size()),
                             static_cast<Index>(example.source.size())});
  CHECK(inspection.junctions.empty());
}

TEST_CASE("a convolutional model's attentions and residual connections are named by their layers") {
  const auto made = make_example(two_layers("pre", "conv"));
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  REQUIRE(inspection.attention.size() == 2);
  CHECK(inspection.attention[0].module == "decoder.layers.0");
  CHECK(inspection.attention[1].module == "decoder.layers.1");
  CHECK(inspection.attention[1].layer == 1);
  std::string names;
  for (const Junction& j : inspection.junctions) {
    double shares = 0;
    for (const Branch& b : j.branches) shares += b.share;
    CHECK(shares == Approx(1).epsilon(1e-5));
    names += j.module + ", " + j.sublayer + "\n";
  }
  // The encoder's layers; the memory's values, embedding and state; in the decoder the token within
  // the query, the context around the attention, and the layer.
  CHECK(names ==
        "encoder, layers.0\nencoder, layers.1\nmodel, encoder\n"
        "decoder.layers.0, query\ndecoder.layers.0, sublayer\ndecoder.layers.0, sublayer\n"
        "decoder.layers.1, query\ndecoder.layers.1, sublayer\ndecoder.layers.1, sublayer\n");
  for (const Remark& r : inspection.remarks) CHECK(r.text.find("from :") == std::string::npos);
}

TEST_CASE("integrated gradients add up to the difference, gradient x input has its rows") {
  const auto made = make_example(two_layers("post"));
  Example& example = *made;
  auto before = example.model().state_dict();
  double loss = example.loss().item();
  Attribution a = attribute(example, 64);
  CHECK(example.loss().item() == loss);  // the model is as it was
  double whole = a.log_prob - a.baseline;
  CHECK(std::abs(a.gap) < 0.02 * std::abs(whole) + 1e-3);
  auto t = static_cast<Index>(example.target_in.size()),
       s = static_cast<Index>(example.source.size());
  CHECK(a.to_source.shape() == Shape{t, s});
  // A prediction cannot hear from what comes after it.
  for (Index i = 0; i < t; ++i)
    for (Index k = i + 1; k < t; ++k) CHECK(a.to_target.at<double>({i, k}) == 0);
}

TEST_CASE("rollout mixes: rows of source and target shares add up to 1") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  Tensor both = add(sum(inspection.rollout.source, {-1}), sum(inspection.rollout.target, {-1}));
  CHECK(largest(add(both, -1.0)) < 1e-5);
  CHECK(largest(add(sum(inspection.rollout.encoder, {-1}), -1.0)) < 1e-5);
}

TEST_CASE("a saturated head is noticed, in words and numbers") {
  const auto made = make_example(two_layers("post"));
  Example& example = *made;
  for (auto& [name, p] : example.model().named_parameters())
    if (name == "encoder.layers.0.self_attn.in_proj_weight") mul_(p.value(), 60);
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  const HeadView& head = inspection.attention[0].heads[0];
  CHECK(head.saturation > 0.95);
  CHECK(head.entropy < 0.2);
  bool said = false;
  for (const Remark& r : inspection.remarks)
    said =
        said || (r.text.find("encoder self attention, layer 0, head") == 0 &&
                 r.text.find(fmt::format("‖∂L/∂S‖/‖∂L/∂A‖ is {:.2g}", head.passed)) != r.text.npos);
  CHECK(said);
}

// ‖∂L/∂S‖/‖∂L/∂A‖ of every head, by attention: A where the query may attend.
std::vector<double> passed(const Inspection& inspection) {
  std::vector<double> all;
  for (const AttentionView& v : inspection.attention)
    for (std::size_t h = 0; h < v.heads.size(); ++h) {
      double s = 0, a = 0;
      for (Index i = 0; i < v.keep.size(0); ++i)
        for (Index j = 0; j < v.keep.size(1); ++j) {
          const auto head = static_cast<Index>(h);
          if (!v.keep.at<bool>({i, j})) continue;
          s += std::pow(v.ds.at<double>({head, i, j}), 2);
          a += std::pow(v.da.at<double>({head, i, j}), 2);
        }
      CHECK(v.heads[h].passed == Approx(std::sqrt(s / a)).epsilon(1e-9));
      CHECK(v.heads[h].passed <= 0.5);
      all.push_back(v.heads[h].passed);
    }
  return all;
}

TEST_CASE("what a softmax passes on does not depend on the loss, and falls to 0 with the factor") {
  ExampleOptions o = two_layers();
  o.float64 = true;
  const auto made = make_example(o);
  Example& example = *made;
  auto with = [&](double scale, const char* loss) {
    Changes changes;
    changes.scale = scale;
    if (loss) changes.scale_gradient = {loss};
    example.change(changes);
    return inspect(example, {.attribution_steps = 0, .lens = false});
  };
  Inspection plain = with(1, nullptr), ten = with(1, "log_probs=10");
  CHECK(ten.attention[0].heads[0].scores_gradient ==
        Approx(10 * plain.attention[0].heads[0].scores_gradient));
  auto one = passed(plain), same = passed(ten);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(same[i] == Approx(one[i]));
  std::vector<double> before = passed(with(100, nullptr)), after = passed(with(1e4, nullptr));
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(after[i] < 0.2 * one[i]);
}

TEST_CASE("the JSON has every activation and gradient, the safetensors file the same") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example);
  std::string folder = std::string(P_tmpdir) + "/glim-look-test";
  std::string json = folder + ".json", tensors = folder + ".safetensors";
  write_inspection_json(inspection, json, {});
  write_inspection_tensors(inspection, tensors, {});
  auto j = nlohmann::json::parse(slurp(json));
  auto file = read_safetensors(tensors);
  std::size_t compared = 0;
  for (const auto& [name, entry] : j["tensors"].items()) {
    auto values = entry["values"].get<std::vector<double>>();
    auto stored = file.tensors.at(name).to(DType::Float64).to_vector<double>();
    REQUIRE(values.size() == stored.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(static_cast<float>(values[i]) == static_cast<float>(stored[i]));
    ++compared;
  }
  std::size_t parameters = example.model().named_parameters().size();
  CHECK(compared + parameters == file.tensors.size());
  CHECK(j["attention"].size() == inspection.attention.size());
  CHECK(j["attention"][0]["A"][1][0][0].get<double>() ==
        Approx(inspection.attention[0].a.at<float>({1, 0, 0})).epsilon(1e-6));
  std::remove(json.c_str());
  std::remove(tensors.c_str());
}

TEST_CASE("an attention's nodes name heads and tokens") {
  for (const char* kind : {"transformer", "rnn", "conv"}) {
    const auto made = make_example(two_layers("post", kind));
    Example& example = *made;
    Inspection inspection = inspect(example, {.attribution_steps = 0});
    for (const AttentionView& v : inspection.attention)
      for (int n : v.probs) {
        const Tensor& a = inspection.pass[n].value;
        AxisNames names = axis_names(inspection.attention, inspection.pass[n]);
        CHECK(names.columns == v.keys);
        CHECK(std::ssize(names.rows) == a.numel() / a.size(-1));
      }
  }
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  auto rows = [&](const std::string& path) {
    const Pass& c = inspection.pass;
    return axis_names(inspection.attention, c[c.find(path)]).rows;
  };
  const auto &source = example.source, &target = example.target_out;
  std::size_t s = source.size(), t = target.size();
  CHECK(rows("decoder.layers.1.multihead_attn.query")[t] == "head 1 " + target[0]);
  CHECK(rows("decoder.layers.1.multihead_attn.key")[s + 1] == "head 1 " + source[1]);
  CHECK(rows("encoder.layers.0.norm1.normalized").empty());
  std::string svg = picture_svg(inspection, "encoder.layers.0.self_attn.probs");
  CHECK(svg.find("head 0 " + source[0]) != std::string::npos);
}

TEST_CASE("the picture of a head is its four maps, side by side") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  const std::string name = "decoder.layers.0.multihead_attn/head1";
  std::string svg = picture_svg(inspection, name);
  CHECK(svg.find(">cross, layer 0, head 1</text>") != svg.npos);
  const std::string end = "</svg>\n";
  for (std::string map : {"A", "dA", "S", "dS"}) {
    std::string one = picture_svg(inspection, name + "/" + map);
    std::string cells = one.substr(one.find("<g shape-rendering"));
    cells = cells.substr(0, cells.find("</g>"));
    const std::size_t at = svg.find(cells);
    REQUIRE(at != svg.npos);
    svg = svg.substr(at);  // in this order
  }
  CHECK(svg.ends_with(end + end));
}

TEST_CASE("pictures of one attention's heads have one scale") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  auto colors_of_scale = [&](const std::string& name) {
    std::string svg = picture_svg(inspection, name);
    return svg.substr(svg.rfind("<line"));  // the highest tick of the colour bar
  };
  for (const char* map : {"A", "dA", "S", "dS"}) {
    std::string module = "decoder.layers.0.self_attn/head";
    CHECK(colors_of_scale(module + "0/" + map) == colors_of_scale(module + "1/" + map));
  }
}

TEST_CASE("packed numbers are the three digits that the program would print") {
  std::vector<double> values{0, 1, -1, 0.00123456, -9.996, 9.9949e-20, 123456, -0.5};
  auto j = packed(from_vector(values, {8}));
  std::string bytes = [&] {
    // Decoded as the page does (inspect.js, unpack).
    std::string text = j["data"];
    std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    int bits = 0, word = 0;
    for (char ch : text) {
      if (ch == '=') break;
      word = word << 6 | static_cast<int>(alphabet.find(ch));
      bits += 6;
      if (bits >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
    }
    return out;
  }();
  REQUIRE(bytes.size() == 16);
  for (std::size_t i = 0; i < 8; ++i) {
    int code = static_cast<unsigned char>(bytes[2 * i]) +
               256 * static_cast<unsigned char>(bytes[2 * i + 1]);
    double shown = 0;
    if (code >= 8) {
      int c = code - 8;
      shown = (c % 900 + 100) * std::pow(10.0, c / 1800 + j["e0"].get<int>() - 2);
      if (c / 900 % 2) shown = -shown;
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", values[i]);
    CHECK(shown == Approx(std::atof(text)).epsilon(1e-12));
  }
  // 40 decades do not fit: plain numbers.
  CHECK(packed(from_vector(std::vector<double>{1e-30, 1e10}, {2})).contains("numbers"));
  CHECK(packed(from_vector(std::vector<double>{NAN, INFINITY, 1}, {3}))["data"] == "AQACAAgA");
}

TEST_CASE("a picture of a large tensor keeps the largest element of each part") {
  Tensor x = zeros({100, 7}, DType::Float64);
  select(select(x, 0, 57), 0, 3).fill_(-2.5);
  auto j = packed_picture(x, 10, 7);
  CHECK(j["shape"] == std::vector<int>{10, 7});
  CHECK(j["full"] == std::vector<int>{100, 7});
}

TEST_CASE("files that would be too large are refused with what helps; pictures have names") {
  const auto made = make_example(two_layers());
  Example& example = *made;
  Inspection inspection = inspect(example, {.attribution_steps = 0});
  DocumentOptions small;
  small.most_bytes = 1000;
  std::string path = std::string(P_tmpdir) + "/glim-too-large";
  CHECK_THROWS_AS(write_inspection_json(inspection, path, small), ValueError);
  CHECK_THROWS_AS(write_inspection_tensors(inspection, path, small), ValueError);
  CHECK_THROWS_AS(write_inspection_page(page_data(inspection, small), path, small), ValueError);
  CHECK_FALSE(std::ifstream(path).good());
  const std::vector<Picture> all = pictures(inspection);
  CHECK(pictures_asked_for("inspect", all, {"*/head1/dS"}, "").size() == 6);
  CHECK(picture_svg(inspection, "encoder.layers.0.self_attn/head0/A").starts_with("<svg"));
  try {
    pictures_asked_for("inspect", all, {"encoder.layers.0.self_atn/head1/A"}, "");
    FAIL();
  } catch (const ValueError& e) {
    CHECK(std::string(e.what()).find("nearest: encoder.layers.0.self_attn/head1/A") !=
          std::string::npos);
  }
}

}  // namespace test_inspection
