// A narrow path is UTF-8. A program says so in its manifest, but Python, which loads the module, has the code page of its
// user. libstdc++ takes UTF-8 by itself; libc++ gets these functions (meson.build).
#include <filesystem>

#include "tensor/system/windows.hpp"

#ifdef _LIBCPP_VERSION
_LIBCPP_BEGIN_NAMESPACE_FILESYSTEM
// Both return the size of the result, which they write where there is room for it.
size_t glim_wide_to_char(const wstring& text, char* out, size_t size) {
  return static_cast<size_t>(WideCharToMultiByte(CP_UTF8, 0, text.data(),
                                                 static_cast<int>(text.size()), out,
                                                 static_cast<int>(size), nullptr, nullptr));
}
size_t glim_char_to_wide(const string& text, wchar_t* out, size_t size) {
  return static_cast<size_t>(MultiByteToWideChar(
      CP_UTF8, 0, text.data(), static_cast<int>(text.size()), out, static_cast<int>(size)));
}
_LIBCPP_END_NAMESPACE_FILESYSTEM
#endif
