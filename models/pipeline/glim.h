/* Glim's translator for programs in C and in whatever calls C.
 *
 *   glim_translator* model = glim_open("model");           // a folder of glim train, or one of its files
 *   char* text = glim_translate(model, "I have a cat", 4); // with a beam of 4; 1 is greedy
 *   if (!text) fputs(glim_last_error(), stderr);
 *   glim_free(text);
 *   glim_close(model);
 *
 * Text is UTF-8. Several threads may use one translator at once. A call that fails returns a null pointer; then
 * glim_last_error() says what is wrong, where, and what to do. */
#ifndef GLIM_H
#define GLIM_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct glim_translator glim_translator;

glim_translator* glim_open(const char* path);
/* The translation of one sentence, to be given to glim_free. */
char* glim_translate(const glim_translator* model, const char* sentence, int beam);
void glim_free(char* text);
void glim_close(glim_translator* model);
/* Of the last call on this thread that failed; it lasts until the next one that fails. "" before the first. */
const char* glim_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
