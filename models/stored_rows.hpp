// The values of rows as JSON (models/row.hpp), one by one.
#pragma once

#include "models/row.hpp"
#include "tensor/io/stored_json.hpp"

namespace glim {

nlohmann::json stored(const Row& row);
// nlohmann::json::exception for a value of another type, ValueError naming the row for one that is no choice.
void restore(const Row& row, const nlohmann::json& value);

}  // namespace glim
