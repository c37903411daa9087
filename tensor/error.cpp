#include "tensor/error.hpp"

#include <cstdio>
#include <cstdlib>

#include "tensor/tensor.hpp"
#include "tensor/where.hpp"

namespace glim {

std::string to_string(const Where& where) {
  std::string_view file = where.file_name();
  if (auto slash = file.find_last_of("/\\"); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(where.line());
}
namespace {
std::string (*find_scope)() = nullptr;

// An uncaught error ends a program by abort(), which does not write what the program has printed so far.
const std::terminate_handler previous = std::set_terminate([] {
  std::fflush(stdout);
  (previous ? previous : std::abort)();
});
}  // namespace

Error::Error(std::string_view op, std::string_view problem,
             std::initializer_list<NamedOperand> operands)
    : op_(op), problem_(problem), scope_(find_scope ? find_scope() : "") {
  for (const NamedOperand& o : operands)
    operands_.push_back({std::string(o.name), o.tensor.kind(), {}});
  compose();
}

void Error::find_scope_by(std::string (*scope)()) { find_scope = scope; }

std::string Error::headline() const { return op_.empty() ? problem_ : op_ + ": " + problem_; }

std::string Error::one_line() const {
  std::string line;
  for (char c : text_) {
    if (c == '\n') {
      line += ';';
    } else if (!(c == ' ' && !line.empty() && (line.back() == ' ' || line.back() == ';'))) {
      line += c;
    } else if (line.back() == ';') {
      line += ' ';
    }
  }
  return line;
}

void Error::add_operand(std::string_view name, std::string_view kind) {
  operands_.push_back({std::string(name), std::string(kind), {}});
  compose();
}

void Error::set_operand_path(std::size_t operand, std::string_view path) {
  if (operand >= operands_.size() || !operands_[operand].path.empty() || path.empty()) return;
  operands_[operand].path = path;
  compose();
}

void Error::set_place(std::string_view scope, std::string_view site) {
  if (placed_ || (scope.empty() && site.empty())) return;
  placed_ = true;
  if (!scope.empty()) scope_ = scope;
  site_ = site;
  compose();
}

void Error::compose() {
  text_ = headline();
  for (const Listed& o : operands_) {
    text_ += "\n  " + o.name + " " + o.kind;
    if (!o.path.empty()) text_ += "  " + o.path;
  }
  if (!scope_.empty()) text_ += "\n  in " + scope_;
  if (!site_.empty()) text_ += scope_.empty() ? "\n  at " + site_ : ", at " + site_;
}

}  // namespace glim
