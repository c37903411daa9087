// Declarations that the files for Windows share. Only they include this header: windows.h defines macros like `near`.
#pragma once

#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <objbase.h>  // shellapi.h needs it
#include <shellapi.h>
#include <string>
#include <string_view>
#include <windows.h>

namespace glim {

inline std::wstring wide(std::string_view utf8) {
  const int bytes = static_cast<int>(utf8.size());
  std::wstring text(utf8.size(), L'\0');
  text.resize(static_cast<std::size_t>(
      MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, text.data(), bytes)));
  return text;
}
inline std::string utf8(std::wstring_view wide) {
  const int units = static_cast<int>(wide.size());
  std::string text(3 * wide.size(), '\0');
  text.resize(static_cast<std::size_t>(WideCharToMultiByte(
      CP_UTF8, 0, wide.data(), units, text.data(), 3 * units, nullptr, nullptr)));
  return text;
}
// The path of the system's cmd.exe, not of one in the program's folder or the current one.
inline std::wstring command_shell() {
  std::wstring path(MAX_PATH, L'\0');
  path.resize(GetSystemDirectoryW(path.data(), MAX_PATH));
  return path + L"\\cmd.exe";
}

}  // namespace glim
