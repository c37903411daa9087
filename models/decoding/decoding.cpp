#include "models/decoding/decoding.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/error.hpp"
#include "tensor/ops/reduce.hpp"
#include "tensor/parallel.hpp"
#include "tensor/portable.hpp"

namespace glim {
namespace {

struct Open {  // a prefix that has not ended
  std::vector<Index> tokens;
  double log_prob = 0;
  Index row = 0;  // the decoder's, among the sentence's
  std::vector<std::vector<double>> attention;
};

struct Candidate {
  double log_prob;
  std::size_t open;  // which prefix
  Index token;
};

// One sentence's search.
struct Beam {
  std::vector<Open> open{1};         // best first
  std::vector<Hypothesis> finished;  // best first, at most n_best
  bool done = false;
};

class Search {
 public:
  Search(StepDecoder& decoder, const std::vector<Index>& limits, const SearchOptions& o)
      : decoder_(decoder), limits_(limits), o_(o), beams_(limits.size()) {}

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<Index> tokens(beams_.size(), o_.bos);
    decoder_.keep_attention(o_.keep_attention);
    while (!tokens.empty()) {
      Tensor logits = decoder_.step(tokens).contiguous();
      if (logits.rank() != 2 || logits.size(0) != std::ssize(tokens))
        throw ShapeError("search",
                         "the decoder has no row of logits for each of " +
                             std::to_string(tokens.size()) + " prefixes",
                         {{"logits", logits}});
      if (std::ssize(never_) != logits.size(1)) mark_never(logits.size(1));
      Tensor attn = o_.keep_attention ? decoder_.attention() : Tensor();
      if (attn.defined()) attn = attn.to(DType::Float64).contiguous();
      weigh(logits);
      Index row = 0;
      std::vector<Index> rows;
      tokens.clear();
      for (std::size_t s = 0; s < beams_.size(); ++s) {
        Beam& beam = beams_[s];
        if (beam.done) continue;
        auto count = static_cast<Index>(beam.open.size());
        advance(beam, limits_[s], row, attn.defined() ? narrow(attn, 0, row, count) : Tensor());
        if (!beam.done) {
          auto first = static_cast<Index>(tokens.size());
          tokens.resize(tokens.size() + beam.open.size());
          for (const Open& o : beam.open) tokens[first + o.row] = o.tokens.back();
          for (Index origin : origin_) rows.push_back(row + origin);
        }
        row += count;
      }
      if (!rows.empty()) decoder_.select_rows(rows);
    }
    std::vector<std::vector<Hypothesis>> result;
    for (Beam& b : beams_) result.push_back(std::move(b.finished));
    return result;
  }

 private:
  // Continues every open prefix of a sentence by one token, as weighed from `row` on; place sets origin_.
  void advance(Beam& beam, Index limit, Index row, const Tensor& attention) {
    std::size_t width = o_.beam;
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < beam.open.size(); ++i) {
      const auto& [ended, candidates, broken] = continuations_[row + beam.open[i].row];
      if (broken) throw NonFiniteError("search", "a logit is not a number, or infinite");
      for (const Candidate& c : candidates) all.push_back({c.log_prob, i, c.token});
      if (ended > kNever) {
        // Greedy search ends where END is the likeliest token; a beam keeps every ending.
        bool likeliest = candidates.empty() || ended >= candidates.front().log_prob;
        if (o_.beam > 1 || likeliest) {
          finish(beam, beam.open[i], ended, true, attention_of(attention, beam.open[i].row));
          if (o_.beam == 1) {
            beam.done = true;
            return;
          }
        }
      }
    }
    if (all.empty() && beam.finished.empty())
      throw NonFiniteError("search", "no token has a finite log-probability");
    std::sort(all.begin(), all.end(), before);
    if (all.size() > width) all.resize(width);
    std::vector<Open> next;
    for (const Candidate& c : all) {
      Open o = beam.open[c.open];
      o.tokens.push_back(c.token);
      o.log_prob = c.log_prob;
      if (attention.defined()) o.attention.push_back(attention_of(attention, o.row));
      next.push_back(std::move(o));
    }
    place(next, beam.open.size());
    beam.open = std::move(next);
    auto length = beam.open.empty() ? limit : static_cast<Index>(beam.open[0].tokens.size());
    bool full = std::ssize(beam.finished) == o_.n_best;
    if (length >= limit) {  // no room for END after this token: cut
      for (const Open& o : beam.open) finish(beam, o, o.log_prob, false, {});
      beam.done = true;
    } else if (beam.open.empty() || (full && bound(beam.open[0].log_prob, length, limit) <=
                                                 beam.finished.back().score)) {
      beam.done = true;
    }
  }

