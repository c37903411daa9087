// Models of other programs under the microscope: the sentence as it is typed has the log-probabilities and the ∂L/∂A that
// PyTorch computes (tests/reference/imported.py), and a model that went to PyTorch and back the same loss.
#include "models/gpt/gpt.hpp"
#include "tensor/ops/elementwise.hpp"
#include "tensor/ops/index.hpp"
#include "tensor/ops/reduce.hpp"
#include "tests/reference.hpp"
#include "tests/tools/inspect/common.hpp"
#include "tests/tools/temporary_file.hpp"
#include "tools/convert/convert.hpp"
#include "tools/inspect/inspection.hpp"
#include "tools/kinds/pairs.hpp"
#include "tools/train/checkpoint.hpp"

namespace test_said_before {

using namespace glim;
using glim::test::message_of;
using glim::test::TemporaryFile;

namespace {

void import_to(const std::string& model, const std::string& from, const std::string& file) {
  ImportOptions o;
  o.format = from;
  o.file = std::string(GLIM_REFERENCE) + "/convert/" + file;
  save_checkpoint(model, import_model(o).checkpoint);
}

// The attentions of a view, by the reference's names: "self.0".
void require_attentions(const Inspection& seen, const std::string& name,
                        const std::map<AttentionSide, std::string>& sides) {
  for (const AttentionView& v : seen.attention) {
    const std::string key = name + "." + sides.at(v.side) + "." + std::to_string(v.layer);
    INFO(key);
    CHECK(distance(v.a, stored("imported").get(key + ".a")) < 1e-6);
    CHECK(distance(v.da, stored("imported").get(key + ".da")) < 1e-6);
  }
}

}  // namespace

TEST_CASE("inspect: a GPT-2 of transformers says of a typed sentence what it says there") {
  TemporaryFile model;
  import_to(model.path(), "gpt2", "gpt2");
  const Reference& ref = stored("imported");
  ExampleOptions o;
  o.model = model.path();
  o.source = "We've seen the cats; they're in the garden.";
  o.float64 = true;
  const auto made = make_example(o);
  Example& example = *made;
  CHECK(example.heading() == "gpt, trained (" + model.path() + ")");  // no label smoothing
  const Inspection seen = inspect(example);
  CHECK(std::abs(seen.pass.loss_value() - ref.get("gpt2.loss").item()) < 1e-6);
  const Tensor expected = ref.get("gpt2.log_probs");
  std::vector<Index> ids = example.tokenizers.target->encode_text(o.source);
  ids.pop_back();
  const Tensor logits =
      dynamic_cast<Gpt&>(example.model())(from_vector(ids, {1, std::ssize(ids)})).value();
  const Tensor all = log_softmax(select(logits, 0, 0), -1);
  CHECK(distance(narrow(all, -1, 4, expected.size(1)), expected) < 1e-5);
  CHECK(seen.attention.size() == 2);
  require_attentions(seen, "gpt2",
                     {{AttentionSide::DecoderSelf, "self"}, {AttentionSide::EncoderSelf, "self"}});
}

TEST_CASE("inspect: a Marian of transformers says of a typed pair what it says there") {
  TemporaryFile model;
  import_to(model.path(), "marian", "marian");
  const Reference& ref = stored("imported");
  ExampleOptions o;
  o.model = model.path();
  o.source = "We've seen the cats; they're in the garden.";
  o.target = "Wir haben die Katzen gesehen; sie sind im Garten.";
  o.float64 = true;
  const auto made = make_example(o);
  Example& example = *made;
  const Inspection seen = inspect(example);
  CHECK(std::abs(seen.pass.loss_value() - ref.get("marian.loss").item()) < 1e-6);
  const Tensor expected = ref.get("marian.log_probs");
  const Index rows = expected.size(1);
  std::vector<Index> ours{kEos, kUnk};
  for (Index id = 2; id < rows - 1; ++id) ours.push_back(id + 2);
  ours.push_back(kPad);
  const Example& r = example;
  std::vector<Index> in = r.target_out_ids;
  in.insert(in.begin(), kBos);
  in.pop_back();
  const Tensor logits = dynamic_cast<SequenceModel&>(example.model())
                            .teach(from_vector(r.source_ids, {1, std::ssize(r.source_ids)}),
                                   from_vector(in, {1, std::ssize(in)}))
                            .logits.value();
  const Tensor all = log_softmax(select(logits, 0, 0), -1);
  CHECK(distance(index_select(all, -1, from_vector(ours, {rows})), expected) < 1e-5);
  CHECK(seen.attention.size() == 6);
  require_attentions(seen, "marian",
                     {{AttentionSide::EncoderSelf, "encoder"},
                      {AttentionSide::DecoderSelf, "decoder"},
                      {AttentionSide::Cross, "cross"}});
}

TEST_CASE("inspect: a model that was exported and imported has the same loss and gradients") {
  TemporaryFile first, out, back;
  import_to(first.path(), "torch", "torch_post.safetensors");
  Checkpoint trained = load_checkpoint(first.path());
  CHECK(trained.options.label_smoothing == 0);
  trained.options.label_smoothing = 0.1;
  save_checkpoint(first.path(), trained);
  export_model("torch", first.path(), out.path());
  ImportOptions again;
  again.format = "torch";
  again.file = out.path();
  save_checkpoint(back.path(), import_model(again).checkpoint);
  auto look = [](const std::string& model) {
    ExampleOptions o;
    o.model = model;
    o.source = "5 9 4";
    o.target = "10 4";
    const auto made = make_example(o);
    Example& example = *made;
    CHECK(example.heading().ends_with(", label smoothing ε = 0.1"));
    return inspect(example);
  };
  const Inspection a = look(first.path()), b = look(back.path());
  CHECK(a.label_smoothing == 0.1);
  CHECK(a.pass.loss_value() == b.pass.loss_value());
  REQUIRE(a.attention.size() == b.attention.size());
  for (std::size_t i = 0; i < a.attention.size(); ++i)
    CHECK(same_bits(a.attention[i].da, b.attention[i].da));
}

TEST_CASE("inspect refuses a sentence of which nothing is known") {
  TemporaryFile model;
  import_to(model.path(), "torch", "torch_post.safetensors");
  ExampleOptions o;
  o.model = model.path();
  o.source = "the cat";
  auto message = [&] { return message_of<ValueError>([&] { make_example(o); }); };
  const std::string unknown =
      "the model's vocabulary has no token of the sentence; write it in tokens that the model was "
      "trained on, as '4', '5', '6' are";
  CHECK(message() == "--sentence: " + unknown);
  o.source = "5 cat";
  o.target = "die Katze";
  CHECK(message() == "--translation: " + unknown);
  o.target = "";
  import_to(model.path(), "marian", "marian");
  o.source = "猫 鳥";  // the space has a piece
  CHECK(message().starts_with("--sentence: the model's vocabulary has no token of the sentence"));
  import_to(model.path(), "nanogpt", "nanogpt.safetensors");
  o.source = "a z";
  CHECK(message() == "--sentence: has what the imported vocabulary lacks: 'z'");
}

}  // namespace test_said_before
