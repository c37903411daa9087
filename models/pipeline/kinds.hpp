// Every kind of model, a row each, in the order in which messages name them:
//
//   F(name, what describes it in a file)      a name's _ is - for users
//
// A row is a ModelKind (described.cpp), and in the program a Kind, in the file of its name in tools/kinds.
#pragma once

// clang-format off
#define GLIM_KINDS(F)                              \
  F(transformer, of_pairs<Transformer>)            \
  F(rnn, of_pairs<Seq2SeqRnn>)                     \
  F(conv, of_pairs<ConvSeq2Seq>)                   \
  F(non_autoregressive, of_pairs<NonAutoregressive>) \
  F(gpt, of<Gives::Text>)                          \
  F(bert, of<Gives::HiddenTokens>)                 \
  F(vit, of_images<Vit>)                           \
  F(cnn, of_images<Cnn>)                           \
  F(classifier, of<Gives::Class>)                  \
  F(tagger, of<Gives::TokenClasses>)
// clang-format on
