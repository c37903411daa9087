#include "tools/convert/formats.hpp"

#include <string_view>

#include "tensor/error.hpp"

namespace glim {
namespace {

const std::vector<NameRow> kTorch = {
    {"src_embed.weight", "src_embed.weight"},
    {"tgt_embed.weight", "tgt_embed.weight"},
    {"src_positions.weight", "src_positions.weight"},
    {"tgt_positions.weight", "tgt_positions.weight"},
    {"transformer.encoder.*", "encoder.*"},
    {"transformer.decoder.*", "decoder.*"},
    {"generator.*", "generator.*"},
    // As the tutorial "Language Translation with nn.Transformer" calls them.
    {"src_tok_emb.embedding.weight", "src_embed.weight"},
    {"tgt_tok_emb.embedding.weight", "tgt_embed.weight"},
    {"positional_encoding.pos_embedding", "", Layout::Sines},
};

const std::vector<NameRow> kGpt = {
    {"transformer.wte.weight", "wte.weight"},
    {"transformer.wpe.weight", "wpe.weight"},
    {"transformer.h.#.ln_1.*", "transformer.layers.#.norm1.*"},
    {"transformer.h.#.attn.c_attn.*", "transformer.layers.#.self_attn.in_proj_*", Layout::Conv1d},
    {"transformer.h.#.attn.c_proj.*", "transformer.layers.#.self_attn.out_proj.*", Layout::Conv1d},
    {"transformer.h.#.ln_2.*", "transformer.layers.#.norm2.*"},
    {"transformer.h.#.mlp.c_fc.*", "transformer.layers.#.linear1.*", Layout::Conv1d},
    {"transformer.h.#.mlp.c_proj.*", "transformer.layers.#.linear2.*", Layout::Conv1d},
    {"transformer.ln_f.*", "transformer.norm.*"},
    {"lm_head.weight", "lm_head.weight"},
    {"transformer.h.#.attn.bias", "", Layout::Unused},
    {"transformer.h.#.attn.masked_bias", "", Layout::Unused},
};

const std::vector<NameRow> kMarian = {
    {"model.shared.weight", "src_embed.weight"},
    {"model.encoder.embed_tokens.weight", "src_embed.weight"},
    {"model.decoder.embed_tokens.weight", "tgt_embed.weight"},
    {"model.encoder.embed_positions.weight", "", Layout::Unused},
    {"model.decoder.embed_positions.weight", "", Layout::Unused},
    {"model.encoder.layers.#.self_attn.q_proj.*", "encoder.layers.#.self_attn.in_proj_*",
     Layout::Query},
    {"model.encoder.layers.#.self_attn.k_proj.*", "encoder.layers.#.self_attn.in_proj_*",
     Layout::Key},
    {"model.encoder.layers.#.self_attn.v_proj.*", "encoder.layers.#.self_attn.in_proj_*",
     Layout::Value},
    {"model.encoder.layers.#.self_attn.out_proj.*", "encoder.layers.#.self_attn.out_proj.*"},
    {"model.encoder.layers.#.self_attn_layer_norm.*", "encoder.layers.#.norm1.*"},
    {"model.encoder.layers.#.fc1.*", "encoder.layers.#.linear1.*"},
    {"model.encoder.layers.#.fc2.*", "encoder.layers.#.linear2.*"},
    {"model.encoder.layers.#.final_layer_norm.*", "encoder.layers.#.norm2.*"},
    {"model.decoder.layers.#.self_attn.q_proj.*", "decoder.layers.#.self_attn.in_proj_*",
     Layout::Query},
    {"model.decoder.layers.#.self_attn.k_proj.*", "decoder.layers.#.self_attn.in_proj_*",
     Layout::Key},
    {"model.decoder.layers.#.self_attn.v_proj.*", "decoder.layers.#.self_attn.in_proj_*",
     Layout::Value},
    {"model.decoder.layers.#.self_attn.out_proj.*", "decoder.layers.#.self_attn.out_proj.*"},
    {"model.decoder.layers.#.self_attn_layer_norm.*", "decoder.layers.#.norm1.*"},
    {"model.decoder.layers.#.encoder_attn.q_proj.*", "decoder.layers.#.multihead_attn.in_proj_*",
     Layout::Query},
    {"model.decoder.layers.#.encoder_attn.k_proj.*", "decoder.layers.#.multihead_attn.in_proj_*",
     Layout::Key},
    {"model.decoder.layers.#.encoder_attn.v_proj.*", "decoder.layers.#.multihead_attn.in_proj_*",
     Layout::Value},
    {"model.decoder.layers.#.encoder_attn.out_proj.*",
     "decoder.layers.#.multihead_attn.out_proj.*"},
    {"model.decoder.layers.#.encoder_attn_layer_norm.*", "decoder.layers.#.norm2.*"},
    {"model.decoder.layers.#.fc1.*", "decoder.layers.#.linear1.*"},
    {"model.decoder.layers.#.fc2.*", "decoder.layers.#.linear2.*"},
    {"model.decoder.layers.#.final_layer_norm.*", "decoder.layers.#.norm3.*"},
    {"lm_head.weight", "generator.weight"},
    {"final_logits_bias", "generator.bias", Layout::Row},
};

std::string_view without_prefix(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// torch.compile and DataParallel may wrap the model or a part of it, in any order.
std::string without_wrappers(std::string name) {
  for (std::size_t at = 0, end; (end = name.find('.', at)) != std::string::npos;) {
    const std::string part = name.substr(at, end - at);
    if (part == "_orig_mod" || part == "module")
      name.erase(at, part.size() + 1);
    else
      at = end + 1;
  }
  return name;
}

// What '#' and '*' of a pattern stand for in a name.
struct Match {
  std::string number, rest;
};

std::optional<Match> match(std::string_view pattern, std::string_view name) {
  Match m;
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern[0] == '*') {
      m.rest = name;
      return m;
    }
    if (pattern[0] == '#') {
      std::size_t digits = name.find_first_not_of("0123456789");
      if (digits == 0 || digits == std::string_view::npos) return {};
      m.number = name.substr(0, digits);
      name.remove_prefix(digits);
    } else {
      if (name.empty() || name[0] != pattern[0]) return {};
      name.remove_prefix(1);
    }
  }
  return name.empty() ? std::optional(m) : std::nullopt;
}

std::string filled(std::string_view pattern, const Match& m) {
  std::string name;
  for (char c : pattern) {
    if (c == '#')
      name += m.number;
    else if (c == '*')
      name += m.rest;
    else
      name += c;
  }
  return name;
}

}  // namespace