  // Assigns a row of the decoder to each continuation. While their number stays, the best continuation of a prefix keeps
  // the prefix's row, so that the decoder need not move its state. The others take the rows of prefixes that end.
  // origin_[r] is the row that r is copied from.
  void place(std::vector<Open>& next, std::size_t rows_before) {
    origin_.assign(next.size(), -1);
    std::vector<Open*> waiting;
    for (Open& o : next) {
      std::size_t row = o.row;
      if (next.size() == rows_before && origin_[row] < 0)
        origin_[row] = o.row;
      else
        waiting.push_back(&o);
    }
    Index row = 0;
    for (Open* o : waiting) {
      while (origin_[row] >= 0) ++row;
      origin_[row] = o->row;
      o->row = row;
    }
  }

  void finish(Beam& beam, const Open& open, double log_prob, bool ended,
              std::vector<double> last_attention) {
    const Index length = std::ssize(open.tokens) + (ended ? 1 : 0);
    Hypothesis h{.tokens = open.tokens,
                 .log_prob = log_prob,
                 .score = log_prob / length_penalty(length, o_.length_penalty),
                 .finished = ended,
                 .attention = open.attention};
    if (ended && !last_attention.empty()) h.attention.push_back(std::move(last_attention));
    auto better = [this](const Hypothesis& a, const Hypothesis& b) {
      return o_.ended_first && a.finished != b.finished ? a.finished : a.score > b.score;
    };
    auto position = std::upper_bound(beam.finished.begin(), beam.finished.end(), h, better);
    beam.finished.insert(position, std::move(h));
    if (std::ssize(beam.finished) > o_.n_best) beam.finished.pop_back();
  }

  // The best that an open prefix with this log-probability can still become.
  double bound(double log_prob, Index length, Index limit) const {
    return std::max(log_prob / length_penalty(length + 1, o_.length_penalty),
                    log_prob / length_penalty(limit, o_.length_penalty));
  }

  std::vector<double> attention_of(const Tensor& attention, Index row) const {
    if (!attention.defined()) return {};
    return select(attention, 0, row).to_vector<double>();
  }

  // ---- the tokens that may follow ----

  // The tokens that may follow a prefix: END's log-probability (kNever where it may not), and the best others.
  struct Continuations {
    double end = kNever;
    std::vector<Candidate> best;  // best first
    bool broken = false;          // a logit is NaN or +∞
  };

  // continuations_[row] for every open prefix of every sentence: of each, only END and its best
  // `beam` other tokens can matter.
  void weigh(const Tensor& logits) {
    std::vector<double> log_probs;  // the prefixes', by row
    for (const Beam& beam : beams_) {
      if (beam.done) continue;
      std::size_t first = log_probs.size();
      log_probs.resize(first + beam.open.size());
      for (const Open& o : beam.open) log_probs[first + o.row] = o.log_prob;
    }
    continuations_.resize(log_probs.size());
    Index classes = logits.size(1);
    visit_floating(logits.dtype(), [&]<class T>() {
      const T* first = logits.data<T>();
      parallel_for(static_cast<Index>(log_probs.size()),
                   std::max<Index>(1, 8192 / std::max<Index>(1, classes)),
                   [&](Index begin, Index end) {
                     std::vector<T> tops;
                     for (Index r = begin; r < end; ++r) {
                       const T* row = first + r * classes;
                       Continuations& c = continuations_[r];
                       double base = log_probs[r] - log_total(row, tops);
                       c.broken = std::isnan(base);
                       best_of(row, tops, base, c.best);
                       c.end = may_end_ ? base + static_cast<double>(row[o_.eos]) : kNever;
                     }
                   });
    });
  }

