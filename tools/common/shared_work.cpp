#include "tools/common/shared_work.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace glim {

using Json = nlohmann::json;

std::vector<Json> shared_work(const Processes& processes, Index count,
                              FunctionRef<Json(Index)> item) {
  const Index size = processes.size();
  Json items = Json::array();
  processes.together([&] {
    for (Index i = processes.rank(); i < count; i += size) items.push_back(item(i));
  });
  // CBOR keeps every double as it is, infinities too.
  std::vector<std::uint8_t> bytes = Json::to_cbor(items);
  const std::vector<std::size_t> lengths = processes.gather(std::vector<std::size_t>{bytes.size()});
  const std::size_t most = *std::max_element(lengths.begin(), lengths.end());
  bytes.resize(most);
  const std::vector<std::uint8_t> all = processes.gather(bytes);
  std::vector<Json> results(static_cast<std::size_t>(count));
  for (Index r = 0; r < size; ++r) {
    const auto begin =
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(r) * most);
    const Json list = Json::from_cbor(
        begin, begin + static_cast<std::ptrdiff_t>(lengths[static_cast<std::size_t>(r)]));
    for (Index k = 0; r + k * size < count; ++k)
      results[static_cast<std::size_t>(r + k * size)] = list[static_cast<std::size_t>(k)];
  }
  return results;
}

}  // namespace glim
