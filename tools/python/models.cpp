// Models, built from keywords.
#include <algorithm>
#include <nanobind/stl/optional.h>

#include "models/bert/bert.hpp"
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/stored_rows.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tools/python/keywords.hpp"
#include "tools/python/modules.hpp"
#include "tools/python/words.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// __init__ of a model with a config.
template <class M, class C = std::remove_cvref_t<decltype(std::declval<M&>().config())>>
auto from_keywords(const char* what) {
  // Python cannot feed a model that copies: it has no copy_ids.
  return
      [what](M* self, nb::kwargs args) { new (self) M(from_keywords_of<C>(what, args, {"copy"})); };
}

// Logits of tgt_in, given src, or what the generator makes them of.
template <class M, bool kHidden = false>
Var teach(M& s, const Arg& src, const Arg& tgt_in) {
  return s.in_scope([&] {
    const SourceBatch batch(src.constant("src"));
    TeacherForced t = s.teach(batch, tgt_in.constant("tgt_in"), {.defer_logits = kHidden});
    return kHidden ? t.hidden : t.logits;
  });
}

}  // namespace

void bind_models(nb::module_& m) {
  module<Transformer>(
      m, "Transformer",
      "Vaswani et al. 2017: logits (B, T, V) of src (B, S) and tgt_in (B, T), int64. "
      "Arguments: src_vocab, tgt_vocab, d_model, heads, d_ff, ...")
      .def("__init__", from_keywords<Transformer>("Transformer"))
      .def(
          "encode", [](Transformer& t, const Arg& src) { return t.encode(src.constant("src")); },
          "src"_a)
      .def("hidden", &teach<Transformer, true>, "src"_a, "tgt_in"_a,
           "x (B, T, D), where logits = generator(x): linear_label_smoothing_loss needs no logits.")
      .def("__call__", &teach<Transformer>, "src"_a, "tgt_in"_a);
  module<Gpt>(m, "Gpt",
              "Decoder only: logits (B, T, V) of ids (B, T), int64. Arguments: vocab, context, "
              "d_model, heads, ...")
      .def("__init__", from_keywords<Gpt>("Gpt"))
      .def(
          "__call__", [](Gpt& g, const Arg& ids) { return g(ids.constant("ids")); }, "ids"_a);
  module<Bert>(m, "Bert",
               "Encoder only: (B, S, D) of ids (B, S). Arguments: vocab, max_len, d_model, heads, "
               "layers, ...")
      .def("__init__", from_keywords<Bert>("Bert"))
      .def(
          "__call__", [](Bert& b, const Arg& ids) { return b(ids.constant("ids")); }, "ids"_a);
  module<MaskedLanguageModel>(m, "MaskedLanguageModel",
                              "Logits (M, V) of the chosen positions (M,) among the B·S of ids.")
      .def("__init__", from_keywords<MaskedLanguageModel, BertConfig>("MaskedLanguageModel"))
      .def(
          "__call__",
          [](MaskedLanguageModel& b, const Arg& ids, const Arg& chosen) {
            return b(ids.constant("ids"), chosen.constant("chosen"));
          },
          "ids"_a, "chosen"_a);
  module<SequenceClassifier>(
      m, "SequenceClassifier",
      "Logits (B, C) of ids (B, S). Arguments: classes, pooling, and Bert's.")
      .def(
          "__init__",
          [](SequenceClassifier* self, Index classes, const std::string& pooling, nb::kwargs args) {
            new (self) SequenceClassifier(from_keywords_of<BertConfig>("SequenceClassifier", args),
                                          classes, kWords<Pooling>.parse("pooling", pooling));
          },
          "classes"_a, "pooling"_a = "first", "config"_a)
      .def(
          "__call__", [](SequenceClassifier& b, const Arg& ids) { return b(ids.constant("ids")); },
          "ids"_a);
  layer<Vit>(m, "Vit",
             "Logits (B, classes) of images (B, C, H, W). Arguments: channels, height, width, "
             "patch, classes, ...")
      .def("__init__", from_keywords<Vit>("Vit"));
  layer<Cnn>(m, "Cnn",
             "Logits (B, classes) of images (B, C, H, W). Arguments: channels, height, width, "
             "classes, d_model, layers, kernel, dropout")
      .def("__init__", from_keywords<Cnn>("Cnn"));
  module<Seq2SeqRnn>(
      m, "Seq2SeqRnn",
      "GRU or LSTM with attention: logits (B, T, V). Arguments: src_vocab, tgt_vocab, d_embed, ...")
      .def("__init__", from_keywords<Seq2SeqRnn>("Seq2SeqRnn"))
      .def("__call__", &teach<Seq2SeqRnn>, "src"_a, "tgt_in"_a);
  module<ConvSeq2Seq>(m, "ConvSeq2Seq",
                      "Convolutions with attention: logits (B, T, V). Arguments: src_vocab, "
                      "tgt_vocab, d_model, ...")
      .def("__init__", from_keywords<ConvSeq2Seq>("ConvSeq2Seq"))
      .def("__call__", &teach<ConvSeq2Seq>, "src"_a, "tgt_in"_a);
  module<NonAutoregressive>(m, "NonAutoregressive",
                            "All tokens at once: logits (B, T, V). Arguments: Transformer's.")
      .def("__init__", from_keywords<NonAutoregressive>("NonAutoregressive"))
      .def("__call__", &teach<NonAutoregressive>, "src"_a, "tgt_in"_a);
}

}  // namespace glim::python
