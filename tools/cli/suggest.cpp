#include "tools/cli/suggest.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "tools/common/nearest.hpp"
#include "tools/common/utf8.hpp"

namespace glim {
namespace {

// Other programs' words, and what they are here: the first that a command has.
struct Synonym {
  const char *words, *means;
};

constexpr Synonym kOptionSynonyms[] = {
    {"lr learning-rate learning_rate max-lr peak-lr base-lr step-size", "rate"},
    {"batch-size bs batch train-batch-size per-device-train-batch-size mini-batch minibatch",
     "batch-sentences"},
    {"tokens-per-batch batch-by-tokens", "batch-tokens"},
    {"max-tokens", "batch-tokens"},
    {"epoch num-epochs n-epochs max-epochs max-epoch num-train-epochs passes", "epochs"},
    {"steps max-iters max-iter iters iterations num-steps n-steps train-steps max-update "
     "max-updates updates "
     "num-iterations total-steps",
     "max-steps attribution-steps"},
    {"n-layer n-layers num-layers nlayers encoder-layers num-encoder-layers num-hidden-layers "
     "depth "
     "enc-layers",
     "layers"},
    {"num-decoder-layers n-decoder-layers dec-layers", "decoder-layers"},
    {"n-head n-heads nhead nheads num-heads head attention-heads num-attention-heads "
     "encoder-attention-heads",
     "heads"},
    {"n-embd n-embed n-emb hidden hidden-size hidden-dim hidden-units embed-dim embedding-dim "
     "emb-dim emb-size "
     "embedding-size model-dim dim width d dmodel size encoder-embed-dim",
     "d-model"},
    {"dim-feedforward ffn ffn-dim ff-dim d-inner d-hidden intermediate-size feedforward ff "
     "encoder-ffn-embed-dim ffn-hidden-size mlp-dim dff",
     "d-ff"},
    {"d-emb word-dim", "d-embed"},
    {"drop p-drop dropout-prob dropout-rate hidden-dropout-prob", "dropout"},
    {"attn-dropout attention-probs-dropout-prob", "attention-dropout"},
    {"block-size context context-size context-length ctx n-ctx seq-len sequence-length bptt "
     "max-seq-len",
     "block max-length"},
    {"max-seq-length max-len max-source-length max-sentence-length", "max-length"},
    {"vocab-size vocab n-vocab", "vocabulary"},
    {"min-freq min-count", "min-frequency"},
    {"tie-weights tie-embeddings weight-tying share-embeddings share-all-embeddings "
     "tie-word-embeddings",
     "tie"},
    {"share-vocab share-vocabulary joint-vocab joined-dictionary", "shared-vocabulary"},
    {"norm-first pre-norm prenorm pre-ln post-norm postnorm layer-norm", "norm"},
    {"activation-function activation-fn act hidden-act nonlinearity", "activation"},
    {"pos position positional-encoding position-embedding pos-encoding pe", "positions"},
    {"optim opt optimiser", "optimizer"},
    {"lr-scheduler scheduler lr-schedule lr-decay decay-lr lr-scheduler-type "
     "learning-rate-schedule",
     "schedule"},
    {"warmup-steps warmup-iters warmup-updates warm-up warm-up-steps num-warmup-steps", "warmup"},
    {"wd decay l2", "weight-decay"},
    {"b1 adam-beta1 betas", "beta1"},
    {"b2 adam-beta2", "beta2"},
    {"eps adam-eps adam-epsilon", "epsilon"},
    {"grad-clip clip-norm max-grad-norm clip-grad gradient-clip gradient-clip-val "
     "gradient-clipping",
     "clip"},
    {"gradient-accumulation-steps grad-accum grad-accumulation update-freq accumulate-grad-batches",
     "accumulate"},
    {"smoothing label-smooth ls", "label-smoothing"},
    {"random-seed manual-seed rng-seed", "seed seeds"},
    {"dtype fp16 bf16 amp half double float64 mixed-precision", "precision"},
    {"early-stop early-stopping", "patience"},
    {"eval-interval eval-steps val-interval validate-interval eval-every validation-steps "
     "eval-freq",
     "valid-every"},
    {"log-interval logging-steps print-every log-steps log-freq", "log-every"},
    {"save-interval save-steps checkpoint-every checkpoint-interval save-freq", "save-every"},
    {"output output-dir out-dir save-dir save model-dir checkpoint-dir output-file outfile outdir "
     "o dest "
     "destination output-folder save-path logdir",
     "out"},
    {"checkpoint ckpt model-path model-file load weights path m pretrained model-name-or-path "
     "restore",
     "model init-from"},
    {"pretrain finetune fine-tune init-checkpoint", "init-from"},
    {"src source-file train-src src-file from", "source"},
    {"tgt trg target-file train-tgt tgt-file ref reference references reference-file to", "target"},
    {"data dataset train-file train-data train input input-file infile corpus file data-dir",
     "text pairs source labelled images"},
    {"valid val dev validation val-data valid-data dev-file val-file", "valid-source valid-text"},
    {"val-split validation-split valid-fraction val-fraction dev-share test-size", "valid-share"},
    {"sentence", "source"},
    {"source", "sentence"},
    {"target", "translation"},
    {"test-reference", "test-target"},
    {"most-mb max-size", "max-mb"},
    {"beam-size beams num-beams beam-width beamsize b k", "beam"},
    {"n-best num-return-sequences", "nbest"},
    {"lenpen alpha length-alpha len-penalty", "length-penalty"},
    {"num-samples n-samples count", "samples"},
    {"max-new-tokens length max-length max-gen-len num-tokens tokens n-tokens", "max-tokens"},
    {"temp t", "temperature"},
    {"start text seed-text prefix input-text begin", "prompt"},
    {"force f y yes replace", "overwrite"},
    {"continue resume-from resume-from-checkpoint restart", "resume"},
    {"model-type arch architecture model type net network", "kind"},
    {"dataset problem", "task"},
    {"conf cfg settings options hparams config-file params", "config"},
    {"tokenizer bpe sacrebleu-tokenize", "tokenizer tokenize"},
    {"lower lc ignore-case uncased", "lowercase"},
    {"verbose v quiet q silent", "quiet progress"},
    {"filter pattern op ops layer", "only"},
    {"png-file picture image images plot", "png"},
    {"random fresh-model untrained new init", "fresh"},
};

// What there is nothing for, and why.
constexpr Synonym kAnswers[] = {
    {"gpu gpus cuda device use-cuda n-gpu accelerator mps",
     "Glim runs on the CPU; there is nothing to choose"},
    {"threads num-threads n-threads jobs j cpus",
     "the number of threads is set by OMP_NUM_THREADS=2 before the command"},
    {"num-workers workers dataloader-workers", "the data are in memory: no workers are needed"},
    {"compile jit", "there is nothing to compile; leave it out"},
};

constexpr Synonym kVerbSynonyms[] = {
    {"fit learn run pretrain finetune fine-tune trainer start", "train"},
    {"eval test score bleu measure validate perplexity", "evaluate"},
    {"decode infer inference predict interactive", "translate"},
    {"sample complete write lm text", "generate"},
    {"label tag sentiment", "classify"},
    {"debug debugger walk", "step"},
    {"visualize visualise show view draw look attention explain", "inspect"},
    {"check grad gradients gradient-check grad-check check-grad checkgrad verify", "gradcheck"},
    {"plot log logs metrics tensorboard events", "report"},
    {"bench benchmark versus", "compare"},
    {"experiment experiments reproduce paper", "study"},
    {"mean merge swa ema", "average"},
    {"machine info env environment cpu diagnose", "doctor"},
};

bool has_word(const char* words, const std::string& name) {
  for (std::string_view word : split_spaces(words))
    if (word == name) return true;
  return false;
}

std::string plain(const std::string& name) {
  std::string r;
  for (char c : name)
    r +=
        c == '_' || c == '.' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return r;
}

std::vector<std::string> names_of(const Command& command) {
  std::vector<std::string> names;
  for (const Option& o : command.options)
    if (!o.argument && !o.hidden) names.push_back(o.name);
  return names;
}

// The option that a name means to this command, in other programs' words or misspelt.
const Option* meant_option(const Command& command, const std::string& name, bool misspelt) {
  std::string key = plain(name);
  const Option* found = command.find(key);
  for (const Synonym& s : kOptionSynonyms) {
    if (found || !has_word(s.words, key)) continue;
    for (std::string_view word : split_spaces(s.means))
      if (!found) found = command.find(word);
  }
  if (!found && misspelt) found = command.find(meant_name(key, names_of(command)));
  return found && !found->argument && !found->hidden ? found : nullptr;
}

std::string shown(const Option& option, bool in_config) {
  return (in_config ? "" : "--") + option.name + " (" + option.help + ")";
}

}  // namespace

std::string about_option(const Command& command, const std::vector<Command>& all,
                         const std::string& name, bool in_config) {
  std::string key = plain(name);
  if (key.starts_with("no-"))
    if (const Option* o = command.find(key.substr(3)); o && o->is_flag())
      return fmt::format(": --{} is off unless it is given; --{}=false says so", o->name, o->name);
  if (const Option* o = meant_option(command, name, false))
    return ": did you mean " + shown(*o, in_config) + "?";
  for (const Synonym& s : kAnswers)
    if (has_word(s.words, key)) return std::string(": ") + s.means;
  std::string owners;
  for (const Command& c : all)
    if (!c.hidden && c.name != command.name)
      if (const Option* o = c.find(key); o && !o->argument)
        owners += (owners.empty() ? "glim " : ", ") + c.name;
  if (const Option* o = meant_option(command, name, true)) {
    // An option of another verb by its full name is no misspelling, unless one letter does it.
    if (owners.empty() || edit_distance(key, o->name) <= 1)
      return ": did you mean " + shown(*o, in_config) + "?";
  }
  if (!owners.empty()) return ": it is an option of " + owners;
  return "; glim " + command.name + " --help lists the options";
}

std::string about_verb(const std::vector<Command>& all, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& c : all)
    if (!c.hidden) names.push_back(c.name);
  std::string meant, key = plain(name);
  for (const Synonym& s : kVerbSynonyms)
    if (has_word(s.words, key) && std::find(names.begin(), names.end(), s.means) != names.end())
      meant = s.means;
  if (meant.empty()) meant = meant_name(name, names);
  if (!meant.empty()) return fmt::format(": did you mean {}?", meant);
  return fmt::format("; the verbs are {}", fmt::join(names, ", "));
}

