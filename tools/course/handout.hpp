// A lecturer's hand-out, page and deck of pictures, from a model and a sentence.
#pragma once

#include <string>

namespace glim::course {

struct Handout {
  std::string model, sentence, translation, folder;  // translation: empty for the model's own
};

// Writes handout.tex and handout.pdf (handout.html without pdflatex), page/inspect.html and deck.html: the sentence, heads, tokens,
// rollout. Calls derive and inspect of this program. ValueError if the folder has one of these files.
void write_handout(const Handout& h);

}  // namespace glim::course
