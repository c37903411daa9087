// For clang's libFuzzer. The program takes libFuzzer's options, and fuzzes the reader whose name it has: the script
// `fuzz` builds it, and a link to it for each reader.
//
// A safetensors file begins with the length of its header, and a checkpoint's header has JSON within its strings. Bytes
// that are changed anywhere seldom get beyond the first: so a change is also made within the header, or within one of
// its strings, and the bytes around it are made to fit.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/fuzz/readers/readers.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* bytes, std::size_t size, std::size_t most);

namespace {

using glim::fuzz::reader_named;

const glim::fuzz::Reader* reader = nullptr;
bool has_header = false;

std::string changed(std::string text, std::size_t most) {
  const std::size_t size = text.size();
  text.resize(std::max(size, most));
  text.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, std::max(size, most)));
  return text;
}

// The header with one of its metadata's values changed; empty if it has none.
std::string with_changed_value(const std::string& header, std::size_t most, std::mt19937& random) {
  nlohmann::json all = nlohmann::json::parse(header, nullptr, false);
  if (!all.is_object() || !all["__metadata__"].is_object() || all["__metadata__"].empty())
    return "";
  auto value = all["__metadata__"].begin();
  std::advance(value, random() % all["__metadata__"].size());
  if (!value->is_string()) return "";
  *value = changed(value->get<std::string>(), most);
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// libFuzzer starts itself again, with the same name and other arguments.
extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  std::string_view name = (*argv)[0];
  name.remove_prefix(name.rfind('/') + 1);
  reader = reader_named(name);
  if (!reader) {
    std::fputs("this program must have the name of a reader:", stderr);
    for (const auto& r : glim::fuzz::readers()) std::fprintf(stderr, " %s", r.name.c_str());
    std::fputc('\n', stderr);
    std::exit(2);
  }
  has_header = name == "safetensors" || name == "checkpoint" || name == "model";
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::uint64_t length = 0;
  if (has_header && size >= sizeof length) std::memcpy(&length, bytes, sizeof length);
  std::mt19937 random(seed);
  const unsigned way = random() % 4;
  if (length == 0 || length > size - sizeof length || way == 0)
    return LLVMFuzzerMutate(bytes, size, most);

  const char* text = reinterpret_cast<const char*>(bytes) + sizeof length;
  std::string header(text, length);
  const std::string data(text + length, size - sizeof length - length);
  const std::size_t room = most - sizeof length - data.size();
  std::string other;
  if (way > 1) other = with_changed_value(header, header.size(), random);
  if (other.empty() || other.size() > room) other = changed(header, room);
  length = other.size();
  std::memcpy(bytes, &length, sizeof length);
  std::memcpy(bytes + sizeof length, other.data(), other.size());
  std::memcpy(bytes + sizeof length + other.size(), data.data(), data.size());
  return sizeof length + other.size() + data.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  glim::fuzz::check(*reader, {reinterpret_cast<const char*>(bytes), size});
  return 0;
}
