/* The translation of each sentence, in C99 (<glim/glim.h>).
 *
 *   translate_c MODEL SENTENCE... */
#include <glim/glim.h>
#include <stdio.h>

static int failed(const char* problem) {
  fprintf(stderr, "translate_c: %s\n", problem);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return failed("give a model and sentences: translate_c MODEL SENTENCE...");
  glim_translator* model = glim_open(argv[1]);
  if (!model) return failed(glim_last_error());
  for (int i = 2; i < argc; ++i) {
    char* text = glim_translate(model, argv[i], 4);
    if (!text) return failed(glim_last_error());
    printf("%s -> %s\n", argv[i], text);
    glim_free(text);
  }
  glim_close(model);
  return 0;
}
