// Models, built from keywords.
#include <nanobind/stl/optional.h>
#include <set>

#include "models/bert/bert.hpp"
#include "models/cnn/cnn.hpp"
#include "models/conv/conv_seq2seq.hpp"
#include "models/gpt/gpt.hpp"
#include "models/non_autoregressive/non_autoregressive.hpp"
#include "models/rnn/seq2seq_rnn.hpp"
#include "models/transformer/transformer.hpp"
#include "models/vit/vit.hpp"
#include "tools/python/modules.hpp"
#include "tools/python/words.hpp"

namespace glim::python {

using namespace nb::literals;
namespace {

// A keyword of a config struct: how Python's value becomes the member.
class Keywords {
 public:
  Keywords(const char* what, nb::kwargs given) : what_(what), given_(given) {}
  template <class T>
  Keywords& operator()(const char* name, T& member) {
    return take(name, [&](nb::handle value) {
      if constexpr (std::is_enum_v<T>) {
        std::string word;
        if (!nb::try_cast(value, word)) return false;
        member = kWords<T>.parse(name, word);
        return true;
      } else {
        return nb::try_cast(value, member);
      }
    });
  }
  // TypeError for one that no line has taken.
  void done() const {
    for (auto [key, value] : given_)
      if (std::string name = nb::cast<std::string>(key); !taken_.contains(name))
        throw nb::type_error(
            (std::string(what_) + ": unknown argument '" + name + "'; known are " + known_)
                .c_str());
  }

 private:
  template <class F>
  Keywords& take(const char* name, const F& assign) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    taken_.insert(name);
    if (given_.contains(name) && !assign(given_[name]))
      throw nb::type_error(
          (std::string(what_) + ": the argument '" + name + "' has another type").c_str());
    return *this;
  }
  const char* what_;
  nb::kwargs given_;
  std::string known_;
  std::set<std::string> taken_;
};

void transformer_config(Keywords& k, TransformerConfig& c) {
  k("src_vocab", c.src_vocab)("tgt_vocab", c.tgt_vocab)("d_model", c.d_model)("heads", c.heads)(
      "d_ff", c.d_ff)("dropout", c.dropout)("norm", c.norm)("activation", c.activation)(
      "norm_eps", c.norm_eps)("bias", c.bias)("attention_dropout", c.attention_dropout)(
      "activation_dropout", c.activation_dropout)("positions", c.positions)(
      "position_base", c.position_base)("share_qk", c.share_qk)("final_norm", c.final_norm)(
      "encoder_layers", c.encoder_layers)("decoder_layers", c.decoder_layers)("tie", c.tie)(
      "max_len", c.max_len)("embedding_init", c.embedding_init)("pad", c.pad);
}

// __init__ of a model with a config: `fill` lists its keywords.
template <class M, class C>
auto from_keywords(const char* what, void (*fill)(Keywords& k, C& c)) {
  return [what, fill](M* self, nb::kwargs given) {
    C c;
    Keywords k(what, given);
    fill(k, c);
    k.done();
    new (self) M(c);
  };
}

// Logits of tgt_in, given src, or what the generator makes them of.
template <class M, bool kHidden = false>
Var teach(M& s, const Arg& src, const Arg& tgt_in) {
  return s.in_scope([&] {
    const SourceBatch batch(src("src").value());
    TeacherForced t = s.teach(batch, tgt_in("tgt_in").value(), {.defer_logits = kHidden});
    return kHidden ? t.hidden : t.logits;
  });
}

void bert_config(Keywords& k, BertConfig& c) {
  k("vocab", c.vocab)("max_len", c.max_len)("d_model", c.d_model)("heads", c.heads)(
      "layers", c.layers)("d_ff", c.d_ff)("dropout", c.dropout)("norm", c.norm)(
      "activation", c.activation)("positions", c.positions)("position_base", c.position_base)(
      "share_qk", c.share_qk)("norm_eps", c.norm_eps)("pad", c.pad)("init", c.init);
}

}  // namespace

