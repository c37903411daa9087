// Everything in Glim that reads a file, each behind one function that takes the file's bytes. Whatever the bytes are,
// a reader gives a value or throws an Error whose message is one line. It never crashes, hangs or leaks, and takes at
// most four times the file plus 16 MB of memory. Data that Glim can write are written, and read the same.
//
//   fuzz (script)   builds a libFuzzer program of these readers with clang, and runs one of them
//   replay.cpp      reads the kept corpus again, and simple mutations of it, in the suite
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glim::fuzz {

struct Reader {
  std::string name;
  void (*read)(std::string_view bytes);  // Error: the bytes are refused
  // The size that memory is compared with: the file's, or that of its unpacked bytes.
  std::size_t (*size)(std::string_view bytes) = [](std::string_view bytes) { return bytes.size(); };
};

const std::vector<Reader>& readers();
const Reader* reader_named(std::string_view name);  // nullptr: there is none

// Reads, and holds the reader to its promises: a broken one aborts the process and says why. Whether the bytes were
// taken.
bool check(const Reader& reader, std::string_view bytes);

// Says what is wrong and aborts.
[[noreturn]] void fault(const std::string& problem);
inline void require(bool holds, const char* problem) {
  if (!holds) fault(problem);
}

// Runs a part of a reader whose refusal does not end the reader.
void attempt(void (*part)(const std::string& text), const std::string& text);

// The path of a file in memory that holds these bytes until the next call for this place.
const std::string& memory_file(std::string_view bytes, int place = 0);
// The path of a name in a folder in memory, which is removed at the end.
std::string scratch(const std::string& name);

// The readers, by what they read.
void read_safetensors_bytes(std::string_view bytes);
void read_idx_bytes(std::string_view bytes);
std::size_t unpacked_size(std::string_view bytes);
void read_png_bytes(std::string_view bytes);
std::size_t png_size(std::string_view bytes);
void read_toml_bytes(std::string_view bytes);
void read_vocabulary_bytes(std::string_view bytes);
void read_sentencepiece_bytes(std::string_view bytes);
void read_text_bytes(std::string_view bytes);
void read_table_bytes(std::string_view bytes);
void read_json_bytes(std::string_view bytes);
void read_checkpoint_bytes(std::string_view bytes);
void read_model_bytes(std::string_view bytes);
void read_recording_bytes(std::string_view bytes);

}  // namespace glim::fuzz
