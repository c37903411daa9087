// The whole: a Transformer of your own parts learns to copy sentences.
//
// One encoder layer and one decoder layer, two heads, norms after each sublayer. The forward pass is given. You write
// copy_task_backward from the backwards of your own files, from the loss to the embedding. Then the model trains with
// your adam.cpp and prints its loss and a receipt: a hash of the words that it says for eight sentences which it has not
// seen. Where all of them are right, the receipt is the same on every machine, in NumPy and in C++.
//
// The judge checks copy_task_backward, which returns a gradient for each weight in the order of kShapes, as the gradient
// of copy_task at inputs(seed). Then it calls train(), which returns the receipt.
#include <algorithm>
#include <glim/tensor/random.hpp>

#include "adam.cpp"
#include "attention.cpp"
#include "course.hpp"
#include "heads.cpp"
#include "label_smoothing.cpp"
#include "layer_norm.cpp"
#include "linear.cpp"
#include "masks.cpp"
#include "residual.cpp"

using Tensors = std::vector<Tensor>;
// Words, words of a sentence, width of the model and of the feed-forward layers.
constexpr Index V = 10, S = 5, D = 32, F = 48, kBegin = 0;  // kBegin: what the decoder reads first
const std::vector<std::pair<std::string, Shape>> kShapes = {
    {"embedding", {V, D}},  // of the encoder and of the decoder
    {"encoder_in", {3 * D, D}}, {"encoder_out", {D, D}},     {"encoder_gamma1", {D}},
    {"encoder_beta1", {D}},     {"encoder_weight1", {F, D}}, {"encoder_weight2", {D, F}},
    {"encoder_gamma2", {D}},    {"encoder_beta2", {D}},      {"self_in", {3 * D, D}},
    {"self_in_bias", {3 * D}},  {"self_out", {D, D}},        {"self_out_bias", {D}},
    {"decoder_gamma1", {D}},    {"decoder_beta1", {D}},      {"query", {D, D}},
    {"query_bias", {D}},        {"key_value", {2 * D, D}},   {"key_value_bias", {2 * D}},
    {"cross_out", {D, D}},      {"cross_out_bias", {D}},     {"decoder_gamma2", {D}},
    {"decoder_beta2", {D}},     {"decoder_weight1", {F, D}}, {"decoder_weight2", {D, F}},
    {"decoder_gamma3", {D}},    {"decoder_beta3", {D}},      {"generator", {V, D}},
    {"generator_bias", {V}},
};

Tensor positions() {
  Tensor table = empty({S, D}, DType::Float64);
  for (Index s = 0; s < S; ++s)
    for (Index d = 0; d < D; ++d) {
      const double angle = s / std::pow(10000., 2. * (d / 2) / D);
      table.data<double>()[s * D + d] = d % 2 ? std::cos(angle) : std::sin(angle);
    }
  return table;
}
// Never trained on.
Tensor held_out() {
  std::vector<std::int64_t> words;
  for (Index i = 0; i < 8; ++i)
    for (Index j = 0; j < S; ++j) words.push_back(1 + (7 * i + (3 + i) * j) % (V - 1));
  return from_vector(words, {8, S});
}

// (B, S, D) -> (2B, S, D/2): each head is a sentence of its own. Its gradient is merge_heads.
Tensor split_heads(const Tensor& x) {
  return reshape(permute(reshape(x, {x.size(0), S, 2, D / 2}), {0, 2, 1, 3}),
                 {2 * x.size(0), S, D / 2});
}
// (2B, S, D/2) -> (B, S, D). Its gradient is split_heads.
Tensor merge_heads(const Tensor& x) {
  return reshape(permute(reshape(x, {x.size(0) / 2, 2, S, D / 2}), {0, 2, 1, 3}),
                 {x.size(0) / 2, S, D});
}
// Part n of the last axis, of width D.
Tensor part(const Tensor& x, Index n) { return slice(x, -1, n * D, (n + 1) * D, 1); }
// The rows of the table that the words name. Its gradient is index_add.
Tensor embed(const Tensor& table, const Tensor& words) {
  return std::sqrt(D) * index_select(table, 0, words) + positions();
}

