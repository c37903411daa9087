// The largest parts of each score (tools/measure/score_sources.hpp), for a page: what its Attention tab shows at a click
// on a cell.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/inspect/inspection.hpp"

namespace glim {

// The parts of one score: {"parts": [[0.41, "wte", "wpe"], ...] from the largest size on, "rest": of the others,
// "count": of all, "gap": ScoreParts::gap}. Errors as of score_parts().
nlohmann::json why_cell(const Pass& pass, const std::string& head, Index query, Index key);

// The part of these two sources, split again (SplitPart): {"part": 0.41, "splits": ...} as --json prints it, the largest
// rows of each split in "rows", their number in "count", and "rest".
nlohmann::json why_part(const Pass& pass, const std::string& head, Index query, Index key,
                        const std::string& query_source, const std::string& key_source);

// For each attention of the inspection its parts, null, or false where scores are no scaled product. Heads come in the
// order of ‖∂L/∂A‖ until they have kMostWhyCells cells: a page of 7 words has all 72 heads of MiniLM.
//
//   {"sources": names, "heads": numbers, "values": packed (heads, T, S, shown + 1), the rest last,
//    "query", "key": packed (heads, T, S, shown), into sources, "count": of all parts, "gap": the largest}
nlohmann::json why_parts(const Inspection& inspection);
constexpr Index kMostWhyCells = 5'000;

}  // namespace glim