void bind_models(nb::module_& m) {
  module<Transformer>(
      m, "Transformer",
      "Vaswani et al. 2017: logits (B, T, V) of src (B, S) and tgt_in (B, T), int64. "
      "Arguments: src_vocab, tgt_vocab, d_model, heads, d_ff, ...")
      .def("__init__",
           from_keywords<Transformer, TransformerConfig>("Transformer", transformer_config))
      .def(
          "encode", [](Transformer& t, const Arg& src) { return t.encode(src("src").value()); },
          "src"_a)
      .def("hidden", &teach<Transformer, true>, "src"_a, "tgt_in"_a,
           "x (B, T, D), where logits = generator(x): linear_label_smoothing_loss needs no logits.")
      .def("__call__", &teach<Transformer>, "src"_a, "tgt_in"_a);
  module<Gpt>(m, "Gpt",
              "Decoder only: logits (B, T, V) of ids (B, T), int64. Arguments: vocab, context, "
              "d_model, heads, ...")
      .def("__init__", from_keywords<Gpt, GptConfig>(
                           "Gpt",
                           [](Keywords& k, GptConfig& c) {
                             k("vocab", c.vocab)("context", c.context)("d_model", c.d_model)(
                                 "heads", c.heads)("layers", c.layers)("d_ff", c.d_ff)(
                                 "dropout", c.dropout)("bias", c.bias)("norm_eps", c.norm_eps)(
                                 "init", c.init)("activation", c.activation)("never_predicted",
                                                                             c.never_predicted);
                           }))
      .def(
          "__call__", [](Gpt& g, const Arg& ids) { return g(ids("ids").value()); }, "ids"_a);
  module<Bert>(m, "Bert",
               "Encoder only: (B, S, D) of ids (B, S). Arguments: vocab, max_len, d_model, heads, "
               "layers, ...")
      .def("__init__", from_keywords<Bert, BertConfig>("Bert", bert_config))
      .def(
          "__call__", [](Bert& b, const Arg& ids) { return b(ids("ids").value()); }, "ids"_a);
  module<MaskedLanguageModel>(m, "MaskedLanguageModel",
                              "Logits (M, V) of the chosen positions (M,) among the B·S of ids.")
      .def("__init__",
           from_keywords<MaskedLanguageModel, BertConfig>("MaskedLanguageModel", bert_config))
      .def(
          "__call__",
          [](MaskedLanguageModel& b, const Arg& ids, const Arg& chosen) {
            return b(ids("ids").value(), chosen("chosen").value());
          },
          "ids"_a, "chosen"_a);
  module<SequenceClassifier>(
      m, "SequenceClassifier",
      "Logits (B, C) of ids (B, S). Arguments: classes, pooling, and Bert's.")
      .def(
          "__init__",
          [](SequenceClassifier* self, Index classes, const std::string& pooling,
             nb::kwargs given) {
            BertConfig c;
            Keywords k("SequenceClassifier", given);
            bert_config(k, c);
            k.done();
            new (self) SequenceClassifier(c, classes, kWords<Pooling>.parse("pooling", pooling));
          },
          "classes"_a, "pooling"_a = "first", "config"_a)
      .def(
          "__call__", [](SequenceClassifier& b, const Arg& ids) { return b(ids("ids").value()); },
          "ids"_a);
  layer<Vit>(m, "Vit",
             "Logits (B, classes) of images (B, C, H, W). Arguments: channels, height, width, "
             "patch, classes, ...")
      .def("__init__", from_keywords<Vit, VitConfig>("Vit", [](Keywords& k, VitConfig& c) {
             k("channels", c.channels)("height", c.height)("width", c.width)("patch", c.patch)(
                 "classes", c.classes)("d_model", c.d_model)("heads", c.heads)("layers", c.layers)(
                 "d_ff", c.d_ff)("dropout", c.dropout)("pooling", c.pooling)(
                 "norm_eps", c.norm_eps)("positions", c.positions)(
                 "position_base", c.position_base)("share_qk", c.share_qk);
           }));
  layer<Cnn>(m, "Cnn",
             "Logits (B, classes) of images (B, C, H, W). Arguments: channels, height, width, "
             "classes, d_model, layers, kernel, dropout")
      .def("__init__", from_keywords<Cnn, CnnConfig>("Cnn", [](Keywords& k, CnnConfig& c) {
             k("channels", c.channels)("height", c.height)("width", c.width)("classes", c.classes)(
                 "d_model", c.d_model)("layers", c.layers)("kernel", c.kernel)("dropout",
                                                                               c.dropout);
           }));
  module<Seq2SeqRnn>(
      m, "Seq2SeqRnn",
      "GRU or LSTM with attention: logits (B, T, V). Arguments: src_vocab, tgt_vocab, d_embed, ...")
      .def("__init__", from_keywords<Seq2SeqRnn, Seq2SeqRnnConfig>(
                           "Seq2SeqRnn",
                           [](Keywords& k, Seq2SeqRnnConfig& c) {
                             k("src_vocab", c.src_vocab)("tgt_vocab", c.tgt_vocab)(
                                 "d_embed", c.d_embed)("d_model", c.d_model)("layers", c.layers)(
                                 "cell", c.cell)("attention", c.attention)("dropout", c.dropout)(
                                 "max_len", c.max_len)("pad", c.pad);
                           }))
      .def("__call__", &teach<Seq2SeqRnn>, "src"_a, "tgt_in"_a);
  module<ConvSeq2Seq>(m, "ConvSeq2Seq",
                      "Convolutions with attention: logits (B, T, V). Arguments: src_vocab, "
                      "tgt_vocab, d_model, ...")
      .def("__init__", from_keywords<ConvSeq2Seq, ConvSeq2SeqConfig>(
                           "ConvSeq2Seq",
                           [](Keywords& k, ConvSeq2SeqConfig& c) {
                             k("src_vocab", c.src_vocab)("tgt_vocab", c.tgt_vocab)(
                                 "d_model", c.d_model)("kernel", c.kernel)("encoder_layers",
                                                                           c.encoder_layers)(
                                 "decoder_layers", c.decoder_layers)("dropout", c.dropout)(
                                 "max_len", c.max_len)("pad", c.pad);
                           }))
      .def("__call__", &teach<ConvSeq2Seq>, "src"_a, "tgt_in"_a);
  module<NonAutoregressive>(m, "NonAutoregressive",
                            "All tokens at once: logits (B, T, V). Arguments: Transformer's.")
      .def("__init__", from_keywords<NonAutoregressive, NonAutoregressiveConfig>(
                           "NonAutoregressive",
                           [](Keywords& k, NonAutoregressiveConfig& c) {
                             transformer_config(k, c);
                             k("eos", c.eos)("length_reach", c.length_reach)("copy_sharpness",
                                                                             c.copy_sharpness);
                           }))
      .def("__call__", &teach<NonAutoregressive>, "src"_a, "tgt_in"_a);
}

}  // namespace glim::python
