#include "tensor/io/safetensors.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/io/checksum.hpp"
#include "tests/catch.hpp"
#include "tests/tensor/common.hpp"

namespace test_safetensors {

using namespace glim;
using Tensors = std::map<std::string, Tensor>;

namespace {

std::string file_bytes(const std::string& header, std::size_t data, std::uint64_t length) {
  std::string s(8, '\0');
  std::memcpy(s.data(), &length, 8);
  return s + header + std::string(data, '\1');
}
std::string file_bytes(const std::string& header, std::size_t data) {
  return file_bytes(header, data, header.size());
}

// The problem that reading these bytes reports, without the file's name.
std::string problem_of(const std::string& bytes) {
  Scratch scratch;
  std::string path = scratch / "f";
  put(path, bytes);
  std::string text = error_of<FileError>([&] { read_safetensors(path); });
  if (text.empty()) return "";
  REQUIRE(text.substr(0, path.size() + 2) == path + ": ");
  return text.substr(path.size() + 2);
}

Tensor special() {
  double inf = std::numeric_limits<double>::infinity();
  return tensor(
      {0.0, -0.0, 1.5, -2.25, std::nan(""), inf, -inf, 1e-300, 1.7976931348623157e308, 5e-324},
      DType::Float64);
}

}  // namespace

TEST_CASE("tensors and metadata come back bit for bit", "[safetensors]") {
  Scratch scratch;
  Tensors tensors;
  std::uint64_t stream = 0;
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool})
    for (Shape s : {Shape{}, Shape{1}, Shape{7}, Shape{2, 3, 5}, Shape{0}, Shape{3, 0, 2}}) {
      std::string name = std::string(name_of(t)) + to_string(s);
      tensors[name] = random_tensor(s, t, stream++);
    }
  Tensor x = random_tensor({4, 6}, DType::Float32, 99);
  tensors["view"] = slice(transpose(x), 0, 1, 6, 2);
  tensors["special"] = special();
  tensors["quote\" back\\slash \n 名前"] = tensor({1});
  std::map<std::string, std::string> metadata = {{"a", ""}, {"b", "line 1\nline 2 \"猫\""}};
  write_safetensors(scratch / "f", tensors, metadata);
  SafeTensors back = read_safetensors(scratch / "f");
  CHECK(back.metadata == metadata);
  REQUIRE(back.tensors.size() == tensors.size());
  for (const auto& [name, t] : tensors) {
    INFO(name);
    CHECK(same_bits(back.tensors.at(name), t));
  }
  CHECK(scratch.names() == std::vector<std::string>{"f"});
}

TEST_CASE("elements are at multiples of their size, in an order of names", "[safetensors]") {
  Scratch scratch;
  write_safetensors(scratch / "f", {{"d", ones({3}, DType::Bool)},
                                    {"c", ones({3})},
                                    {"b", ones({1}, DType::Float64)},
                                    {"a", ones({5}, DType::Bool)}});
  InputFile file(scratch / "f");
  SafeTensorsHeader header = read_safetensors_header(file);
  std::string order;
  for (const SafeTensorsEntry& e : header.entries) {
    order += e.name;
    CHECK((header.data_at + e.begin) % e.encoding.size == 0);
  }
  CHECK(order == "bcad");
  CHECK(header.data_at % 8 == 0);
  CHECK(contents(scratch / "f").substr(8, header.data_at - 8) ==
        "{\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"c\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[8,20]},"
        "\"a\":{\"dtype\":\"BOOL\",\"shape\":[5],\"data_offsets\":[20,25]},"
        "\"d\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[25,28]}}    ");
}

