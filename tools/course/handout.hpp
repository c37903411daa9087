// A lecturer's hand-out, page and deck of pictures, from a model and a sentence.
#pragma once

#include <string>

namespace glim::course {

struct Handout {
  std::string model, sentence, translation, folder;  // translation: empty for the model's own
};

// Writes into the folder: handout.tex and handout.pdf, or handout.html where pdflatex is missing; page/inspect.html; and
// deck.html, one map a screen with its caption. Calls derive and inspect of this program. ValueError if the folder has one of them.
void write_handout(const Handout& h);

}  // namespace glim::course
