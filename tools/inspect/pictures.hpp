// Single pictures of an inspection, for papers and slides, as SVG or PNG.
//
//   MODULE/HEAD        "decoder.layers.2.multihead_attn/head0": the head's A, ∂L/∂A, S and ∂L/∂S side by side;
//                      heads count from 0, as layers
//   MODULE/HEAD/MAP    one of them: A, dA, S or dS, on one scale for all heads of the module
//   MODULE/table       "src_positions/table": the positions that are added; MODULE/products their inner products,
//                      MODULE/wavelengths those of sinusoids
//   NAME, NAME.grad    a value of the tape, or its gradient, as rows of its last axis; an attention's
//                      rows have the names of heads and tokens
//   tokens             integrated gradients of every token
//   without-heads      the loss without each head, less the loss: measured, and by first and second order of its gradient
//   rollout            how much of each source token is in each decoder position
//
// A pattern may have * and ?; "*/head0/A" is the first head of every attention.
#pragma once

#include "tools/inspect/inspection.hpp"
#include "tools/render/pictures_asked.hpp"

namespace glim {

// Layers down, heads across, on one scale; empty where it was not measured. The cells are the rects of each map's first
// group, by row.
std::string without_heads_svg(const Inspection& inspection, double zoom = 1);
// Every picture of this inspection, which must outlive them. `zoom` is that of maps of attention and tokens.
std::vector<Picture> pictures(const Inspection& inspection, double zoom = 1);

}  // namespace glim
