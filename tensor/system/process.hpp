// This process: its number, its program, its terminal, its signals, and libraries that it loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

namespace glim {

int process_id();
std::string program_path();
std::optional<std::string> environment(const std::string& name);  // none where it is empty
double processor_seconds();                                       // of all threads together

// Standard streams pass bytes as they are, to a terminal UTF-8. A closed one keeps its number, so that no file gets it.
// A reader that goes away, and a file size limit, are errors of write. False if no file can be opened.
bool prepare_streams();
// Drops all further output.
bool drop_output();
// True if a write to standard output failed because nobody reads it.
bool reader_gone(int reason);

bool is_terminal(int fd);
// Width of the terminal behind `fd`, in columns. Without a terminal: COLUMNS, or 80.
int terminal_columns(int fd);

// Shows the file in the user's browser, and does not wait for it. False where there is no screen or no browser.
bool open_in_browser(const std::string& file);

// Calls f on Control-C, and where the process is asked to end or its window is closed. Null: such an event ends the
// process. `ends_reads`: a read that waits fails with EINTR.
void on_interrupt(void (*f)(int), bool ends_reads = false);

// Until end_interrupt_watch(), Control-C also sets the flag, unless it is ignored. One watch at a time.
void watch_interrupt(std::atomic<bool>& flag);
void end_interrupt_watch();

// A library that stays loaded; null: library_error() says why.
void* load_library(const std::string& name);
void* library_symbol(void* library, const char* name);
std::string library_error();

}  // namespace glim