const std::vector<Format>& formats() {
  static const std::vector<Format> list = {{"torch", "transformer", "transformer.", false, kTorch},
                                           {"nanogpt", "gpt", "transformer.", false, kGpt},
                                           {"gpt2", "gpt", "transformer.", true, kGpt},
                                           {"marian", "transformer", "model.", false, kMarian}};
  return list;
}

const Format& format_named(std::string_view name, std::string_view option) {
  std::string known;
  for (const Format& f : formats()) {
    if (f.name == name) return f;
    known += (known.empty() ? "" : ", ") + std::string(f.name);
  }
  throw ValueError("--" + std::string(option),
                   "'" + std::string(name) + "' is not one of " + known);
}

std::optional<Renamed> our_name(const Format& format, const std::string& theirs) {
  const std::string bare = without_wrappers(theirs);
  const std::string_view name = without_prefix(bare, format.prefix);
  for (const NameRow& row : format.names)
    if (auto m = match(without_prefix(row.theirs, format.prefix), name))
      return Renamed{filled(row.ours, *m), row.layout};
  return {};
}

std::vector<Renamed> their_names(const Format& format, const std::string& ours) {
  std::vector<Renamed> names;
  for (const NameRow& row : format.names) {
    auto m = match(row.ours, ours);
    bool third = row.layout >= Layout::Query && row.layout <= Layout::Value;
    if (m && (names.empty() || third)) names.push_back({filled(row.theirs, *m), row.layout});
  }
  return names;
}

}  // namespace glim
