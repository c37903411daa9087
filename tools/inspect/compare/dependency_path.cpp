#include "tools/inspect/compare/dependency_path.hpp"

#include <algorithm>

#include "autograd/op_form.hpp"
#include "models/tokenizers/vocabulary.hpp"
#include "tensor/error.hpp"
#include "tools/pass/roles.hpp"

namespace glim {

Index longest_chain(const Tape& tape, const Var& source, const Var& target) {
  int first = tape.node_of(source), last = tape.node_of(target);
  if (first < 0 || last < 0) return -1;
  std::vector<Index> depth(tape.nodes().size(), -1);
  depth[static_cast<std::size_t>(first)] = 0;
  // Inputs come before the nodes that read them.
  for (std::size_t i = 0; i < depth.size(); ++i)
    for (int input : tape.nodes()[i].inputs)
      if (input >= 0 && depth[static_cast<std::size_t>(input)] >= 0)
        depth[i] = std::max(depth[i], depth[static_cast<std::size_t>(input)] + 1);
  return depth[static_cast<std::size_t>(last)];
}

Index dependency_path(SequenceModel& model, Index length) {
  if (length < 2 || length > model.max_len())
    throw ValueError("dependency path", "a model of at most " + std::to_string(model.max_len()) +
                                            " tokens has no path of " + std::to_string(length));
  const Roles roles(model);
  Var embedding;
  for (auto& [name, p] : model.named_parameters())
    if (roles.within(name, Role::Source)) embedding = p;
  if (!embedding.defined()) throw ValueError("dependency path", "the model embeds no source");
  bool training = model.training();
  model.eval();
  auto token = [](Index vocabulary) { return std::min<Index>(kSpecialTokens, vocabulary - 1); };
  auto row = [&](Index vocabulary, Index begin, Index end) {
    Tensor ids = full({1, length}, static_cast<double>(token(vocabulary)), DType::Int64);
    if (begin >= 0) ids.data<Index>()[0] = begin;
    if (end >= 0) ids.data<Index>()[length - 1] = end;
    return ids;
  };
  SourceBatch source(row(model.src_vocab(), -1, kEos));
  if (model.copies()) source.copy_ids = row(model.tgt_vocab(), -1, kEos);
  Tensor target = row(model.tgt_vocab(), kBos, -1);
  UseForm primitives(OpForm::Explicit);
  Tape tape;
  TeacherForced taught = model.teach(source, target);
  model.train(training);
  return longest_chain(tape, embedding, taught.logits);
}

}  // namespace glim
