#include "tools/inspect/document.hpp"

#include <cmath>
#include <fmt/format.h>

#include "autograd/formula.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tensor/io/safetensors.hpp"
#include "tools/common/escape.hpp"
#include "tools/inspect/pack.hpp"
#include "tools/inspect/pictures.hpp"
#include "tools/inspect/why_parts.hpp"
#include "tools/measure/statistics.hpp"

namespace glim {

// Members under their own names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Block, module, part, side, layer, node, gradient_norm,
                                   value_norm, parameter_gradient_norm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Branch, name, norm, share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Junction, module, sublayer, x, sum, norm, branches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LensToken, token, product)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LensTerm, position, share, input_norm, delta_norm, input, delta)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LensMatrix, matrix, norm, error, terms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Remark, text, rule, view)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExampleText, kind, takes, title, source_text, target_text,
                                   own_target, source, target_in, target_out, source_ids,
                                   target_out_ids, label_smoothing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HeadView, entropy, saturation, distance, row_entropy,
                                   scores_gradient, probs_gradient, passed, query_norm, key_norm,
                                   value_norm, value_share)

namespace {

using Json = nlohmann::json;

// A tensor of more cells than this is shown as a picture of its largest elements; one whose rows have names
// may have more.
constexpr Index kPictureRows = 24, kPictureColumns = 32, kNamedRows = 256, kNamedColumns = 64;

Json to_json(const Statistics& s) {
  Json j = {
      {"norm", s.norm}, {"low", s.low}, {"high", s.high}, {"mean", s.mean}, {"zeros", s.zeros}};
  if (s.not_finite > 0) j["not_finite"] = s.not_finite;  // left out of the others
  return j;
}

Json to_json(const AttentionView& v, TensorWriter write) {
  Json without = Json::array();
  for (const PatchEffect& e : v.without) without.push_back(in_json(e));
  return {{"without", without},
          {"module", v.module},
          {"side", name_of(v.side)},
          {"layer", v.layer},
          {"probs_nodes", v.probs},
          {"scores_nodes", v.scores},
          {"queries", v.queries},
          {"keys", v.keys},
          {"keep", write(v.keep.to(DType::Int64).to(DType::Float32))},
          {"heads", v.heads},
          {"A", write(v.a)},
          {"dA", write(v.da)},
          {"S", write(v.s)},
          {"dS", write(v.ds)}};
}

Json node_statistics(const PassNode& n) {
  Json flows = Json::array();
  for (const Flow& f : n.flows)
    flows.push_back(
        {{"input", f.input}, {"node", f.node}, {"statistics", to_json(statistics(f.gradient))}});
  return {{"value", to_json(statistics(n.value))},
          {"gradient", n.gradient.defined() ? to_json(statistics(n.gradient)) : Json()},
          {"flows", std::move(flows)}};
}

Json to_json(const PassNode& n, bool with_statistics) {
  Json j{{"number", n.number}, {"name", n.name},   {"path", n.path},
         {"scope", n.scope},   {"op", n.op},       {"where", n.is_leaf() ? "" : to_string(n.where)},
         {"inputs", n.inputs}, {"saved", n.saved}, {"shape", n.value.shape().vec()},
         {"turn", n.turn}};
  if (with_statistics)
    j.update(node_statistics(n));
  else
    j["gradient"] = n.gradient.defined() ? Json{{"norm", statistics(n.gradient).norm}} : Json();
  return j;
}

Json lines_of(const derive::Sheet& lines) {
  Json sections = Json::array();
  for (const derive::Section& s : lines.sections) {
    Json rows = Json::array();
    for (const derive::Row& r : s.rows)
      rows.push_back({{"nodes", r.nodes},
                      {"forward", r.forward},
                      {"shape", r.shape},
                      {"where", r.where},
                      {"backward", r.backward}});
    sections.push_back({{"heading", s.heading}, {"rows", std::move(rows)}});
  }
  return {{"notes", lines.notes}, {"sections", std::move(sections)}};
}

Json formulas_of(const Inspection& inspection) {
  Json list = Json::object();
  for (const PassNode& n : inspection.pass.nodes()) {
    if (list.contains(n.op)) continue;
    const Formula* f = formula(n.op);
    if (!f) continue;
    Json gradients = Json::array();
    for (std::string_view g : f->gradients)
      if (!g.empty()) gradients.push_back(g);
    std::string reads;
    for (int saved : n.saved)
      reads += (reads.empty() ? "" : ", ") +
               (saved == Op::kOutput ? "y" : f->input_name(static_cast<std::size_t>(saved)));
    list[n.op] = {{"forward", f->value}, {"gradients", gradients}, {"reads", reads}};
  }
  return list;
}

Json to_json(const Attribution& a, TensorWriter write) {
  auto or_null = [&](const Tensor& x) { return x.defined() ? write(x) : Json(); };
  if (a.steps == 0) return Json();
  return {{"log_prob", a.log_prob},
          {"baseline", a.baseline},
          {"gap", a.gap},
          {"steps", a.steps},
          {"to_source", or_null(a.to_source)},
          {"to_target", or_null(a.to_target)},
          {"integrated_source", a.integrated_source},
          {"integrated_target", a.integrated_target}};
}

void append_values(std::string& text, const Tensor& x) {
  bool single = x.dtype() == DType::Float32;
  bool first = true;
  for (double v : x.to(DType::Float64).to_vector<double>()) {
    if (!first) text += ',';
    first = false;
    if (!std::isfinite(v))
      text += "null";
    else if (single)
      fmt::format_to(std::back_inserter(text), "{}", static_cast<float>(v));
    else
      fmt::format_to(std::back_inserter(text), "{}", v);
  }
}

[[noreturn]] void too_large(const std::string& path, double bytes, const DocumentOptions& o) {
  throw ValueError("inspect",
                   fmt::format("{} would have more than {:.0f} MB (about {:.0f}); a "
                               "shorter sentence, --no-tensors or a larger --max-mb "
                               "helps",
                               path, static_cast<double>(o.most_bytes) / 1e6, bytes / 1e6));
}

}  // namespace

