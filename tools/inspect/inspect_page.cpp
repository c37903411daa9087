// The page of an inspection: its data, and the scripts that draw them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "models/tokenizers/base64.hpp"
#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/common/escape.hpp"
#include "tools/common/folder.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/page/page.hpp"

namespace glim {

extern const std::string_view kMapsScript, kGraphScript, kInspectScript, kLiveScript, kPathScript,
    kPathTexts, kInspectStyle;

namespace {

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, 0);
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size,
               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK)
    throw ValueError("page", "zlib was refused memory");
  packed.resize(size);
  return packed;
}

// Deflated, in base64, within an element that the page's scripts read.
std::string packed_element(const std::string& id, const std::string& bytes) {
  return fmt::format("<script type=\"text/plain\" id=\"{}\">{}</script>\n", id,
                     base64_encode(compressed(bytes)));
}

}  // namespace

void write_inspection_page(nlohmann::json data, const std::string& path, const DocumentOptions& o) {
  PageParts parts;
  parts.title = "glim inspect: " + data[data["kind"] == ""       ? "title"
                                        : data["source"].empty() ? "target_text"
                                                                 : "source_text"]
                                       .get<std::string>();
  if (o.live) {
    parts.webassembly = true;
    const ImageSet& images = o.live->images;
    auto shown = nlohmann::json::array();
    for (std::size_t i = 0, size = static_cast<std::size_t>(images.image_size());
         i < images.files.size(); ++i) {
      const auto first = images.pixels.begin() + static_cast<std::ptrdiff_t>(i * size);
      shown.push_back(
          {{"name", images.files[i]},
           {"size", {images.channels, images.height, images.width}},
           {"pixels", std::vector<int>(first, first + static_cast<std::ptrdiff_t>(size))}});
    }
    data["live"] = {{"request", nlohmann::json::parse(o.live->request)},
                    {"command", o.live->command},
                    {"texts", nlohmann::json::parse(kPathTexts)}};
    if (!shown.empty()) data["live"]["images"] = std::move(shown);
    parts.body = packed_element("live-module", o.live->module);
    if (!o.live->model.empty()) parts.body += packed_element("live-model", o.live->model);
  }
  if (!o.command.empty()) data["command"] = o.command, data["lists"] = o.lists;
  parts.data = in_json(data);
  parts.styles = {kInspectStyle};
  parts.scripts = {kMapsScript, kGraphScript};
  if (o.live) parts.scripts.insert(parts.scripts.end(), {o.live->script, kPathScript});
  parts.scripts.insert(parts.scripts.end(), {kLiveScript, kInspectScript});
  parts.most_bytes = o.most_bytes;
  parts.advice = "a shorter sentence, --no-tensors or a larger --max-mb";
  std::string page = html_page(parts);
  write_file_atomically(path, std::string_view(page));
}

void write_inspection(const Inspection& inspection, const std::filesystem::path& folder,
                      bool data) {
  make_folder(folder.string());
  const DocumentOptions options;
  if (data) {
    write_inspection_json(inspection, (folder / "inspect.json").string(), options);
    write_inspection_tensors(inspection, (folder / "inspect.safetensors").string(), options);
  }
  write_inspection_page(page_data(inspection, options), (folder / "inspect.html").string(),
                        options);
}

}  // namespace glim
