// Which settings of a configuration change what a model says: transformers 4.57's GPT2Config and MarianConfig, the
// arguments of torch.nn.Transformer, and nanoGPT's GPTConfig.
#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "tensor/error.hpp"
#include "tools/convert/settings.hpp"

namespace glim {
namespace {

// Settings that must have one value, where they are given.
struct Only {
  const char *key, *value;  // JSON
};

struct KnownSettings {
  std::string_view format;
  const char* read;      // by import.cpp and marian.cpp
  const char* harmless;  // of training, or said by the weights
  std::vector<Only> only;
};

const std::vector<KnownSettings>& known_settings() {
  static const std::vector<KnownSettings> list = {
      {"torch",
       "nhead dropout activation layer_norm_eps norm_first",
       "batch_first bias device dtype",
       {}},
      {"nanogpt", "n_head dropout", "bias", {}},
      {"gpt2",
       "n_head activation_function layer_norm_epsilon resid_pdrop dropout scale_attn_weights "
       "scale_attn_by_inverse_layer_idx tie_word_embeddings eos_token_id",
       // reorder_and_upcast_attn is the same in float32. n_ctx is of older files.
       "reorder_and_upcast_attn n_ctx attn_pdrop embd_pdrop initializer_range summary_type "
       "summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout "
       "pad_token_id decoder_start_token_id is_decoder",
       {{"model_type", "\"gpt2\""}, {"is_encoder_decoder", "false"}}},
      {"marian",
       "encoder_attention_heads decoder_attention_heads activation_function dropout "
       "attention_dropout activation_dropout max_position_embeddings scale_embedding "
       "tie_word_embeddings eos_token_id pad_token_id decoder_start_token_id",
       // The last line is of older files.
       "encoder_layerdrop decoder_layerdrop init_std num_hidden_layers "
       "classifier_dropout classif_dropout add_bias_logits extra_pos_embeddings",
       {{"model_type", "\"marian\""},
        {"is_encoder_decoder", "true"},
        {"is_decoder", "false"},
        {"share_encoder_decoder_embeddings", "true"},
        {"static_position_embeddings", "true"},
        {"normalize_before", "false"},
        {"normalize_embedding", "false"},
        {"add_final_layer_norm", "false"}}}};
  return list;
}

// Of any model of transformers: what it returns, how it was saved, labels of other heads; then how its generate()
// searches, for which Glim's verbs have options of their own.
constexpr const char* kHarmless =
    "architectures transformers_version torch_dtype dtype _name_or_path name_or_path _commit_hash "
    "return_dict output_hidden_states output_attentions torchscript use_cache "
    "gradient_checkpointing chunk_size_feed_forward finetuning_task id2label label2id num_labels "
    "_num_labels problem_type task_specific_params tokenizer_class tf_legacy_loss use_bfloat16 "
    "_attn_implementation_autoset "
    "prefix bos_token_id sep_token_id max_length min_length do_sample early_stopping num_beams "
    "temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size "
    "encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores "
    "return_dict_in_generate forced_bos_token_id forced_eos_token_id remove_invalid_values "
    "exponential_decay_length_penalty suppress_tokens begin_suppress_tokens num_beam_groups "
    "diversity_penalty force_bos_token_to_be_generated";
const std::vector<Only> kOnly = {{"pruned_heads", "{}"},
                                 {"tie_encoder_decoder", "false"},
                                 {"add_cross_attention", "false"},
                                 {"cross_attention_hidden_size", "null"},
                                 {"quantization_config", "null"}};

bool names_setting(const char* words, const std::string& key) {
  std::istringstream in(words);
  for (std::string word; in >> word;)
    if (word == key) return true;
  return false;
}

}  // namespace

std::vector<std::string> Settings::require_known(const std::string& format,
                                                 const std::vector<Size>& sizes) const {
  const auto& known = *std::ranges::find(known_settings(), format, &KnownSettings::format);
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json_.items()) {
    if (value.is_null() || names_setting(known.read, key) || names_setting(known.harmless, key) ||
        names_setting(kHarmless, key))
      continue;
    bool found = false;
    for (const std::vector<Only>* list : {&known.only, &kOnly})
      for (const Only& only : *list)
        if (key == only.key) {
          found = true;
          if (value != nlohmann::json::parse(only.value))
            throw FileError(where_, fmt::format("its '{}' is {}; Glim reads models where it is {}",
                                                key, value.dump(), only.value));
        }
    for (const Size& size : sizes)
      if (key == size.key) {
        found = true;
        if (value != size.value)
          throw FileError(
              where_, fmt::format("its '{}' is {}, the weights say {}; both must be of one model",
                                  key, value.dump(), size.value));
      }
    if (!found) unknown.push_back(key);
  }
  return unknown;
}

}  // namespace glim