  // ln Σ_v exp(row[v]), NaN where the row has a NaN or +∞; tops[i]: the largest of each stretch.
  template <class T>
  double log_total(const T* row, std::vector<T>& tops) const {
    tops.clear();
    for (std::size_t begin = 0; begin < never_.size(); begin += kStretch)
      tops.push_back(
          largest_of(row + begin, static_cast<Index>(std::min(kStretch, never_.size() - begin))));
    T top = largest_of(tops.data(), static_cast<Index>(tops.size()));
    if (top == static_cast<T>(kNever)) top = 0;  // for a row of -∞ alone
    return log_total_of(row, static_cast<Index>(never_.size()), top);
  }

  // The best continuations of a prefix, token v having base + row[v]: tokens come in order, so of
  // equal ones the first stays.
  template <class T>
  void best_of(const T* row, const std::vector<T>& tops, double base,
               std::vector<Candidate>& best) const {
    const std::size_t width = o_.beam;
    best.clear();
    double least = kNever;
    for (std::size_t stretch = 0; stretch < tops.size(); ++stretch) {
      if (!(base + static_cast<double>(tops[stretch]) > least)) continue;
      std::size_t begin = stretch * kStretch, end = std::min(begin + kStretch, never_.size());
      for (std::size_t v = begin; v < end; ++v) {
        double total = base + static_cast<double>(row[v]);
        if (!(total > least) || never_[v]) continue;
        Candidate c{total, 0, static_cast<Index>(v)};
        best.insert(std::upper_bound(best.begin(), best.end(), c, before), c);
        if (best.size() > width) best.pop_back();
        if (best.size() == width) least = best.back().log_prob;
      }
    }
  }

  static bool before(const Candidate& a, const Candidate& b) {
    if (a.log_prob != b.log_prob) return a.log_prob > b.log_prob;
    if (a.open != b.open) return a.open < b.open;
    return a.token < b.token;
  }

  static constexpr std::size_t kStretch = 256;  // tokens passed over together

  // Tokens that no prefix is continued by: END is weighed on its own.
  void mark_never(Index classes) {
    never_.assign(classes, 0);
    for (Index token : o_.never)
      if (token >= 0 && token < classes) never_[token] = 1;
    may_end_ = o_.eos >= 0 && o_.eos < classes && !std::exchange(never_[o_.eos], 1);
  }

  StepDecoder& decoder_;
  const std::vector<Index>& limits_;
  const SearchOptions& o_;
  std::vector<Beam> beams_;
  std::vector<Index> origin_;
  std::vector<char> never_;                   // by token
  std::vector<Continuations> continuations_;  // by row of the step
  bool may_end_ = false;
};

}  // namespace

double length_penalty(Index length, double alpha) {
  return portable::pow((5 + static_cast<double>(length)) / 6, alpha);
}

void check_search(const std::vector<Index>& limits, const SearchOptions& options) {
  if (options.beam < 1 || options.beam > 1000) throw ValueError("search", "a beam is 1 to 1000");
  if (options.n_best < 1 || options.n_best > options.beam)
    throw ValueError("search", "n-best " + std::to_string(options.n_best) +
                                   " is outside 1 to the beam's " + std::to_string(options.beam));
  if (!std::isfinite(options.length_penalty))
    throw ValueError("search", "the length penalty must be finite");
  for (Index limit : limits)
    if (limit < 1) throw ValueError("search", "an output limit is below 1");
}

std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const std::vector<Index>& limits,
                                            const SearchOptions& options) {
  check_search(limits, options);
  return Search(decoder, limits, options).run();
}

}  // namespace glim
