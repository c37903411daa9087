// Base64 (RFC 4648, section 4): bytes inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glim {

std::string base64_encode(std::string_view bytes);
// Nothing when `text` is not canonical: foreign characters, wrong padding, stray bits at the end.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace glim
