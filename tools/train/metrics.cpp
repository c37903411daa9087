#include "tools/train/metrics.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tensor/atomic_file.hpp"
#include "tensor/error.hpp"
#include "tools/text/files.hpp"

namespace glim {
namespace {

using Json = nlohmann::ordered_json;

// The lines of `text` that a run at `step` has already written; a line cut short by a kill and all
// that is no measurement is dropped.
std::string lines_until(const std::string& text, Index step) {
  std::string kept;
  for (std::size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos;
       start = end + 1) {
    Json line = Json::parse(text.substr(start, end - start), nullptr, false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) continue;
    if (line["step"].get<Index>() <= step) kept += text.substr(start, end + 1 - start);
  }
  return kept;
}

void add_loss(Json& line, const Measures& loss) {
  line["tokens"] = loss.tokens;
  line["kl"] = loss.kl;
  line["smoothed_ce"] = loss.smoothed_ce;
  line["nll"] = loss.nll;
  line["perplexity"] = loss.perplexity();
  if (loss.correct > 0) line["accuracy"] = loss.accuracy();
  if (loss.auxiliary != 0) line["auxiliary"] = loss.auxiliary;
}

}  // namespace

Metrics::Metrics(std::string path, Index from_step) : path_(std::move(path)) {
  if (from_step > 0 && ::access(path_.c_str(), F_OK) == 0)
    write_file_atomically(path_, lines_until(read_file(path_, path_), from_step));
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (from_step == 0 ? O_TRUNC : 0);
  fd_ = ::open(path_.c_str(), flags, 0666);
  if (fd_ < 0) throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
}

Metrics::~Metrics() { ::close(fd_); }

void Metrics::write(const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileError(path_, std::string("cannot write: ") + std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

void Metrics::train(const StepReport& r, const Measures& loss, double tokens_per_second) {
  Json line = {{"type", "train"}, {"step", r.step}, {"epoch", r.epoch}};
  add_loss(line, loss);
  line["lr"] = r.rate;
  line["gradient_norm"] = r.gradient_norm;
  line["tokens_per_second"] = tokens_per_second;
  write(line.dump() + "\n");
}

void Metrics::valid(const ValidationReport& r) {
  if (r.valid.tokens == 0) return;
  Json line = {{"type", "valid"}, {"step", r.step}, {"epoch", r.epoch}};
  add_loss(line, r.valid);
  line["improved"] = r.improved;
  write(line.dump() + "\n");
}

}  // namespace glim