// The values of the forward pass. The decoder reads kBegin and all words said but the last.
struct Values {
  Tensor read, source, source_sum, source_norm, memory;
  Tensor target, self_query, self_key, self_value, keep, self_context, self_sum, self_norm;
  Tensor query, key, value, cross_context, cross_sum, cross_norm, decoded, logits, loss;
};
Values forward(const StateDict& weights, const Tensor& sentences, const Tensor& words) {
  auto w = [&](const char* name) { return weights.at(name); };
  const Index B = sentences.size(0);
  Values s;
  s.read = concatenate({full({B, 1}, kBegin, DType::Int64), slice(words, 1, 0, S - 1, 1)}, 1);
  s.source = embed(w("embedding"), sentences);
  s.source_sum = s.source + multihead_attention(s.source, w("encoder_in"), w("encoder_out"));
  s.source_norm = layer_norm(s.source_sum, w("encoder_gamma1"), w("encoder_beta1"));
  s.memory = post_norm(s.source_norm, w("encoder_weight1"), w("encoder_weight2"),
                       w("encoder_gamma2"), w("encoder_beta2"));

  s.target = embed(w("embedding"), s.read);
  const Tensor qkv = linear(s.target, w("self_in"), w("self_in_bias"));
  s.self_query = split_heads(part(qkv, 0)), s.self_key = split_heads(part(qkv, 1)),
  s.self_value = split_heads(part(qkv, 2));
  const Tensor order = reshape(arange(0, S), {S, 1});  // no word that comes later
  s.keep = broadcast_to(greater_equal(order, transpose(order)), {2 * B, S, S}).contiguous();
  s.self_context = merge_heads(masked_attention(s.self_query, s.self_key, s.self_value, s.keep));
  s.self_sum = s.target + linear(s.self_context, w("self_out"), w("self_out_bias"));
  s.self_norm = layer_norm(s.self_sum, w("decoder_gamma1"), w("decoder_beta1"));

  s.query = split_heads(linear(s.self_norm, w("query"), w("query_bias")));
  const Tensor key_value = linear(s.memory, w("key_value"), w("key_value_bias"));
  s.key = split_heads(part(key_value, 0)), s.value = split_heads(part(key_value, 1));
  s.cross_context = merge_heads(attention(s.query, s.key, s.value));
  s.cross_sum = s.self_norm + linear(s.cross_context, w("cross_out"), w("cross_out_bias"));
  s.cross_norm = layer_norm(s.cross_sum, w("decoder_gamma2"), w("decoder_beta2"));

  s.decoded = post_norm(s.cross_norm, w("decoder_weight1"), w("decoder_weight2"),
                        w("decoder_gamma3"), w("decoder_beta3"));
  s.logits = reshape(linear(s.decoded, w("generator"), w("generator_bias")), {B * S, V});
  s.loss = label_smoothing(s.logits, reshape(sentences, {B * S}));
  return s;
}

StateDict by_name(const Tensors& weights) {
  StateDict w;
  for (std::size_t k = 0; k < kShapes.size(); ++k) w[kShapes[k].first] = weights[k];
  return w;
}

Tensor copy_task(const Tensor& sentences, const Tensors& weights) {
  return forward(by_name(weights), sentences, sentences).loss;
}

Tensors copy_task_backward(const Tensor& dy, const Tensor& sentences, const Tensors& weights) {
  const StateDict weight = by_name(weights);
  auto w = [&](const char* name) { return weight.at(name); };
  const Values s = forward(weight, sentences, sentences);
  const Index B = sentences.size(0);
  StateDict d;
  // answer: d[NAME], of the weight's shape, for each NAME of kShapes
  const Tensor dlogits = label_smoothing_backward(dy, s.logits, reshape(sentences, {B * S}));
  Tensor ddecoded, dcross_norm, dcross_sum, dself_norm, dmemory, dself_sum, dtarget, dsource_norm,
      dsource_sum, dsource, dcontext;
  std::tie(ddecoded, d["generator"], d["generator_bias"]) =
      linear_backward(reshape(dlogits, {B, S, V}), s.decoded, w("generator"), w("generator_bias"));
  std::tie(dcross_norm, d["decoder_weight1"], d["decoder_weight2"], d["decoder_gamma3"],
           d["decoder_beta3"]) =
      post_norm_backward(ddecoded, s.cross_norm, w("decoder_weight1"), w("decoder_weight2"),
                         w("decoder_gamma3"), w("decoder_beta3"));

  std::tie(dcross_sum, d["decoder_gamma2"], d["decoder_beta2"]) =
      layer_norm_backward(dcross_norm, s.cross_sum, w("decoder_gamma2"), w("decoder_beta2"));
  std::tie(dcontext, d["cross_out"], d["cross_out_bias"]) =
      linear_backward(dcross_sum, s.cross_context, w("cross_out"), w("cross_out_bias"));
  const auto [dquery, dkey, dvalue] =
      attention_backward(split_heads(dcontext), s.query, s.key, s.value);
  std::tie(dself_norm, d["query"], d["query_bias"]) =
      linear_backward(merge_heads(dquery), s.self_norm, w("query"), w("query_bias"));
  std::tie(dmemory, d["key_value"], d["key_value_bias"]) =
      linear_backward(concatenate({merge_heads(dkey), merge_heads(dvalue)}, 2), s.memory,
                      w("key_value"), w("key_value_bias"));

  std::tie(dself_sum, d["decoder_gamma1"], d["decoder_beta1"]) = layer_norm_backward(
      dcross_sum + dself_norm, s.self_sum, w("decoder_gamma1"), w("decoder_beta1"));
  std::tie(dcontext, d["self_out"], d["self_out_bias"]) =
      linear_backward(dself_sum, s.self_context, w("self_out"), w("self_out_bias"));
  const auto [dself_query, dself_key, dself_value] = masked_attention_backward(
      split_heads(dcontext), s.self_query, s.self_key, s.self_value, s.keep);
  std::tie(dtarget, d["self_in"], d["self_in_bias"]) = linear_backward(
      concatenate({merge_heads(dself_query), merge_heads(dself_key), merge_heads(dself_value)}, 2),
      s.target, w("self_in"), w("self_in_bias"));
  dtarget = dself_sum + dtarget;

  std::tie(dsource_norm, d["encoder_weight1"], d["encoder_weight2"], d["encoder_gamma2"],
           d["encoder_beta2"]) =
      post_norm_backward(dmemory, s.source_norm, w("encoder_weight1"), w("encoder_weight2"),
                         w("encoder_gamma2"), w("encoder_beta2"));
  std::tie(dsource_sum, d["encoder_gamma1"], d["encoder_beta1"]) =
      layer_norm_backward(dsource_norm, s.source_sum, w("encoder_gamma1"), w("encoder_beta1"));
  std::tie(dsource, d["encoder_in"], d["encoder_out"]) =
      multihead_attention_backward(dsource_sum, s.source, w("encoder_in"), w("encoder_out"));
  dsource = dsource_sum + dsource;

  d["embedding"] = std::sqrt(D) * (index_add({V, D}, 0, sentences, dsource) +
                                   index_add({V, D}, 0, s.read, dtarget));
  // end
  Tensors gradients;
  for (const auto& [name, shape] : kShapes) gradients.push_back(d[name]);
  return gradients;
}

