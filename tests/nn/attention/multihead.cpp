// Multi-head attention against torch.nn.MultiheadAttention over its options, and exact facts.
#include <cmath>
#include <nlohmann/json.hpp>

#include "autograd/op_form.hpp"
#include "nn/attention/head_by_head.hpp"
#include "nn/attention/mask.hpp"
#include "nn/attention/torch_multihead.hpp"
#include "tensor/io/safetensors.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/catch.hpp"

namespace test_multihead {

using namespace glim;

namespace {

double norm_between(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  Tensor d = sub(a.to(DType::Float64), b.to(DType::Float64));
  return std::sqrt(dot(d, d));
}

Var random_leaf(const Shape& shape, std::uint64_t stream) {
  return Var::leaf(normal(shape, 0, 1, {99, stream}, DType::Float64));
}

// head_by_head, with the masks of a request and the options of `a`: positions, qk_norm, shared heads. float64
Var head_by_head_with(const AttentionOptions& options, MultiheadAttention& a, const Var& x,
                      const Var& memory, const AttentionRequest& request = {}) {
  using enum InProjection::Part;
  const InProjection& w = a.in_proj;
  const Index h = w.heads(), dh = a.d_model() / h, g = (w.end(Key) - w.begin(Key)) / dh;
  const Index t = x.size(1), s = memory.size(1);
  const bool alibi = options.positions == Positions::Alibi;
  const AttentionMask masks = combined(request, {x.size(0), h, t, s}, 0,
                                       alibi ? alibi_bias(h, t, s, 0, DType::Float64) : Tensor());
  auto projected = [&](const Var& sequence, InProjection::Part part, Index i) {
    const Index first = w.begin(part) + (part == Query ? i : i * g / h) * dh;
    return linear(sequence, slice(w.weight, 0, first, first + dh),
                  slice(w.bias, 0, first, first + dh));
  };
  auto positioned = [&](const Var& v, const char* norm) {  // R v, then (v - mean)/σ ⊙ γ
    const Var y = options.positions == Positions::Rotary ? RotaryPositions(dh)(v) : v;
    if (!options.qk_norm) return y;
    const Var centred = y - mean(y, {-1}, true);
    const Var gain(a.state_dict().at(std::string(norm) + ".weight"));
    return centred / sqrt(mean(centred * centred, {-1}, true) + options.norm_eps) * gain;
  };
  auto head_of = [](const auto& mask, Index i) {  // (B or 1, H or 1, T, S) -> (B or 1, T, S)
    return mask.defined() ? select(mask, 1, mask.size(1) == 1 ? 0 : i) : mask;
  };
  std::vector<Var> contexts;
  for (Index i = 0; i < h; ++i) {
    const Var q = positioned(projected(x, Query, i), "q_norm");
    const Var k = positioned(projected(memory, Key, i), "k_norm");
    const AttentionMask mask{head_of(masks.keep, i), head_of(masks.bias, i)};
    contexts.push_back(
        scaled_dot_product_attention(q, k, projected(memory, Value, i), mask).context);
  }
  return a.out_proj(concatenate(contexts, -1));
}

}  // namespace

TEST_CASE("attention equals torch.nn.MultiheadAttention", "[attention][reference]") {
  SafeTensors file = read_safetensors(std::string(GLIM_REFERENCE) + "/mha.safetensors");
  auto described = nlohmann::json::parse(file.metadata.at("case"));
  int cases = 0;
  for (const auto& item : described.at("cases").items()) {
    const std::string& prefix = item.key();
    const auto& c = item.value();
    auto has = [&](const std::string& key) { return file.tensors.count(prefix + "." + key) > 0; };
    auto get = [&](const std::string& key) { return file.tensors.at(prefix + "." + key); };
    auto extent = [&](const char* key) {
      return c[key].is_null() ? std::nullopt : std::optional<Index>(c[key].get<Index>());
    };
    for (OpForm m : {OpForm::Fused, OpForm::Explicit}) {
      for (bool weights : {false, true}) {
        INFO(prefix << " " << c["note"] << (weights ? " with weights" : ""));
        UseForm use(m);
        AttentionOptions o;
        o.bias = c["bias"];
        TorchAttentionOptions torch;
        torch.add_bias_kv = c["add_bias_kv"];
        torch.add_zero_attn = c["add_zero_attn"];
        torch.kdim = extent("kdim");
        torch.vdim = extent("vdim");
        torch.batch_first = c["torch_batch_first"];
        TorchMultiheadAttention mha(c["embed_dim"], c["num_heads"], o, torch);
        mha.to(DType::Float64);
        StateDict state;
        for (auto& [key, value] : mha.state_dict()) state[key] = get("param." + key);
        mha.load_state_dict(state);

        AttentionRequest r;
        if (has("key_keep")) r.key_keep = get("key_keep");
        if (has("attn_keep")) r.keep = get("attn_keep");
        if (has("key_bias")) r.key_bias = Var::leaf(get("key_bias"));
        if (has("attn_bias")) r.bias = Var::leaf(get("attn_bias"));
        r.need_weights = weights;
        r.average_weights = false;

        auto swapped = [&](const Tensor& x) { return torch.batch_first ? x : transpose(x, 0, 1); };
        Var query = Var::leaf(swapped(get("query"))), key = query, value = query;
        bool self = c["self_attention"];
        if (!self) {
          key = Var::leaf(swapped(get("key")));
          value = Var::leaf(swapped(get("value")));
        }
        Tape tape;
        AttentionOutput out = self && weights ? mha(query, r) : mha(query, key, value, r);
        CHECK(norm_between(swapped(out.y.value()), get("y")) < 1e-10);
        if (weights) {
          CHECK(norm_between(out.weights.value(), get("weights_per_head")) < 1e-10);
          CHECK(norm_between(mean(out.weights.value(), {1}), get("weights")) < 1e-10);
        }
        tape.backward(out.y, swapped(get("dy")));
        CHECK(norm_between(swapped(query.grad()), get("dquery")) < 1e-10);
        if (!self) {
          CHECK(norm_between(swapped(key.grad()), get("dkey")) < 1e-10);
          CHECK(norm_between(swapped(value.grad()), get("dvalue")) < 1e-10);
        }
        if (has("dattn_bias")) CHECK(norm_between(r.bias.grad(), get("dattn_bias")) < 1e-10);
        if (has("dkey_bias")) CHECK(norm_between(r.key_bias.grad(), get("dkey_bias")) < 1e-10);
        for (auto& [name, p] : mha.named_parameters()) {
          INFO(name);
          REQUIRE(p.grad().defined());
          CHECK(norm_between(p.grad(), get("grad." + name)) < 1e-10);
        }
      }
    }
    ++cases;
  }
  CHECK(cases >= 26);
}

TEST_CASE("separate heads, then concat, is the same attention", "[attention]") {
  seed(1);
  MultiheadAttention mha(12, 3);
  mha.to(DType::Float64);
  Var x = random_leaf({2, 5, 12}, 1), memory = random_leaf({2, 4, 12}, 2);
  AttentionRequest r;
  r.key_keep =
      from_vector(std::vector<bool>{true, true, false, true, true, false, false, true}, {2, 4});
  Tensor dy = normal({2, 5, 12}, 0, 1, {1, 2}, DType::Float64);
  // No bias, which is the paper's; one of each head, and one for all of them.
  for (const Shape& of_bias :
       {Shape{}, Shape{6, 5, 4}, Shape{2, 3, 5, 4}, Shape{2, 1, 5, 4}, Shape{5, 4}}) {
    INFO(to_string(of_bias));
    if (!of_bias.empty()) r.bias = Var(normal(of_bias, 0, 1, {1, 1}, DType::Float64));
    std::map<std::string, Tensor> together;
    Tensor y;
    for (bool apart : {false, true}) {
      mha.zero_grad();
      x.zero_grad();
      Tape tape;
      Var out = !apart             ? mha(x, memory, memory, r).y
                : r.bias.defined() ? head_by_head_with({}, mha, x, memory, r)
                                   : head_by_head(mha, x, memory, memory, unsqueeze(r.key_keep, 1));
      tape.backward(out, dy);
      if (!apart) {
        y = out.value();
        for (auto& [name, p] : mha.named_parameters()) together[name] = p.grad();
        together["x"] = x.grad();
      } else {
        CHECK(norm_between(out.value(), y) < 1e-12);
        for (auto& [name, p] : mha.named_parameters())
          CHECK(norm_between(p.grad(), together[name]) < 1e-12);
        CHECK(norm_between(x.grad(), together["x"]) < 1e-12);
      }
    }
  }
}

TEST_CASE("a key that is not given is the query, whatever the value", "[attention]") {
  for (auto positions : {Positions::None, Positions::Rotary}) {
    seed(1);
    MultiheadAttention mha(8, 2, {.positions = positions});
    const Var x(normal({2, 3, 8}, 0, 1, {1, 0})), value(normal({2, 3, 8}, 0, 1, {1, 1}));
    CHECK(same_bits(mha(x, {}, value).y.value(), mha(x, x, value).y.value()));
    CHECK_FALSE(same_bits(mha(x, {}, value).y.value(), mha(x).y.value()));
  }
}

TEST_CASE("a row's length is the number of tokens before its padding", "[attention]") {
  Tensor ids = from_vector<Index>({0, 5, 0, 0, 0, 0, 7, 8, 9}, {3, 3});
  CHECK(row_lengths(ids, 0) == std::vector<Index>{2, 0, 3});
  CHECK(row_lengths(ids, 9) == std::vector<Index>{3, 3, 2});
}

TEST_CASE("rows that share a memory attend to it as if each had its own", "[attention][cache]") {
  seed(5);
  MultiheadAttention mha(8, 2);
  mha.to(DType::Float64);
  Var memory = random_leaf({2, 5, 8}, 40), x = random_leaf({6, 3, 8}, 41);
  Tensor keep = from_vector<bool>({true, true, true, false, true, true, false, true, true, true},
                                  {2, 1, 1, 5});
  KeyValueCache shared = mha.project(memory), own = shared;
  Tensor rows = from_vector<Index>({0, 0, 0, 1, 1, 1}, {6});
  own.select_rows(rows);
  for (bool average : {true, false}) {
    AttentionRequest request{.keep = keep, .need_weights = true, .average_weights = average};
    AttentionOutput together = mha.attend(x, shared, request);
    request.keep = index_select(keep, 0, rows);
    AttentionOutput apart = mha.attend(x, own, request);
    CHECK(norm_between(together.y.value(), apart.y.value()) < 1e-12);
    CHECK(norm_between(together.weights.value(), apart.weights.value()) < 1e-12);
  }
  Var two = slice(x, 0, 0, 4);
  own = shared;
  own.select_rows(from_vector<Index>({0, 0, 1, 1}, {4}));
  CHECK(norm_between(mha.attend(two, shared).y.value(), mha.attend(two, own).y.value()) < 1e-12);
  CHECK_THROWS_AS(mha.attend(random_leaf({5, 1, 8}, 42), shared), ShapeError);
  for (Index wrong : {-1, 2})
    CHECK_THROWS_AS(shared.select_rows(from_vector<Index>({0, wrong}, {2})), IndexError);
}

TEST_CASE("a mask of one column holds for all keys but those that the module appends",
          "[attention]") {
  seed(6);
  TorchMultiheadAttention mha(9, 3, {}, {.add_bias_kv = true, .add_zero_attn = true});
  mha.to(DType::Float64);
  Var x = random_leaf({4, 3, 9}, 43);
  AttentionRequest column, whole;
  column.keep = from_vector<bool>({true, false, true}, {1, 1, 3, 1});
  whole.keep = broadcast_to(column.keep, {1, 1, 3, 3}).contiguous();
  CHECK(norm_between(mha(x, x, x, column).y.value(), mha(x, x, x, whole).y.value()) == 0);
  // As a bias: a penalty of 1e9 hides a key, and those that are appended have none.
  column.bias = Var(where(column.keep, scalar(0, DType::Float64), scalar(-1e9, DType::Float64)));
  whole.bias = broadcast_to(column.bias, {1, 1, 3, 3});
  column.keep = whole.keep = Tensor();
  CHECK(norm_between(mha(x, x, x, column).y.value(), mha(x, x, x, whole).y.value()) == 0);
  CHECK(norm_between(mha(x, x, x, column).y.value(), mha(x, x, x).y.value()) > 0.01);
}

TEST_CASE("rows of a cache become copies, in place or not", "[attention][cache]") {
  Tensor key = normal({5, 2, 3, 4}, 0, 1, {1, 1}), value = normal({5, 2, 3, 4}, 0, 1, {1, 2});
  // All stay, some become copies of what stays, of what does not, fewer, more.
  for (const std::vector<Index>& rows : std::vector<std::vector<Index>>{{0, 1, 2, 3, 4},
                                                                        {0, 1},
                                                                        {0, 0, 2, 3, 2},
                                                                        {1, 1, 2, 4, 4},
                                                                        {1, 0, 2, 3, 4},
                                                                        {1, 0, 1, 0, 1},
                                                                        {1, 2, 2, 3, 4},
                                                                        {3, 1},
                                                                        {0, 1, 2, 3, 4, 4}}) {
    KeyValueCache cache;
    cache.append(key, value);
    KeyValueCache before = cache;  // reads the same memory
    Tensor picked = from_vector(rows, {static_cast<Index>(rows.size())});
    auto check = [&] {
      INFO(to_string(cache.key.shape()));
      CHECK(norm_between(narrow(cache.key, 2, 0, 3), index_select(key, 0, picked)) == 0);
      CHECK(norm_between(narrow(cache.value, 2, 0, 3), index_select(value, 0, picked)) == 0);
    };
    cache.select_rows(picked);
    check();
    CHECK(norm_between(narrow(before.key, 2, 0, 3), key) == 0);
    before = {};
    cache = {};
    cache.append(key, value);  // nobody else reads it
    cache.select_rows(picked);
    check();
  }
}

TEST_CASE("rows of a cache of one position are selected, too", "[attention][cache]") {
  KeyValueCache cache;
  Tensor key = normal({3, 2, 1, 4}, 0, 1, {1, 1}), value = normal({3, 2, 1, 4}, 0, 1, {1, 2});
  cache.append(key, value);
  Tensor picked = from_vector<Index>({2, 0, 1}, {3});
  cache.select_rows(picked);
  CHECK(same_bits(cache.keys(), index_select(key, 0, picked)));
  CHECK(same_bits(cache.values(), index_select(value, 0, picked)));
}

TEST_CASE("keys of a memory join a cache as keys and values that are given apart",
          "[attention][cache]") {
  MultiheadAttention mha(6, 2);
  mha.to(DType::Float64);
  const Var x = random_leaf({2, 3, 6}, 1), memory = random_leaf({2, 4, 6}, 2);
  KeyValueCache packed, apart;
  const AttentionRequest with_packed{.cache = &packed}, with_apart{.cache = &apart};
  const Var same_values = memory * 1.0;  // another Var, so three products
  CHECK(norm_between(mha(x, memory, {}, with_packed).y.value(),
                     mha(x, memory, same_values, with_apart).y.value()) < 1e-12);
  CHECK(packed.keys().shape() == Shape{2, 2, 4, 3});
}

TEST_CASE("a cache grows by one position at a time, and by many", "[attention][cache]") {
  KeyValueCache cache;
  Tensor key = normal({2, 3, 70, 4}, 0, 1, {1, 3}), value = normal({2, 3, 70, 5}, 0, 1, {1, 4});
  auto append = [&](Index first, Index count) {
    cache.append(narrow(key, 2, first, count), narrow(value, 2, first, count));
    CHECK(same_bits(cache.keys().contiguous(), narrow(key, 2, 0, first + count).contiguous()));
    CHECK(same_bits(cache.values().contiguous(), narrow(value, 2, 0, first + count).contiguous()));
  };
  for (Index t = 0; t < 70; ++t) append(t, 1);
  cache = {};
  append(0, 2);
  append(2, 68);
}

TEST_CASE("a cache is refused where a gradient would be lost in it", "[attention][cache]") {
  MultiheadAttention attention(8, 2);
  const Var x(normal({1, 3, 8}, 0, 1, {1, 5}));
  KeyValueCache cache;
  const AttentionRequest causal{.causal = true};
  Tape tape;
  CHECK_THROWS_AS(attention(x, causal, &cache), StateError);
  CHECK_THROWS_AS(attention.project(x), StateError);
  NoGrad pause;
  attention(x, causal, &cache);
  CHECK(cache.length == 3);
  CHECK(attention.project(x).length == 3);
}

TEST_CASE("each call drops other probabilities", "[attention]") {
  for (Index kdim : {8, 6}) {  // packed and apart
    TorchMultiheadAttention mha(8, 2, {.dropout = 0.5}, {.kdim = kdim, .vdim = kdim});
    mha.to(DType::Float64);
    Var x = random_leaf({2, 5, 8}, 44), memory = random_leaf({2, 5, kdim}, 45);
    auto run = [&] { return mha(x, memory, memory).y.value(); };
    seed(3);
    const Tensor first = run(), second = run();
    CHECK(norm_between(first, second) > 0.01);
    seed(3);
    CHECK(norm_between(first, run()) == 0);
    mha.eval();
    seed(3);
    CHECK(norm_between(run(), run()) == 0);
    if (kdim == 8) mha(x), mha(x, memory);
    CHECK(generator().next().stream == 0);  // none is taken where nothing is dropped
  }
}

TEST_CASE("a shared query and key is one matrix used twice", "[attention]") {
  const Tensor x = normal({2, 5, 8}, 0, 1, {3, 5}, DType::Float64);
  const Tensor dy = normal({2, 5, 8}, 0, 1, {3, 6}, DType::Float64);
  for (Positions positions : {Positions::None, Positions::Rotary}) {
    seed(2);
    const AttentionOptions sharing{.positions = positions, .share_qk = true};
    MultiheadAttention shared(8, 2, sharing), apart(8, 2, {.positions = positions});
    shared.to(DType::Float64);
    apart.to(DType::Float64);
    StateDict weights = shared.state_dict();
    for (const char* name : {"in_proj_weight", "in_proj_bias"}) {
      Tensor both = weights.at(name);  // [QK, V]
      REQUIRE(both.size(0) == 16);
      weights[name] = concatenate(
          std::vector<Tensor>{narrow(both, 0, 0, 8), narrow(both, 0, 0, 8), narrow(both, 0, 8, 8)},
          0);
    }
    apart.load_state_dict(weights);
    std::map<std::string, Tensor> gradients[2];
    Tensor y[2];
    for (int i : {0, 1}) {
      MultiheadAttention& a = i == 0 ? shared : apart;
      Tape tape;
      y[i] = (i == 0 ? a(Var(x)) : a(Var(x), Var(x), Var(x))).y.value();
      tape.backward(a(Var(x)).y, dy);
      for (auto& [name, p] : a.named_parameters()) gradients[i][name] = p.grad();
    }
    CHECK(norm_between(y[0], y[1]) < 1e-13);
    CHECK(norm_between(head_by_head_with(sharing, shared, x, x).value(), y[0]) < 1e-13);
    CHECK(norm_between(shared(Var(x), Var(x)).y.value(), y[0]) < 1e-13);
    for (const char* name : {"in_proj_weight", "in_proj_bias"}) {
      const Tensor one = gradients[0].at(name), three = gradients[1].at(name);
      CHECK(norm_between(narrow(one, 0, 0, 8),
                         add(narrow(three, 0, 0, 8), narrow(three, 0, 8, 8))) < 1e-12);
      CHECK(norm_between(narrow(one, 0, 8, 8), narrow(three, 0, 16, 8)) < 1e-12);
    }
  }
  CHECK_THROWS_AS(TorchMultiheadAttention(8, 2, {.share_qk = true}, {.kdim = 4}), ValueError);
}

TEST_CASE("norms of queries and keys come after rotary angles, and bound the scores",
          "[attention][cache]") {
  const Tensor x = mul(normal({2, 5, 12}, 0, 1, {3, 7}, DType::Float64),
                       scalar(1e3, DType::Float64)),
               memory = normal({2, 4, 12}, 0, 1, {3, 8}, DType::Float64);
  for (Positions positions : {Positions::None, Positions::Rotary})
    for (bool share_qk : {false, true}) {
      seed(2);
      const AttentionOptions options{
          .positions = positions, .share_qk = share_qk, .qk_norm = true, .norm_eps = 1e-3};
      MultiheadAttention a(12, 3, options);
      a.to(DType::Float64);
      // Where queries and keys are long, |S| is √Dh max|γ_q| max|γ_k| at most.
      AttentionRequest r{.causal = true, .need_weights = true, .average_weights = false};
      UseForm form(OpForm::Explicit);
      {
        Tape tape({.replay = true});
        a(Var(x), r);
        double largest = 0;
        for (int i = 0; i < std::ssize(tape.nodes()); ++i)
          if (tape.nodes()[static_cast<std::size_t>(i)].label == "scores")
            largest = std::max(largest, max(abs(tape.value(i).value())).item());
        CHECK(largest > 0.5);
        CHECK(largest <= 2 + 1e-12);
      }
      for (const char* name : {"q_norm.weight", "k_norm.weight"})
        for (auto& [parameter, p] : a.named_parameters())
          if (parameter == name)
            p.value().copy_(
                uniform({4}, 0.5, 2, {4, static_cast<std::uint64_t>(*name)}, DType::Float64));
      const Tensor y = a(Var(x), r).y.value();
      CHECK(norm_between(y, head_by_head_with(options, a, x, x, r).value()) < 1e-12);
      KeyValueCache cache;
      for (Index t = 0; t < 5; ++t)
        CHECK(norm_between(a(Var(narrow(x, 1, t, 1)), r, &cache).y.value(), narrow(y, 1, t, 1)) <
              1e-12);
      if (positions == Positions::Rotary) continue;
      const Tensor beside = a(Var(x), Var(memory)).y.value();
      CHECK(norm_between(beside, head_by_head_with(options, a, x, memory).value()) < 1e-12);
      CHECK(norm_between(beside, a.attend(Var(x), a.project(Var(memory))).y.value()) < 1e-12);
    }
}

TEST_CASE("heads that share a key and value are heads with equal weights", "[attention][cache]") {
  const Tensor x = normal({2, 5, 12}, 0, 1, {3, 7}, DType::Float64);
  const Tensor dy = normal({2, 5, 12}, 0, 1, {3, 8}, DType::Float64);
  const Tensor which =
      from_vector<Index>({0, 0, 1, 1}, {4});  // the head of each head, of 3 columns
  auto each = [&](const Tensor& rows) {       // (2·3, ·) -> (4·3, ·)
    Tensor heads = reshape(rows, {2, 3, rows.numel() / 6});
    Shape shape = rows.shape();
    shape[0] = 12;
    return reshape(index_select(heads, 0, which), shape);
  };
  auto summed = [&](const Tensor& rows) {  // (4·3, ·) -> (2·3, ·)
    Shape shape = rows.shape();
    shape[0] = 6;
    return reshape(sum(reshape(rows, {2, 2, 3, rows.numel() / 12}), {1}), shape);
  };
  for (Positions positions : {Positions::None, Positions::Alibi}) {
    seed(2);
    const AttentionRequest r{.causal = true};
    MultiheadAttention shared(12, 4, {.positions = positions, .kv_heads = 2}),
        apart(12, 4, {.positions = positions});
    shared.to(DType::Float64);
    apart.to(DType::Float64);
    StateDict weights = shared.state_dict();
    for (const char* name : {"in_proj_weight", "in_proj_bias"}) {
      const Tensor all = weights.at(name);  // 12 rows of Q, 6 of K, 6 of V
      REQUIRE(all.size(0) == 24);
      weights[name] =
          concatenate(std::vector<Tensor>{narrow(all, 0, 0, 12), each(narrow(all, 0, 12, 6)),
                                          each(narrow(all, 0, 18, 6))},
                      0);
    }
    apart.load_state_dict(weights);
    std::map<std::string, Tensor> gradients[2];
    Tensor y[2];
    for (int i : {0, 1}) {
      MultiheadAttention& a = i == 0 ? shared : apart;
      Tape tape;
      Var out = a(Var(x), r).y;
      y[i] = out.value();
      tape.backward(out, dy);
      for (auto& [name, p] : a.named_parameters()) gradients[i][name] = p.grad();
    }
    CHECK(norm_between(y[0], y[1]) < 1e-13);
    CHECK(norm_between(shared(Var(x), Var(x), Var(x), r).y.value(), y[0]) < 1e-13);
    CHECK(norm_between(shared(Var(x), Var(x), r).y.value(), y[0]) < 1e-13);
    const AttentionOptions options{.positions = positions, .kv_heads = 2};
    CHECK(norm_between(head_by_head_with(options, shared, x, x, r).value(), y[0]) < 1e-13);
    for (const char* name : {"in_proj_weight", "in_proj_bias"}) {
      const Tensor two = gradients[0].at(name), four = gradients[1].at(name);
      CHECK(norm_between(narrow(two, 0, 0, 12), narrow(four, 0, 0, 12)) < 1e-12);
      for (Index part : {0, 1})
        CHECK(norm_between(narrow(two, 0, 12 + 6 * part, 6),
                           summed(narrow(four, 0, 12 + 12 * part, 12))) < 1e-12);
    }
    KeyValueCache cache;  // of two heads
    for (Index t = 0; t < 5; ++t)
      CHECK(norm_between(shared(Var(narrow(x, 1, t, 1)), r, &cache).y.value(),
                         narrow(y[0], 1, t, 1)) < 1e-13);
    CHECK(cache.keys().shape() == Shape{2, 2, 5, 3});
  }
  MultiheadAttention shared(12, 4, {.kv_heads = 1});
  Var memory(normal({2, 3, 12}, 0, 1, {3, 9})), query(normal({4, 1, 12}, 0, 1, {3, 10}));
  CHECK(shared.attend(query, shared.project(memory)).y.shape() == Shape{4, 1, 12});
  CHECK_THROWS_AS(MultiheadAttention(12, 4, {.kv_heads = 3}), ValueError);
  CHECK_THROWS_AS(MultiheadAttention(12, 4, {.kv_heads = -1}), ValueError);
  CHECK_THROWS_AS(MultiheadAttention(12, 4, {.share_qk = true, .kv_heads = 2}), ValueError);
}

TEST_CASE("errors name the axes, the shapes and the module", "[attention]") {
  auto has = [](const auto& f, const char* part) {
    const std::string text = error_of(f);
    INFO(text);
    CHECK(contains(text, part));
  };
  has([] { MultiheadAttention(10, 3); }, "3 heads do not divide d_model 10");
  MultiheadAttention mha(8, 2);
  Var x(zeros({2, 3, 8})), wide(zeros({2, 3, 9})), other(zeros({1, 3, 8}));
  has([&] { mha(x, wide, x); }, "query must be (B, T, D), key and value (B, S, D), D = 8");
  has([&] { mha(x, other, x); }, "key and value (B, S, D), D = 8");
  for (Index kv_heads : {2, 1})  // packed, and not
    for (const Shape& shape : {Shape{3, 8}, Shape{2, 3, 9}, Shape{8}})
      has([&] { MultiheadAttention(8, 2, {.kv_heads = kv_heads})(Var(zeros(shape))); },
          "query must be (B, T, D)");
  TorchMultiheadAttention torch(8, 2, {}, {.kdim = 5, .vdim = 4});
  has([&] { torch(x, x, x); }, "key (B, S, kdim = 5) and value (B, S, vdim = 4)");
  has([&] { mha(x, other); }, "key and value (B, S, D), D = 8");
  AttentionRequest r;
  r.keep = ones({3, 4}, DType::Bool);
  has([&] { mha(x, r); }, "keep fits neither (T, S), (B·H, T, S) nor (B, H, T, S) = (2, 2, 3, 3)");
  for (const Shape& wrong :
       {Shape{3, 1, 3, 3}, Shape{1, 3, 3, 3}, Shape{2, 2, 2, 3}, Shape{2, 2, 3, 2}}) {
    r.keep = ones(wrong, DType::Bool);
    has([&] { mha(x, r); }, "keep fits neither (T, S)");
  }
  r.keep = ones({3, 3});
  has([&] { mha(x, r); }, "must be bool");
}

TEST_CASE("the mean over kept positions") {
  const Tensor x = reshape(arange(0, 6), {1, 3, 2}).to(DType::Float64);
  const Var mean = masked_mean(Var(x), from_vector<bool>({true, true, false}, {1, 3}));
  CHECK(mean.value().to_vector<double>() == std::vector<double>{1, 2});
}

}  // namespace test_multihead
