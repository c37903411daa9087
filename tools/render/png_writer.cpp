// SVG to PNG: librsvg draws into a surface of cairo, whose PNG bytes are written as one file.

#include <cairo.h>
#include <cmath>
#include <fmt/format.h>
#include <librsvg/rsvg.h>
#include <memory>

#include "tensor/error.hpp"
#include "tensor/io/atomic_file.hpp"
#include "tools/render/drawing.hpp"

namespace glim {
namespace {

constexpr double kLargestSide = 32767;  // of cairo's surfaces

std::string message_of(GError* error) {
  std::string text = error ? error->message : "unknown reason";
  g_clear_error(&error);
  return text;
}

cairo_status_t append(void* to, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

void write_png(const std::string& svg, const std::string& path, double scale) {
  GError* error = nullptr;
  std::unique_ptr<RsvgHandle, void (*)(RsvgHandle*)> picture(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error),
      [](RsvgHandle* h) { g_object_unref(h); });
  if (!picture) throw ValueError("png", "the picture cannot be read: " + message_of(error));
  double width = 0, height = 0;
  if (!rsvg_handle_get_intrinsic_size_in_pixels(picture.get(), &width, &height))
    throw ValueError("png", "the picture has no size");
  double columns = std::ceil(width * scale), rows = std::ceil(height * scale);
  if (!(columns >= 1 && rows >= 1 && columns <= kLargestSide && rows <= kLargestSide))
    throw ValueError("png", fmt::format("{} x {} pixels are outside 1 to {} per side", columns,
                                        rows, kLargestSide));
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface(
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(columns),
                                 static_cast<int>(rows)),
      cairo_surface_destroy);
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> pen(cairo_create(surface.get()), cairo_destroy);
  RsvgRectangle all{0, 0, columns, rows};
  if (!rsvg_handle_render_document(picture.get(), pen.get(), &all, &error))
    throw ValueError("png", "the picture cannot be drawn: " + message_of(error));
  std::string bytes;
  cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append, &bytes);
  if (status != CAIRO_STATUS_SUCCESS) throw MemoryError("png", cairo_status_to_string(status));
  write_file_atomically(path, bytes);
}

}  // namespace glim