std::string about_word(const Command& command, const std::vector<Command>& all,
                       const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  // "lr=0.1", "-epochs", "–epochs": an option without its dashes, or with others'.
  std::size_t letters = name.find_first_not_of("-");
  for (std::string_view dash : {"–", "—", "−"})
    if (name.starts_with(dash)) letters = name.find_first_not_of("-", dash.size());
  name = letters == std::string::npos ? "" : name.substr(letters);
  std::string value =
      word.find('=') == std::string::npos ? "" : " " + word.substr(word.find('=') + 1);
  bool dashed = letters != 0, assigned = !value.empty();
  if (const Option* o = meant_option(command, name, dashed || assigned))
    return fmt::format(": did you mean --{}{} ({})?", o->name, value, o->help);
  if (dashed && name.size() > 1) return about_option(command, all, name);
  for (const Option& o : command.options)
    if (std::find(o.choices.begin(), o.choices.end(), word) != o.choices.end())
      return fmt::format(": did you mean --{} {}?", o.name, word);
  if (word == "true" || word == "false")
    return ": a flag stands alone, or takes its value as --flag=" + word;
  if (!command.words_are.empty()) return "; " + command.words_are;
  if (const Option* model = command.find("model"))
    return fmt::format(": did you mean --{} {}?", model->name, word);
  return fmt::format("; options begin with --, glim {} --help lists them", command.name);
}

}  // namespace glim
