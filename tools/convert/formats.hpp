// The names that other programs give to the weights of these models, as data. One table serves both
// directions: of several lines for one of our names, the first is the one that is written.
//
//   format    kind         description
//   torch     transformer  torch.nn.Transformer with embeddings and generator (models/pytorch.md)
//   nanogpt   gpt          a checkpoint of nanoGPT
//   gpt2      gpt          GPT-2 as Hugging Face's GPT2LMHeadModel stores it
//   marian    transformer  Marian as Hugging Face's MarianMTModel stores it
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace glim {

enum class Layout {
  Same,
  Conv1d,  // (in, out) where the format has Conv1D layers, else as Linear's (out, in)
  Query,
  Key,
  Value,   // a third of the rows of ours
  Row,     // (1, V), ours (V,)
  Unused,  // not a weight: a causal mask, a table of sines
  Sines,   // not a weight: a table of sines, to be the one that Glim adds
};

// '#' is the number of a layer; '*' is any ending, the same on both sides.
struct NameRow {
  const char *theirs, *ours;
  Layout layout = Layout::Same;
};

struct Format {
  const char *name, *kind;
  const char* prefix;  // of their names, which may be left out
  bool conv1d;
  const std::vector<NameRow>& names;
};

struct Renamed {
  std::string name;
  Layout layout;
};

const std::vector<Format>& formats();
// ValueError(--option) for a name that there is not.
const Format& format_named(std::string_view name, std::string_view option);
// The names of the wrappers of torch.compile and DataParallel are left out.
std::optional<Renamed> our_name(const Format& format, const std::string& theirs);
// One, or three that make up ours; none where the format has no such weight.
std::vector<Renamed> their_names(const Format& format, const std::string& ours);

}  // namespace glim
