// When the actions of a schedule have ended, and when what they need from elsewhere is there; internal to
// sim/schedule.
#pragma once
#include <algorithm>
#include <limits>

#include "sim/schedule/schedule.hpp"

namespace rehearse {

class Arrivals {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // `transfer`: s, from one stage to another.
  Arrivals(const PipelineShape& shape, double transfer)
      : micro_batches_(size_t(shape.micro_batches)), transfer_(transfer) {
    for (int c = 0; c < chunk_count(shape); ++c) {
      stage_.push_back(stage_of(ChunkId(c), shape).value);
      first_.push_back(first_of_path(ChunkId(c), shape));
      last_.push_back(last_of_path(ChunkId(c), shape));
    }
    forward_.resize(stage_.size() * micro_batches_);
    gradient_.resize(forward_.size());
    clear();
  }

  void clear() {
    std::fill(forward_.begin(), forward_.end(), kNever);
    std::fill(gradient_.begin(), gradient_.end(), kNever);
  }
  void ended(const Action& a, double end) {
    if (a.kind == ActionKind::weight_gradient) return;
    (a.kind == ActionKind::forward ? forward_ : gradient_)[slot(a.chunk.value, a.micro)] = end;
  }
  // kNever where what it needs has not ended; 0 where it needs nothing.
  double ready(const Action& a) const {
    const int c = a.chunk.value;
    if (a.kind == ActionKind::forward)
      return first_[size_t(c)] ? 0 : arrival(forward_[slot(c - 1, a.micro)], c - 1, c);
    if (a.kind == ActionKind::weight_gradient) return gradient_[slot(c, a.micro)];
    return last_[size_t(c)] ? forward_[slot(c, a.micro)] : arrival(gradient_[slot(c + 1, a.micro)], c + 1, c);
  }

 private:
  size_t slot(int chunk, MicroBatch micro) const {
    return size_t(chunk) * micro_batches_ + size_t(micro.value);
  }
  double arrival(double end, int from, int to) const {
    return end + (stage_[size_t(from)] == stage_[size_t(to)] ? 0 : transfer_);
  }

  size_t micro_batches_;
  double transfer_;
  std::vector<int> stage_;                  // [chunk]
  std::vector<bool> first_, last_;          // [chunk]: of the row that micro-batches pass through
  std::vector<double> forward_, gradient_;  // [slot]: end of F; of B or I
};

}  // namespace rehearse
