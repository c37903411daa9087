// The verbs of the program. Each registers its subcommand; its callback runs after parsing, prints
// what it has to say to standard output, and throws what goes wrong: main prints one line.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

namespace glim {

void add_train(CLI::App& app);
void add_translate(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_generate(CLI::App& app);
void add_classify(CLI::App& app);
void add_average(CLI::App& app);
void add_compare(CLI::App& app);
void add_gradcheck(CLI::App& app);
void add_report(CLI::App& app);
void add_study(CLI::App& app);
void add_inspect(CLI::App& app);
void add_step(CLI::App& app);
void add_doctor(CLI::App& app);

// Gives every option of the verb that the command line left open the value of a TOML file's key of
// its name. FileError naming file and key for unknown keys and values that do not convert.
void apply_config(CLI::App& verb, const std::string& path);

// Ends the program with this status; what is to be said has been said.
struct Exit : std::exception {
  explicit Exit(int s) : status(s) {}
  int status;
};

// Writes to standard output. FileError when it cannot be written (a full disk); Exit(0) when the
// reader has gone away, as `head` does.
void print(const std::string& text);
void print_line(const std::string& text);  // and flushes
void print_flush();

}  // namespace glim