// "sentences" and the weights.
Tensors inputs(std::uint64_t seed) {
  Tensors x{random_integers({2, S}, 1, V, {seed, 0})};
  for (const auto& [name, shape] : kShapes)
    x.push_back(normal(shape, 0, 0.3, {seed, x.size()}, DType::Float64));
  return x;
}

// The words that the model says, one after the other.
Tensor say(const StateDict& w, const Tensor& sentences) {
  Tensor words = full(sentences.shape(), kBegin, DType::Int64);
  for (Index i = 0; i < S; ++i)
    select(words, 1, i)
        .copy_(
            select(reshape(argmax(forward(w, sentences, words).logits, 1), words.shape()), 1, i));
  return words;
}

// Trains until the sentences held out are copied. Returns the receipt of what the model says.
std::string train(int steps = 600, Index batch = 24) {
  Generator random(1);
  StateDict w, m, v;
  for (const auto& [name, shape] : kShapes) {
    w[name] = shape.rank() == 2 ? normal(shape, 0, 1 / std::sqrt(D), random.next(), DType::Float64)
              : name.find("gamma") != std::string::npos ? ones(shape, DType::Float64)
                                                        : zeros(shape, DType::Float64);
    m[name] = v[name] = zeros(shape, DType::Float64);
  }
  Tensor words;
  for (int step = 1; step <= steps; ++step) {
    const Tensor drawn = random_integers({batch, S}, 1, V, random.next());
    Tensors sentences, weights;
    for (Index b = 0; b < batch; ++b) {
      const Tensor one = slice(drawn, 0, b, b + 1, 1).contiguous();
      bool held = false;
      for (Index i = 0; i < 8; ++i)
        held = held || same_bits(one, slice(held_out(), 0, i, i + 1, 1).contiguous());
      if (!held) sentences.push_back(one);
    }
    const Tensor read = concatenate(sentences, 0);
    for (const auto& [name, shape] : kShapes) weights.push_back(w[name]);
    const Tensors d = copy_task_backward(number(1), read, weights);
    const double rate = warm_up(step, D, 100);
    for (std::size_t k = 0; k < d.size(); ++k) {
      const std::string& name = kShapes[k].first;
      std::tie(w[name], m[name], v[name]) = adam_step(w[name], d[k], m[name], v[name], step, rate);
    }
    if (step % 50) continue;
    words = say(w, held_out());
    Index right = 0;
    for (Index i = 0; i < 8; ++i)
      right += same_bits(select(words, 0, i).contiguous(), select(held_out(), 0, i).contiguous());
    std::printf("step %d  loss %.4f  copied %ld of 8\n", step, copy_task(read, weights).item(),
                static_cast<long>(right));
    if (right == 8) break;
  }
  std::uint64_t receipt = 0xcbf29ce484222325;  // FNV-1a, of 64 bits
  for (std::int64_t word : words.to_vector<std::int64_t>())
    receipt = (receipt ^ static_cast<std::uint64_t>(word)) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(receipt));
  std::printf("receipt %s\n", text);
  return text;
}

#ifndef WITHOUT_MAIN
int main() { train(); }
#endif
