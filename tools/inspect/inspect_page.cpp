// The page of an inspection: its data, and the scripts that draw them.
#include <nlohmann/json.hpp>

#include "tensor/io/atomic_file.hpp"
#include "tools/inspect/document.hpp"
#include "tools/inspect/page/page.hpp"

namespace glim {

extern const std::string_view kMapsScript, kGraphScript, kInspectScript, kInspectStyle;

void write_inspection_page(const Inspection& inspection, const std::string& path,
                           const DocumentOptions& o) {
  PageParts parts;
  parts.title = "glim inspect: " + inspection.source_text;
  parts.data = page_data(inspection, o).dump();
  parts.styles = {kInspectStyle};
  parts.scripts = {kMapsScript, kGraphScript, kInspectScript};
  parts.most_bytes = o.most_bytes;
  parts.advice = "a shorter sentence, --no-tensors or a larger --max-mb";
  std::string page = html_page(parts);
  write_file_atomically(path, std::string_view(page));
}

}  // namespace glim