TEST_CASE("a checksum tells damage from what was written", "[safetensors]") {
  CHECK(xxh64("", 0) == 0xEF46DB3751D8E999);  // XXH64 as xxhash.com has it
  CHECK(xxh64("abc", 3) == 0x44BC2CF5AD770999);
  const std::string long_text = "The quick brown fox jumps over the lazy dog, and over 31 more.";
  CHECK(xxh64(long_text.data(), long_text.size(), 7) == 0xA62D016B2FBC361F);

  Scratch scratch;
  const Tensors tensors = {{"a", random_tensor({3, 5}, DType::Float32, 1)},
                           {"b", ones({7}, DType::Bool)},
                           {"large", ones({3, 100'000})},
                           {"view", transpose(random_tensor({2, 3}, DType::Float64, 2))}};
  const std::map<std::string, std::string> metadata = {{"k", "some text"}};
  write_safetensors(scratch / "f", tensors, with_checksum(tensors, metadata));
  CHECK(read_safetensors(scratch / "f").metadata == metadata);
  const std::string good = contents(scratch / "f");
  const std::string refused =
      (scratch / "f") +
      ": does not match its glim_checksum: it is damaged, or another program "
      "changed it; use another copy, or leave that entry of the metadata out";
  auto problem_of_bytes = [&](std::string bytes) {
    put(scratch / "f", bytes);
    return error_of<FileError>([&] { read_safetensors(scratch / "f"); });
  };
  auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  CHECK(problem_of_bytes(with("some text", "other one")) == refused);
  CHECK(problem_of_bytes(with("\"a\"", "\"c\"")) == refused);
  CHECK(problem_of_bytes(with("[3,5]", "[5,3]")) == refused);
  for (std::size_t i = 1; i <= 90; ++i) {  // an element of each tensor among them
    std::string bytes = good;
    bytes[bytes.size() - i] = static_cast<char>(bytes[bytes.size() - i] ^ 1);
    CHECK(problem_of_bytes(bytes) == refused);
  }
  const std::string one("\0\0\x80\x3F", 4);
  for (const std::size_t at : {400'000, 1'048'576, 1'100'000})  // of both blocks of the large one
    CHECK(problem_of_bytes(std::string(good).replace(good.find(one) + at, 4, "\0\0\0\0", 4)) ==
          refused);
  CHECK(problem_of_bytes(good.substr(0, good.size() - 60) + std::string(60, '\0')) != "");
  CHECK(problem_of_bytes(with("glim_checksum", "its_checksum ")) == "");  // a file without one
  CHECK(problem_of_bytes(good) == "");
}

TEST_CASE("files of the safetensors library are read", "[safetensors]") {
  SafeTensors f = read_safetensors(reference("safetensors/four_dtypes.safetensors"));
  Tensor ramp = reshape(arange(0, 6), {2, 3});
  CHECK(f.metadata == std::map<std::string, std::string>{{"note", "line 1\nline 2 \"ü\" 猫"}});
  CHECK(f.tensors.size() == 9);
  CHECK(same_bits(f.tensors["float32"], add(mul(ramp.to(DType::Float32), 0.5), -1)));
  CHECK(same_bits(f.tensors["float64"], div(ramp.to(DType::Float64), scalar(3, DType::Float64))));
  CHECK(same_bits(f.tensors["int64"], add(ramp, -1099511627776.0)));
  CHECK(same_bits(f.tensors["bool"], reshape(tensor({1, 0, 1, 0, 1, 0}, DType::Bool), {2, 3})));
  CHECK(same_bits(f.tensors["scalar"], scalar(3.25, DType::Float64)));
  CHECK(same_bits(f.tensors["empty"], zeros({0, 3})));
  CHECK(same_bits(f.tensors["special.float64"], special()));
  CHECK(same_bits(f.tensors["名前.weight"], tensor({1, 2})));
  CHECK(same_bits(f.tensors["quote\"back\\slash"], tensor({7}, DType::Int64)));
  CHECK(read_safetensors(reference("safetensors/no_metadata.safetensors")).metadata.empty());
  CHECK(read_safetensors(reference("safetensors/no_tensors.safetensors")).tensors.empty());
}

TEST_CASE("narrower numbers are widened without loss", "[safetensors]") {
  Tensor ramp = reshape(arange(0, 6), {2, 3});
  for (std::string name : {"float16", "bfloat16", "int32", "uint8"}) {
    INFO(name);
    Tensor x = read_safetensors(reference("safetensors/unsupported_" + name + ".safetensors"))
                   .tensors["x"];
    CHECK(same_bits(x, name.find("float") == name.npos ? ramp : ramp.to(DType::Float32)));
  }
  Scratch scratch;
  auto read = [&](std::string dtype, std::string bytes, Index n) {
    std::string header = "{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(n) +
                         "],\"data_offsets\":[0," + std::to_string(bytes.size()) + "]}}";
    put(scratch / "f", file_bytes(header, 0) + bytes);
    return read_safetensors(scratch / "f").tensors["x"];
  };
  float inf = std::numeric_limits<float>::infinity();
  using Bytes = std::string;
  // 1, -2, largest, least normal, least, largest subnormal, -0, inf, -inf
  Tensor half = read("F16", Bytes("\0\x3c\0\xc0\xff\x7b\0\x04\1\0\xff\3\0\x80\0\x7c\0\xfc", 18), 9);
  CHECK(same_bits(
      half,
      from_vector<float>({1, -2, 65504, 0x1p-14f, 0x1p-24f, 0x3ffp-24f, -0.0f, inf, -inf}, {9})));
  CHECK(std::isnan(read("F16", Bytes("\1\x7e", 2), 1).item()));
  CHECK(same_bits(read("BF16", Bytes("\x80\x3f\x80\xff\1\0", 6), 3),
                  from_vector<float>({1, -inf, 0x1p-133f}, {3})));
  CHECK(same_bits(read("I8", "\x80\x7f", 2), from_vector<Index>({-128, 127}, {2})));
  CHECK(same_bits(read("U8", "\xff", 1), from_vector<Index>({255}, {1})));
  CHECK(same_bits(read("I16", Bytes("\0\x80\xff\x7f", 4), 2),
                  from_vector<Index>({-32768, 32767}, {2})));
  CHECK(same_bits(read("U16", "\xff\xff", 1), from_vector<Index>({65535}, {1})));
  CHECK(same_bits(read("I32", Bytes("\0\0\0\x80", 4), 1), from_vector<Index>({INT32_MIN}, {1})));
  CHECK(same_bits(read("U32", "\xff\xff\xff\xff", 1), from_vector<Index>({4294967295}, {1})));
}

TEST_CASE("hostile files are refused, each with its reason", "[safetensors]") {
  auto one = [](const std::string& entry) { return "{\"w\":" + entry + "}"; };
  auto f32 = [&](const std::string& shape, const std::string& offsets) {
    return one("{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}");
  };
  auto two = [](const std::string& first, const std::string& second) {
    auto entry = [](const std::string& name, const std::string& offsets) {
      return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + offsets + "}";
    };
    return "{" + entry("v", first) + "," + entry("w", second) + "}";
  };
  CHECK(problem_of(file_bytes(f32("[2]", "[0,8]"), 8)) == "");

  CHECK(problem_of("") == "is too short for a safetensors file");
  CHECK(problem_of("1234567") == "is too short for a safetensors file");
  CHECK(problem_of(file_bytes("{}", 0, 3)) == "header of 3 bytes reaches beyond the file's 10");
  CHECK(problem_of(file_bytes("{}", 0, 100'000'001)) ==
        "is no safetensors file: a header of 100000001 bytes exceeds the maximum of 100 MB");
  CHECK(problem_of(file_bytes("{}", 0, UINT64_MAX)) ==
        "is no safetensors file: a header of 18446744073709551615 bytes exceeds the maximum of 100 "
        "MB");
  CHECK(problem_of(file_bytes("", 0)) == "header is not valid JSON: the text ends early at byte 0");
  CHECK(problem_of(file_bytes("{\"w\":", 0)) ==
        "header is not valid JSON: the text ends early at byte 5");
  CHECK(problem_of(file_bytes("[]", 0)) == "header is not a JSON object");
  CHECK(problem_of(file_bytes("{\"w\":1,\"w\":2}", 0)) ==
        "header is not valid JSON: the name \"w\" comes twice at byte 10");

  CHECK(problem_of(file_bytes(f32("[2],\"dtype\":\"F32\"", "[0,8]"), 8)) ==
        "header is not valid JSON: the name \"dtype\" comes twice at byte 39");
  CHECK(problem_of(file_bytes("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0)) ==
        "header is not valid JSON: the name \"a\" comes twice at byte 27");
  CHECK(problem_of(file_bytes("{\"__metadata__\":{},\"__metadata__\":{}}", 0)) ==
        "header is not valid JSON: the name \"__metadata__\" comes twice at byte 33");
  CHECK(problem_of(file_bytes(std::string(100'000, '['), 0)) ==
        "header is not valid JSON: nested too deeply at byte 33");
  CHECK(problem_of(file_bytes("{\"w\":01}", 0)) ==
        "header is not valid JSON: unexpected number literal; expected '}' at byte 6");
  CHECK(problem_of(file_bytes("{} {}", 0)) ==
        "header is not valid JSON: unexpected '{'; expected end of input at byte 3");
  CHECK(problem_of(file_bytes("{\"w\":1e999}", 0)) ==
        "header is not valid JSON: number overflow parsing '1e999'");
  CHECK(problem_of(file_bytes(std::string("{}\0{}", 5), 0)) ==
        "header is not valid JSON: it has a zero byte");
  for (const char* before : {"\xEF\xBB\xBF", " ", "\n"})
    CHECK(problem_of(file_bytes(before + std::string("{}"), 0)) ==
          "header is not valid JSON: its first byte is not '{'");
  // A text that is no JSON is told before an entry that is wrong.
  CHECK(contains(problem_of(file_bytes("{\"w\":1,}", 0)), "header is not valid JSON: "));
  for (std::string bad : {"[1,]",
                          "[1 2]",
                          "{\"a\" 1}",
                          "{a:1}",
                          "[-]",
                          "[1.]",
                          "[.5]",
                          "[1e]",
                          "[+1]",
                          "[nul]",
                          "[NaN]",
                          "{",
                          "[",
                          "{\"a\"",
                          "{\"a\":",
                          "{\"a\":1",
                          "{\"a\":1,",
                          "['a']",
                          "[\"\\ud83d\"]",
                          "[\"\\ude00\"]",
                          "[\"\\ud83d\\u0041\"]",
                          "[\"\\u12g4\"]",
                          "[\"\\u12\"]",
                          "[\"\\x\"]",
                          "[\"a\nb\"]",
                          "[\"\xff\"]",
                          "[\"\xc0\xaf\"]",
                          "[\"\xed\xa0\x80\"]",
                          "[\"\xf4\x90\x80\x80\"]",
                          "[\"\xe7\x8c\"]",
                          "\"open",
                          "\"\\",
                          "\"\\u"}) {
    INFO(bad);
    CHECK(contains(problem_of(file_bytes(bad, 0)), "header is not valid JSON: "));
  }
  CHECK(problem_of(file_bytes(R"({"\"\\\/\b\f\n\r\t\u00e9\u732b\ud83d\ude00":1})", 0)) ==
        R"(tensor "\"\\/\b\f\n\r\té猫😀": needs dtype, shape and data_offsets)");

  CHECK(problem_of(file_bytes(one("1"), 0)) == "tensor \"w\": needs dtype, shape and data_offsets");
  CHECK(problem_of(file_bytes(one("{\"dtype\":\"F32\",\"shape\":[1]}"), 4)) ==
        "tensor \"w\": needs dtype, shape and data_offsets");
  CHECK(problem_of(file_bytes(
            one("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}"), 4)) ==
        "tensor \"w\": has members other than dtype, shape and data_offsets");
  CHECK(problem_of(file_bytes(one("{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]}"),
                              4)) == "tensor \"w\": dtype \"F8_E4M3\" is not supported");
  CHECK(problem_of(file_bytes(one("{\"dtype\":7,\"shape\":[4],\"data_offsets\":[0,4]}"), 4)) ==
        "tensor \"w\": dtype is not a string");

  for (std::string shape :
       {"[-1]", "[1.0]", "[1e0]", "[null]", "[[1]]", "1", "\"1\"", "[18446744073709551616]"})
    CHECK(problem_of(file_bytes(f32(shape, "[0,4]"), 4)) ==
          "tensor \"w\": shape is not a list of whole numbers");
  CHECK(problem_of(file_bytes(f32("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4)) ==
        "tensor \"w\": shape has more than 8 axes");
  for (std::string shape : {"[4294967296,4294967296]", "[9223372036854775807,2]",
                            "[4294967296,4294967296,4294967296,0]"})
    CHECK(contains(problem_of(file_bytes(f32(shape, "[0,0]"), 0)),
                   "has more elements than memory can address"));
  // A product of 2^62 elements would need 2^64 bytes, which is 0 in 64 bits.
  CHECK(contains(problem_of(file_bytes(f32("[4611686018427387904]", "[0,0]"), 0)),
                 "has more elements than memory can address"));

  for (std::string offsets : {"[0]", "[0,4,8]", "[-4,0]", "[0.0,4]", "{}", "[\"0\",4]"})
    CHECK(problem_of(file_bytes(f32("[1]", offsets), 4)) ==
          "tensor \"w\": data_offsets is not a pair of whole numbers");
  CHECK(problem_of(file_bytes(f32("[1]", "[4,0]"), 4)) ==
        "tensor \"w\": data_offsets [4, 0] run backwards");
  CHECK(problem_of(file_bytes(f32("[2]", "[0,4]"), 4)) ==
        "tensor \"w\": data_offsets [0, 4] span 4 bytes, shape (2,) of F32 needs 8");
  CHECK(problem_of(file_bytes(f32("[2]", "[0,8]"), 7)) ==
        "tensor \"w\": data_offsets [0, 8] reach beyond the 7 bytes of data (truncated?)");
  CHECK(problem_of(file_bytes(f32("[1]", "[9223372036854775803,9223372036854775807]"), 4)) != "");
  CHECK(problem_of(file_bytes(f32("[2]", "[0,8]"), 9)) == "1 bytes at the end belong to no tensor");
  CHECK(problem_of(file_bytes(f32("[1]", "[4,8]"), 8)) ==
        "tensor \"w\": bytes 0 to 4 before it belong to no tensor");
  CHECK(problem_of(file_bytes(two("[0,4]", "[8,12]"), 12)) ==
        "tensor \"w\": bytes 4 to 8 before it belong to no tensor");
  CHECK(problem_of(file_bytes(two("[0,4]", "[2,6]"), 6)) == "tensor \"w\": overlaps tensor \"v\"");
  CHECK(problem_of(file_bytes(two("[0,4]", "[0,4]"), 4)) == "tensor \"w\": overlaps tensor \"v\"");
  CHECK(problem_of(file_bytes(two("[4,8]", "[0,4]"), 8)) == "");

  CHECK(problem_of(file_bytes("{\"__metadata__\":{\"a\":1}}", 0)) ==
        "__metadata__: \"a\" is no string");
  CHECK(problem_of(file_bytes("{\"__metadata__\":[]}", 0)) == "__metadata__ is not an object");
  CHECK(problem_of(
            file_bytes("{\"b\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}", 0) +
            "\2") == "tensor \"b\" holds a bool that is neither 0 nor 1");
}

TEST_CASE("what cannot be a safetensors file is not written", "[safetensors]") {
  Scratch scratch;
  std::string path = scratch / "f";
  auto error = [&](const Tensors& t, const std::map<std::string, std::string>& m = {}) {
    return error_of<FileError>([&] { write_safetensors(path, t, m); });
  };
  CHECK(error({{"__metadata__", ones({1})}}) == path + ": \"__metadata__\" cannot name a tensor");
  CHECK(error({{"\xff", ones({1})}}) != "");
  CHECK(error({{"x", Tensor()}}) == path + ": tensor \"x\" is undefined");
  CHECK(error({}, {{"k", "\xff"}}) == path + ": metadata that is not UTF-8");
  CHECK(scratch.names().empty());
}

TEST_CASE("files that cannot be opened say why", "[safetensors]") {
  Scratch scratch;
  auto error = [&](const std::string& path) {
    return error_of<FileError>([&] { read_safetensors(path); });
  };
  CHECK(error(scratch / "none") == (scratch / "none") + ": cannot open: No such file or directory");
  CHECK(error(scratch / ".") == (scratch / ".") + ": is a directory");
  CHECK(error("/dev/null") == "/dev/null: is not a regular file");
}

}  // namespace test_safetensors
