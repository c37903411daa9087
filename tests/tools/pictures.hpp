// One of an inspection's or of training runs' pictures, drawn.
#pragma once

#include <stdexcept>

#include "tools/render/pictures_asked.hpp"

template <class T>
std::string picture_svg(const T& of, const std::string& name) {
  for (const glim::Picture& p : pictures(of))
    if (p.name == name) return p.svg();
  throw std::out_of_range("no picture is named " + name);
}
