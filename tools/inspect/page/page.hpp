// One HTML file that opens from disk without a network: it contains D3, styles, scripts and data.
//
// A policy in the page forbids it to load anything. Its parts are separate source files (*.js, *.css), turned
// into strings at build time. Every page has page.css and page.js: colours, numbers as text, hover boxes,
// tabs (see the head of page.js).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glim {

struct PageParts {
  std::string title;
  std::string data;                       // JSON; in the page `Glim.data`
  std::vector<std::string_view> styles;   // after page.css
  std::vector<std::string_view> scripts;  // after D3 and page.js, in this order
  std::string body;                       // HTML within <main>
  bool webassembly = false;      // the policy lets the page start a module that it contains
  std::uint64_t most_bytes = 0;  // ValueError when the page would be larger; 0: no limit
  std::string advice;            // what to use then: "a shorter sentence or --no-tensors"
};

// UTF-8 text of the whole page.
std::string html_page(const PageParts& parts);

}  // namespace glim
