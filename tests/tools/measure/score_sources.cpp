// The parts of a score add up to it, whatever the model, and name where query and key come from.
#include "tools/measure/score_sources.hpp"

#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tensor/error.hpp"
#include "tests/reference.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/inspect/request.hpp"

namespace test_score_sources {

using namespace glim;
using Json = nlohmann::json;

namespace {

Pass pass_with(Json fresh, const std::vector<std::string>& removed = {}) {
  fresh.update({{"layers", 2}, {"d-model", 16}});
  if (fresh["kind"] != "conv") fresh.update({{"heads", 4}, {"d-ff", 32}});
  ExampleOptions o = options_of({{"fresh", fresh}});
  for (const char* reads_text : {"gpt", "bert", "classifier"})
    if (fresh["kind"] == reads_text) o.source = "I have a cat";
  o.float64 = true;
  o.changes.remove_heads = removed;
  const auto made = make_example(o);
  return pass_of(*made);
}

}  // namespace

TEST_CASE("the parts of every cell of every head add up to its score") {
  const Json kind = GENERATE(
      Json{{"kind", "gpt"}}, Json{{"kind", "gpt"}, {"positions", "rotary"}, {"kv-heads", 2}},
      Json{{"kind", "gpt"}, {"positions", "rotary"}, {"qk-norm", true}},
      Json{{"kind", "gpt"}, {"positions", "alibi"}, {"norm-kind", "rms"}, {"bias", true}},
      Json{{"kind", "gpt"},
           {"feed-forward", "gated"},
           {"positions", "sinusoidal"},
           {"share-qk", true}},
      Json{{"kind", "bert"}}, Json{{"kind", "classifier"}}, Json{{"kind", "vit"}},
      Json{{"kind", "transformer"}}, Json{{"kind", "transformer"}, {"norm", "post"}},
      Json{{"kind", "non-autoregressive"}});
  INFO(kind.dump());
  const Pass pass = pass_with(kind);
  const std::vector<int> nodes = attention_nodes(pass);
  CHECK(nodes.size() >= 2);
  int cells = 0;
  for (int probs : nodes) {
    const ScoreSources sources(pass, probs);
    const PassNode& scores = pass[pass[probs].inputs[0]];
    for (Index h = 0; h < sources.heads(); ++h)
      for (Index i = 0; i < sources.queries(); ++i)
        for (Index j = 0; j < sources.keys(); ++j) {
          if (!sources.may_attend(h, i, j)) continue;
          const ScoreParts cell = sources.cell(h, i, j);
          double sum = cell.bias, mean = 0;
          for (const std::vector<double>& row : cell.parts)
            sum += std::accumulate(row.begin(), row.end(), 0.0);
          for (Index k = 0; k < sources.keys(); ++k)
            if (sources.may_attend(h, i, k)) mean += scores.value.at<double>({0, h, i, k});
          mean /= static_cast<double>(cell.keys);
          const double score = scores.value.at<double>({0, h, i, j});
          if (!(std::abs(sum - (score - mean)) < 1e-12) || !(cell.gap < 1e-12))
            FAIL(cell.module << " " << h << ": " << i << ", " << j << ": " << sum << ", not "
                             << score - mean << "; gap " << cell.gap);
          CHECK(cell.gradient == scores.gradient.at<double>({0, h, i, j}));
          ++cells;
        }
  }
  CHECK(cells > 50);
}

TEST_CASE("the rows of every part that is split add up to it") {
  const Json kind = GENERATE(
      Json{{"kind", "gpt"}, {"bias", true}},
      Json{{"kind", "gpt"}, {"positions", "rotary"}, {"kv-heads", 2}, {"feed-forward", "gated"}},
      Json{{"kind", "gpt"}, {"positions", "alibi"}, {"norm-kind", "rms"}, {"qk-norm", true}},
      Json{{"kind", "bert"}}, Json{{"kind", "vit"}}, Json{{"kind", "transformer"}},
      Json{{"kind", "transformer"}, {"norm", "post"}});
  INFO(kind.dump());
  const Pass pass = pass_with(kind);
  int parts = 0, heads = 0, networks = 0;
  for (int probs : attention_nodes(pass)) {
    const ScoreSources sources(pass, probs);
    const Index query = sources.queries() - 1;
    const ScoreParts cell = sources.cell(1, query, 0);
    auto source = [](const std::string& name) {
      return std::isdigit(name.back()) || name.ends_with("lu") || name.ends_with(".mul");
    };
    for (std::size_t a = 0; a < cell.query_sources.size(); ++a)
      for (std::size_t b = 0; b < cell.key_sources.size(); ++b) {
        const std::string &from = cell.query_sources[a], &to = cell.key_sources[b];
        if (!source(from) && !source(to)) {
          CHECK(contains(error_of<ValueError>([&] { sources.split(1, query, 0, from, to); }),
                         from + " and " + to + " are not split"));
          continue;
        }
        const SplitPart part = sources.split(1, query, 0, from, to);
        CHECK(part.part == cell.parts[a][b]);
        CHECK(part.splits.size() == std::size_t{source(from)} + std::size_t{source(to)});
        for (const SourceSplit& s : part.splits) {
          double sum = 0;
          for (const SourceSplit::Row& r : s.rows) sum += r.part;
          if (!(std::abs(sum - part.part) < 1e-12) || !(s.gap < 1e-12) || s.rows.size() < 2)
            FAIL(from << ", " << to << ": " << s.source << ": " << sum << ", not " << part.part);
          CHECK((s.rows[0].position >= 0) == std::isdigit(s.source.back()));
          ++(s.rows[0].position >= 0 ? heads : networks);
        }
        ++parts;
      }
  }
  CHECK(parts > 8);
  CHECK(heads > 8);
  CHECK(networks > 1);
}

TEST_CASE("a row of a split is what a head read at a position, and from where") {
  // Values that have no positions are equal for equal tokens, and their rows as large as the head's attention to them.
  const Json fresh{{"kind", "gpt"}, {"positions", "alibi"}};
  const Pass pass = pass_with(fresh);  // "I have a cat", by letters
  const SplitPart part =
      split_part(pass, "layers.1.self_attn:0", 9, 1, "layers.0.self_attn:2", "wte");
  CHECK(part.query_source == "transformer.layers.0.self_attn:2");
  REQUIRE(part.splits.size() == 1);
  const Tensor& probs = pass[attention_nodes(pass)[0]].value;
  std::map<std::pair<Index, std::string>, double> rows;
  for (const SourceSplit::Row& r : part.splits[0].rows) rows[{r.position, r.source}] = r.part;
  CHECK(rows.size() == static_cast<std::size_t>(probs.size(-1)));
  CHECK(rows.at({10, "wte"}) == 0);  // after the query
  const double ratio = probs.at<double>({0, 2, 9, 1}) / probs.at<double>({0, 2, 9, 8});
  CHECK(ratio != Approx(1));
  CHECK(rows.at({1, "wte"}) / rows.at({8, "wte"}) == Approx(ratio));
  CHECK(rows.at({1, "wte"}) != 0);
  const std::string text = split_text(part, [](const std::string& head) {
    return std::vector<std::string>(10, head.substr(head.size() - 1));
  });
  CHECK(contains(text, "self_attn:2 read, with its attention of this pass"));
  CHECK(contains(text, "'2'"));
  CHECK(contains(error_of<ValueError>([&] {
                   split_part(pass, "layers.1.self_attn:0", 9, 1, "wte", "layers.0.gel");
                 }),
                 "the key has no source 'layers.0.gel' (nearest: transformer.layers.0.gelu"));
}

TEST_CASE("sources are embeddings, earlier heads and feed-forward networks, and biases") {
  const Pass pass = pass_with({{"kind", "gpt"}, {"bias", true}});
  using Names = std::vector<std::string>;
  const ScoreParts first = score_parts(pass, "layers.0.self_attn:1", 3, 2);
  CHECK(first.query_sources == Names{"wte", "wpe", "biases"});
  const ScoreParts second = score_parts(pass, "transformer.layers.1.self_attn:1", 3, 2);
  CHECK(second.key_sources ==
        Names{"wte", "wpe", "transformer.layers.0.self_attn:0", "transformer.layers.0.self_attn:1",
              "transformer.layers.0.self_attn:2", "transformer.layers.0.self_attn:3",
              "transformer.layers.0.gelu", "biases"});
  const ScoreParts cross =
      score_parts(pass_with({{"kind", "transformer"}}), "layers.1.multihead_attn:0", 1, 2);
  CHECK(cross.query_sources[0] == "tgt_embed");
  CHECK(cross.key_sources[0] == "src_embed");

  // A head that is removed has no part in any score.
  const ScoreParts without = score_parts(
      pass_with({{"kind", "gpt"}, {"bias", true}}, {"transformer.layers.0.self_attn:1"}),
      "layers.1.self_attn:1", 3, 2);
  for (std::size_t a = 0; a < without.parts.size(); ++a)
    for (std::size_t b = 0; b < without.parts[a].size(); ++b)
      if (a == 3 || b == 3) CHECK(without.parts[a][b] == 0);
  CHECK(without.parts[0][2] != 0);
  CHECK(score_text(second, "a", "b").find("query 3 'a', key 2 'b'") != std::string::npos);
  CHECK(second.largest_gradient >= std::abs(second.gradient));
  ScoreParts noise = second;
  noise.gradient = 1e-5 * noise.largest_gradient;
  CHECK(noise.gradient > 0);
  CHECK(score_text(noise, "a", "b").find("next to nothing") != std::string::npos);
}

TEST_CASE("a head, a cell or an attention that the pass does not have is refused") {
  const Pass pass = pass_with({{"kind", "transformer"}});
  auto refused = [&](const std::string& head, Index query, Index key, const std::string& why) {
    CHECK(contains(error_of<ValueError>([&] { score_parts(pass, head, query, key); }), why));
  };
  refused("encoder.layers.0.self_atn:0", 0, 0, "nearest: encoder.layers.0.self_attn");
  refused("encoder.layers.0.self_attn", 0, 0, "names no head: write encoder.layers.0.self_attn:0");
  refused("encoder.layers.0.self_attn:4", 0, 0, "has the heads 0 to 3, not 4");
  refused("encoder.layers.0.self_attn:0", 99, 0, "has the queries 0 to");
  refused("decoder.layers.0.self_attn:0", 0, 1, "query 0 may not attend to key 1");
  refused("layers.0.self_attn:0", 0, 0, "decoder.layers.0.self_attn (#");
  const Pass convolutions = pass_with({{"kind", "conv"}});
  CHECK_THROWS_AS(score_parts(convolutions, "a:0", 0, 0), ValueError);
}

}  // namespace test_score_sources