Json numbers(const Tensor& x) {
  if (x.rank() == 0) return x.item();
  Json list = Json::array();
  for (Index i = 0; i < x.size(0); ++i) list.push_back(numbers(select(x, 0, i)));
  return list;
}

Json findings(const Inspection& inspection, TensorWriter write, bool with_statistics) {
  Json j = static_cast<const ExampleText&>(inspection);
  j.update({{"format", "glim inspect"},
            {"version", 1},
            {"loss", inspection.pass.loss_value()},
            {"walk", inspection.pass.order()},
            {"blocks", inspection.blocks},
            {"junctions", inspection.junctions},
            {"memory", inspection.memory},
            {"lens", inspection.lens},
            {"remarks", inspection.remarks},
            {"lines", lines_of(inspection.lines)},
            {"attention", Json::array()},
            {"nodes", Json::array()}});
  for (const AttentionView& v : inspection.attention) j["attention"].push_back(to_json(v, write));
  j["positions"] = Json::array();
  for (const PositionsView& p : inspection.positions)
    j["positions"].push_back({{"module", p.module},
                              {"kind", p.kind},
                              {"table", write(p.table)},
                              {"products", write(p.products)},
                              {"wavelengths", p.wavelengths}});
  for (const PassNode& n : inspection.pass.nodes())
    j["nodes"].push_back(to_json(n, with_statistics));
  j["formulas"] = formulas_of(inspection);
  j["attribution"] = to_json(inspection.attribution, write);
  const int image = inspection.pass.find("image");
  if (image >= 0 && inspection.pass[image].gradient.defined())  // (C, H, W)
    j["image"] = {{"pixels", write(select(inspection.pass[image].value, 0, 0))},
                  {"gradient", write(select(inspection.pass[image].gradient, 0, 0))}};
  if (inspection.rollout.encoder.defined())
    j["rollout"] = {{"encoder", write(inspection.rollout.encoder)},
                    {"source", write(inspection.rollout.source)},
                    {"target", write(inspection.rollout.target)}};
  return j;
}

void write_inspection_json(const Inspection& inspection, const std::string& path,
                           const DocumentOptions& o) {
  std::string text = in_json(findings(inspection, numbers));
  if (o.tensors) {
    text.pop_back();
    text += ",\"tensors\":{";
    bool first = true;
    for (const auto& [name, tensor] :
         tensors_of(inspection.pass, false)) {  // parameters are in the model
      if (!first) text += ",\n";
      first = false;
      text += in_json(Json(name)) + ":{\"shape\":" + Json(tensor.shape().vec()).dump() +
              ",\"values\":[";
      append_values(text, tensor);
      text += "]}";
      if (text.size() > o.most_bytes) too_large(path, static_cast<double>(text.size()), o);
    }
    text += "}}";
  }
  if (text.size() > o.most_bytes) too_large(path, static_cast<double>(text.size()), o);
  text += "\n";
  write_file_atomically(path, std::string_view(text));
}

void write_inspection_tensors(const Inspection& inspection, const std::string& path,
                              const DocumentOptions& o) {
  auto tensors = tensors_of(inspection.pass);
  double bytes = 0;
  for (const auto& [name, x] : tensors)
    bytes += static_cast<double>(x.numel()) * static_cast<double>(size_of(x.dtype()));
  if (bytes > static_cast<double>(o.most_bytes)) too_large(path, bytes, o);
  write_safetensors(path, tensors,
                    {{"source", inspection.source_text},
                     {"target", inspection.target_text},
                     {"of", inspection.title}});
}

Json lens_data(const std::vector<LensMatrix>& lens) { return lens; }

namespace {

Json node_pictures(const Inspection& inspection, const PassNode& n) {
  Json node = Json::object();
  AxisNames names = axis_names(inspection.attention, n);
  bool named = !names.rows.empty() && std::ssize(names.rows) <= kNamedRows;
  if (named) node["rows"] = names.rows;
  if (named && !names.columns.empty() && std::ssize(names.columns) <= kNamedColumns)
    node["columns"] = names.columns;
  Index rows = named ? kNamedRows : kPictureRows, columns = named ? kNamedColumns : kPictureColumns;
  node["picture"] = packed_picture(n.value, rows, columns);
  if (n.gradient.defined()) node["gradient_picture"] = packed_picture(n.gradient, rows, columns);
  return node;
}

}  // namespace

Json node_details(const Inspection& inspection, int number) {
  const PassNode& n = inspection.pass[number];
  Json node = node_statistics(n);
  node.update(node_pictures(inspection, n));
  return node;
}

Json page_data(const Inspection& inspection, const DocumentOptions& o) {
  Json data = findings(inspection, packed, o.statistics);
  if (!o.tensors) return data;
  for (const PassNode& n : inspection.pass.nodes())
    data["nodes"][static_cast<std::size_t>(n.number)].update(node_pictures(inspection, n));
  const Json why = why_parts(inspection);
  for (std::size_t i = 0; i < why.size(); ++i) data["attention"][i]["why"] = why[i];
  data["without_heads"] = without_heads_svg(inspection);
  return data;
}

}  // namespace glim
