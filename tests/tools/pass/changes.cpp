// A change of the pass changes what follows it, exactly, and nothing else.
#include "tools/pass/changes.hpp"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tensor/error.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/inspect/junctions.hpp"
#include "tools/inspect/request.hpp"

namespace test_changes {

using namespace glim;

namespace {

Pass changed(const std::function<void(Changes&)>& change, bool float64 = true) {
  ExampleOptions o = small_options();
  o.float64 = float64;
  change(o.changes);
  const auto made = make_example(o);
  Example& example = *made;
  return pass_of(example);
}

Tensor gradient(const Pass& c, const std::string& path) {
  int node = c.find(path);
  INFO(path);
  REQUIRE(node >= 0);
  return c[node].gradient;
}

double largest(const Tensor& x) { return max(abs(x)).item(); }

double difference(const Tensor& a, const Tensor& b) { return largest(sub(a, b)); }

const std::string kSelf = "encoder.layers.0.self_attn", kCross = "decoder.layers.0.multihead_attn";

}  // namespace

TEST_CASE("a factor of 1/√Dk is the pass as it is; another is another pass") {
  Pass plain = changed([](Changes&) {});
  Pass same = changed([](Changes& c) { c.scale = 1 / std::sqrt(8.0); });  // Dk = 16/2
  CHECK(std::abs(same.loss_value() - plain.loss_value()) < 1e-14);
  for (const char* name : {".scores", ".probs", ".value"})
    CHECK(difference(gradient(same, kSelf + name), gradient(plain, kSelf + name)) < 1e-14);
  Pass one = changed([](Changes& c) { c.scale = 1; });
  const Tensor was = plain[plain.find(kSelf + ".scores")].value,
               is = one[one.find(kSelf + ".scores")].value;
  CHECK(difference(is, mul(was, std::sqrt(8.0))) < 1e-12);
  CHECK(one.loss_value() != plain.loss_value());
  CHECK(largest(sum(gradient(one, kSelf + ".scores"), {-1})) < 1e-14);
}

TEST_CASE("a factor replaces the model's own; scores without one are refused") {
  ExampleOptions o = small_options();
  o.float64 = true;
  const auto loss = [&](double model_scale, std::optional<double> factor) {
    o.fresh.set("attention_scale", model_scale);
    o.changes.scale = factor;
    return pass_of(*make_example(o)).loss_value();
  };
  CHECK(std::abs(loss(2, 3) - loss(3, {})) < 1e-14);
  CHECK(std::abs(loss(2, {}) - loss(3, {})) > 1e-6);
  o = small_options();
  o.fresh.kind = "rnn";
  o.changes.scale = 1;
  CHECK_THROWS_AS(pass_of(*make_example(o)), ValueError);
}

TEST_CASE("without differences in the scores attention is even and ∂L/∂Q is 0") {
  Pass none = changed([](Changes& c) { c.scale = 0; });
  Tensor a = none[none.find(kCross + ".probs")].value;
  CHECK(difference(a, mul(ones(a.shape(), a.dtype()), 1.0 / static_cast<double>(a.size(-1)))) <
        1e-15);
  CHECK(largest(gradient(none, kCross + ".query")) == 0);
}

TEST_CASE("a head that is removed gives nothing and learns nothing; the others do") {
  Pass c = changed([](Changes& o) { o.remove_heads = {kCross + ":1"}; });
  for (const char* name : {".probs", ".scores", ".value"}) {
    Tensor g = gradient(c, kCross + name);
    CHECK(largest(select(g, 1, 1)) == 0);
    CHECK(largest(select(g, 1, 0)) > 0);
  }
  Pass plain = changed([](Changes&) {});
  CHECK(c.loss_value() != plain.loss_value());
  Pass all = changed([](Changes& o) { o.remove_heads = {"*attn:0", "*attn:1"}; });
  CHECK(largest(gradient(all, kSelf + ".probs")) == 0);
}

TEST_CASE("a layer, a norm, a sublayer and a skip can be removed") {
  const std::string layer = "encoder.layers.0";
  auto without = [](const std::string& name, const char* norm) {
    ExampleOptions o = small_options();
    o.float64 = true;
    o.fresh.set("norm", norm);
    if (!name.empty()) o.changes.remove = {name};
    const auto made = make_example(o);
    Example& example = *made;
    return pass_of(example);
  };
  for (const char* norm : {"pre", "post"}) {
    INFO(norm);
    Pass plain = without("", norm);
    for (const char* part : {".norm1", ".norm2", ".sublayer1", ".sublayer2", ".skip1", ".skip2"}) {
      INFO(part);
      Pass c = without(layer + part, norm);
      CHECK(c.loss_value() != plain.loss_value());
      CHECK(std::isfinite(c.loss_value()));
    }
    // Without a norm nothing reaches its weight, without a sublayer its matrices get a gradient of 0.
    CHECK_FALSE(gradient(without(layer + ".norm1", norm), layer + ".norm1.weight").defined());
    CHECK(largest(gradient(without(layer + ".sublayer2", norm), layer + ".linear2.weight")) == 0);
    CHECK(largest(gradient(without(layer + ".sublayer1", norm), kSelf + ".in_proj_weight")) == 0);
    // A layer that gives what it was given: the gradients at its ends are the same.
    Pass c = without(layer, norm);
    std::vector<Junction> junctions = residual_junctions(c);
    CHECK(junctions.size() >= 2);
    Tensor entering = gradient(c, "src_positions.add");
    CHECK(difference(entering, c[junctions[1].sum].gradient) == 0);
    for (const char* weight : {".norm1.weight", ".norm2.weight"})
      CHECK_FALSE(gradient(c, layer + weight).defined());
  }
}

TEST_CASE("a part of a gradient is changed, under the names that the debugger takes") {
  Pass plain = changed([](Changes&) {});
  const Tensor dq = gradient(plain, kSelf + ".query");
  const std::string number = "#" + std::to_string(plain.find(kSelf + ".scores"));
  for (const std::string& name : {kSelf + ".scores[0,1]", number + ":1", number + "[0,-1]"}) {
    INFO(name);
    Tensor g = gradient(changed([&](Changes& c) { c.zero = {name}; }), kSelf + ".query");
    CHECK(largest(select(g, 1, 1)) == 0);
    CHECK(difference(select(g, 1, 0), select(dq, 1, 0)) == 0);
  }
  Pass row = changed([](Changes& c) { c.zero = {"encoder.layers.0.self_attn.scores[:,:,2]"}; });
  CHECK(largest(select(gradient(row, kSelf + ".query"), 2, 2)) == 0);
  Pass twice = changed([](Changes& c) { c.scale_gradient = {kCross + ".scores[0,0]=2"}; });
  CHECK(difference(select(gradient(twice, kCross + ".query"), 1, 0),
                   mul(select(gradient(plain, kCross + ".query"), 1, 0), 2.0)) < 1e-14);
}

TEST_CASE("a residual connection whose x is frozen has no shares") {
  const Pass plain = changed([](Changes&) {});
  const std::vector<Junction> all = residual_junctions(plain);
  REQUIRE(!all.empty());
  const std::string x = plain[all.back().x].path;
  const Pass frozen = changed([&](Changes& c) { c.freeze = {x}; });
  CHECK(residual_junctions(frozen).size() < all.size());
}

TEST_CASE("a masked cell is exactly 0 in A and in its gradients; a query without keys gets zeros") {
  Pass c = changed([](Changes& o) { o.mask = {kCross + ":1,0", kCross + ":2,*"}; });
  for (const char* name : {".probs", ".scores"}) {
    Tensor a = c[c.find(kCross + name)].value, g = gradient(c, kCross + name);
    for (Index h = 0; h < 2; ++h) {
      if (std::string(name) == ".probs") CHECK(a.at<double>({0, h, 1, 0}) == 0);
      if (std::string(name) == ".scores") CHECK(g.at<double>({0, h, 1, 0}) == 0);
    }
  }
  Tensor a = c[c.find(kCross + ".probs")].value;
  CHECK(largest(select(a, 2, 2)) == 0);
  CHECK(largest(select(c[c.find(kCross + ".context")].value, 2, 2)) == 0);
  CHECK(std::abs(sum(select(select(a, 2, 1), 1, 0)).item() - 1) < 1e-14);
  CHECK(std::isfinite(c.loss_value()));
  Pass none = changed([](Changes& o) { o.mask = {"*attn:*,*"}; });
  CHECK(std::isfinite(none.loss_value()));
  CHECK(largest(gradient(none, kCross + ".scores")) == 0);
}

TEST_CASE("a position that may see the future attends to it") {
  const std::string self = "decoder.layers.0.self_attn";
  Pass plain = changed([](Changes&) {}),
       seen = changed([&](Changes&c) { c.unmask = {self + ":0,1"}; });
  CHECK(plain[plain.find(self + ".probs")].value.at<double>({0, 0, 0, 1}) == 0);
  CHECK(seen[seen.find(self + ".probs")].value.at<double>({0, 0, 0, 1}) > 0);
}

TEST_CASE("another smoothing is another loss, and dropout draws the same each time") {
  Pass plain = changed([](Changes&) {});
  Pass sharp = changed([](Changes& c) { c.label_smoothing = 0; });
  CHECK(sharp.loss_value() != plain.loss_value());
  CHECK(largest(sum(gradient(sharp, "log_probs"), {-1})) > 0);
  auto dropped = [](Changes& c) { c.dropout = true; };
  CHECK(changed(dropped).loss_value() == changed(dropped).loss_value());
  CHECK(changed(dropped).loss_value() != plain.loss_value());
}

TEST_CASE("a request says the same options as the command line") {
  ExampleOptions o = small_options();
  o.source = "I have a cat";
  o.target = "我有一只猫";
  o.changes.scale = 1;
  o.changes.mask = {kCross + ":0,0"};
  o.changes.remove_heads = {kSelf + ":0"};
  ExampleOptions again = options_of(request_of(o));
  CHECK(request_of(again) == request_of(o));
  CHECK(pass_of(*make_example(o)).loss_value() == pass_of(*make_example(again)).loss_value());
  auto refuses = [](const char* request, const std::string& part) {
    try {
      options_of(nlohmann::json::parse(request));
    } catch (const ValueError& e) {
      INFO(e.one_line());
      CHECK(e.one_line().find(part) != std::string::npos);
      return;
    }
    FAIL(request);
  };
  refuses(R"({"scales": 1})", "--scales: there is no such option");
  refuses(R"({"scale": "x"})", "--scale: takes another value");
  refuses(R"({"label-smoothing": 1})", "below 1");
  refuses(R"({"mask": [1]})", "--mask");
  refuses(R"({"fresh": {"layers": -1}})", "--layers");
}

TEST_CASE("a change that changes nothing is refused") {
  auto message = [](const std::function<void(Changes&)>& change) {
    try {
      changed(change, false);
    } catch (const ValueError& e) {
      return e.one_line();
    }
    return std::string();
  };
  auto says = [](const std::string& found, const std::string& part) {
    INFO(found);
    CHECK(found.find(part) != std::string::npos);
  };
  says(message([](Changes& c) { c.remove = {"encoder.layers.0.norm3"}; }),
       "no part of a layer is named 'encoder.layers.0.norm3'");
  says(message([](Changes& c) { c.remove_heads = {kSelf}; }),
       "--remove-head: '" + kSelf + "' names no head");
  says(message([](Changes& c) { c.remove_heads = {kSelf + ":2"}; }), "has the heads 0 to 1");
  says(message([](Changes& c) { c.remove_heads = {"encoder.layers.0.selfattn:0"}; }),
       "nearest: " + kSelf);
  says(message([](Changes& c) { c.zero = {kSelf + ".score"}; }), kSelf + ".scores");
  says(message([](Changes& c) { c.zero = {kSelf + ".scores:x"}; }),
       "a head is a whole number after ':'");
  says(message([](Changes& c) { c.freeze = {"loss:1"}; }), "--zero takes a part");
  says(message([](Changes& c) { c.zero = {"log_probs:0"}; }), "has no heads");
  CHECK(message([](Changes& c) { c.mask = {kCross + ":0"}; }).find("MODULE:QUERY,KEY") !=
        std::string::npos);
  says(message([](Changes& c) { c.mask = {kCross + ":99,0"}; }),
       "--mask: '" + kCross + ":99,0': " + kCross + " 99 is outside an axis of ");
  for (const char* cells : {":0,x", ":-1,0", ":0,-1", ":,0", ":0,", ":1:2,0,0", ":0,0,0", ":0,1:2"})
    says(message([&](Changes& c) { c.mask = {kCross + cells}; }), "MODULE:QUERY,KEY, with numbers");
  says(message([](Changes& c) { c.unmask = {"nothing:0,0"}; }), "no attention is named 'nothing'");
  for (const char* text : {"loss", "loss=", "loss=nan", "loss=1e400", "=1"})
    says(message([&](Changes& c) { c.scale_gradient = {text}; }), "--scale-gradient");
  // Factors are checked in float32, the model's dtype.
  says(message([](Changes& c) { c.scale_gradient = {kSelf + ".scores=1e-50"}; }),
       "1e-50 is 0 in float32");
  says(message([](Changes& c) { c.scale = 1e300; }), "--scale: '1e+300': 1e+300 is inf in float32");
  for (double large : {2e38, -3e38})  // whose product with √Dk is infinite
    says(message([&](Changes& c) { c.scale = large; }), "makes scores infinite in float32");
  CHECK(message([](Changes& c) { c.scale_gradient = {kSelf + ".scores=1e-30"}; }).empty());
}

}  // namespace test_changes
