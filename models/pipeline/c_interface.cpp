// glim.h on top of Translator: no exception leaves a function.
#include <cstdlib>
#include <cstring>
#include <exception>

#include "models/pipeline/glim.h"
#include "models/pipeline/translator.hpp"
#include "tensor/error.hpp"

struct glim_translator {
  glim::Translator translator;
};

namespace {

thread_local std::string last_error;

template <class F>
auto guarded(const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const glim::Error& e) {
    last_error = e.one_line();
  } catch (const std::exception& e) {
    last_error = e.what();
  }
  return nullptr;
}

void require_text(const char* text, const char* what) {
  if (!text) throw glim::ValueError("glim.h", std::string("the ") + what + " is a null pointer");
}

}  // namespace

glim_translator* glim_open(const char* path) {
  return guarded([&] {
    require_text(path, "path");
    return new glim_translator{glim::Translator(path)};
  });
}

char* glim_translate(const glim_translator* model, const char* sentence, int beam) {
  return guarded([&] {
    if (!model) throw glim::ValueError("glim.h", "the translator is a null pointer");
    require_text(sentence, "sentence");
    const std::string text = model->translator(sentence, {.beam = beam});
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
  });
}

void glim_free(char* text) { std::free(text); }

void glim_close(glim_translator* model) { delete model; }

const char* glim_last_error(void) { return last_error.c_str(); }
