#include "tools/common/processes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"
#include "tools/common/output.hpp"
#if GLIM_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace glim {
namespace {

Processes the_world;
#if GLIM_MPI
bool exchanging = false;  // between MPI_Init and MPI_Finalize
#endif
constexpr auto kFirstTells = std::chrono::seconds(2);
bool all_end = false;  // together() has failed: the others know

// The first of the variables that is set, as a number; -1 where none is.
Index first_set(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoll(text);
  return -1;
}

// The launcher says how many processes there are, and which is this one.
Index launched() {
  Index size = first_set({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  // srun --mpi=pmix gives no size of its own.
  if (size < 0 && std::getenv("PMIX_RANK")) size = first_set({"SLURM_STEP_NUM_TASKS"});
  return std::max<Index>(size, 1);
}
Index launched_rank() {
  return std::max<Index>(first_set({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}), 0);
}

// The others wait, so that the launcher does not end them all before one has said why.
[[noreturn]] void refuse_launch(const std::string& problem) {
  if (launched_rank() > 0) {
    std::this_thread::sleep_for(kFirstTells);
    throw Exit(1);
  }
  throw ValueError("processes", fmt::format("{} were started, but {} (tools/train/processes.md)",
                                            launched(), problem));
}

#if GLIM_MPI
// Bytes to the partner, and as many or others from it.
void exchange(int partner, const void* out, std::size_t out_bytes, void* in, std::size_t in_bytes) {
  MPI_Sendrecv(out, static_cast<int>(out_bytes), MPI_BYTE, partner, 0, in,
               static_cast<int>(in_bytes), MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

constexpr Index kMessage = 1 << 20;  // elements: a message is added while it is in the cache

struct Slice {
  Index begin, end;
  Index size() const { return end - begin; }
};

// f(place in a, place in b, elements) for the messages that carry one range while the other comes.
template <class F>
void by_messages(Slice a, Slice b, const F& f) {
  for (Index offset = 0; offset < std::max(a.size(), b.size()); offset += kMessage)
    f(Slice{std::min(a.begin + offset, a.end), std::min(a.begin + offset + kMessage, a.end)},
      Slice{std::min(b.begin + offset, b.end), std::min(b.begin + offset + kMessage, b.end)});
}

template <class T>
void sum_in_tree(T* x, Index n, Index rank, Index size) {
  auto bytes = [](Slice r) { return static_cast<std::size_t>(r.size()) * sizeof(T); };
  std::vector<T> incoming(static_cast<std::size_t>(std::min(kMessage, n)));
  std::vector<Slice> ranges{{0, n}};  // the range summed here, halved level by level
  for (Index distance = 1; distance < size; distance *= 2) {
    const auto [begin, end] = ranges.back();
    const Slice low{begin, begin + (end - begin) / 2}, high{low.end, end};
    const bool upper = (rank & distance) != 0;
    const Slice mine = upper ? high : low, theirs = upper ? low : high;
    by_messages(mine, theirs, [&](Slice in, Slice out) {
      exchange(static_cast<int>(rank ^ distance), x + out.begin, bytes(out), incoming.data(),
               bytes(in));
      parallel_for(in.size(), 1 << 14, [&](Index base, Index top) {
        for (Index i = base; i < top; ++i) x[in.begin + i] += incoming[static_cast<std::size_t>(i)];
      });
    });
    ranges.push_back(mine);
  }
  for (Index distance = size / 2; distance > 0; distance /= 2) {
    const Slice mine = ranges.back();
    ranges.pop_back();
    const bool upper = (rank & distance) != 0;
    const Slice theirs =
        upper ? Slice{ranges.back().begin, mine.begin} : Slice{mine.end, ranges.back().end};
    by_messages(theirs, mine, [&](Slice in, Slice out) {
      exchange(static_cast<int>(rank ^ distance), x + out.begin, bytes(out), x + in.begin,
               bytes(in));
    });
  }
}
#endif

}  // namespace

const Processes& Processes::world() { return the_world; }

void Processes::start() {
  if (launched() == 1) return;
#if GLIM_MPI
  int size = 1, rank = 0, provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  exchanging = true;
  if (size != launched())
    refuse_launch(
        "this program's MPI library does not find them: start it with the mpirun of that library");
  the_world.size_ = size;
  the_world.rank_ = rank;
#else
  refuse_launch("this build has no MPI: build it with -Dmpi=enabled");
#endif
}

void Processes::finish() {
#if GLIM_MPI
  if (std::exchange(exchanging, false)) MPI_Finalize();
#endif
}

void Processes::abort([[maybe_unused]] int status) {
#if GLIM_MPI
  if (all_end) return finish();
  if (exchanging) MPI_Abort(MPI_COMM_WORLD, status);
#endif
}

void Processes::together(FunctionRef<void()> work) const {
  if (size_ == 1) return work();
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  const std::vector<char> failed = gather(std::vector<char>{error != nullptr});
  const auto failure = std::find(failed.begin(), failed.end(), true);
  if (failure == failed.end()) return;
  all_end = true;
  if (failure - failed.begin() == rank_) std::rethrow_exception(error);
  throw Exit(1);
}

void Processes::report_on_rank0() {
  if (!world().first() && !all_end) std::this_thread::sleep_for(kFirstTells);
}

bool Processes::any(bool value) const {
  if (size_ == 1) return value;
  const std::vector<char> all = gather(std::vector<char>{value});
  return std::find(all.begin(), all.end(), true) != all.end();
}

void Processes::gather_bytes(const void* part, void* all, std::size_t bytes) const {
  if (size_ == 1) {
    if (bytes > 0) std::memcpy(all, part, bytes);
    return;
  }
#if GLIM_MPI
  MPI_Allgather(part, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE,
                MPI_COMM_WORLD);
#endif
}

void Processes::sum([[maybe_unused]] const std::vector<Tensor>& tensors) const {
  if (size_ == 1 || tensors.empty()) return;
#if GLIM_MPI
  Index n = 0;
  for (const Tensor& t : tensors) n += t.numel();
  const DType dtype = tensors.front().dtype();
  visit_floating(dtype, [&]<class T>() {
    Tensor whole = empty({n}, dtype);
    T* cursor = whole.data<T>();
    for (const Tensor& t : tensors) cursor = std::copy_n(t.data<T>(), t.numel(), cursor);
    sum_in_tree(whole.data<T>(), n, rank_, size_);
    cursor = whole.data<T>();
    for (const Tensor& t : tensors) {
      std::copy_n(cursor, t.numel(), t.data<T>());
      cursor += t.numel();
    }
  });
#endif
}

}  // namespace glim
