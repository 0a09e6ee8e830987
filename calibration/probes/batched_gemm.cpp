// Batched GEMMs as unfused attention runs them: scores (s x s over the head size) and values (s x head size
// over s), forward and for the gradients.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

std::vector<Point> batched_points(const Wanted& wanted) {
  const bool small = is_small(wanted);
  std::vector<Point> points;
  for (const DType type : wanted.dtypes) {
    if (type == DType::fp8) continue;
    const double of_type = type == main_type(wanted) ? 1 : 0.2;
    for (const Size& sequence : small ? sizes(32, 1024) : sizes(256, 8192))
      for (const Size& head : {Size{128, 1}, {64, 0.8}, {80, 0.2}, {96, 0.3}, {160, 0.1}, {192, 0.1}})
        for (const Size& batch : small ? sizes(2, 32) : sizes(4, 256)) {
          const double worth = of_type * sequence.worth * head.worth * batch.worth;
          if (worth < 0.02 * of_type) continue;
          const auto s = double(sequence.size), h = double(head.size), b = double(batch.size);
          for (const GemmRole role : {GemmRole::forward, GemmRole::input_gradient}) {
            add(points, wanted, GemmCall{type, role, {s, s, h, b}}, worth);
            add(points, wanted, GemmCall{type, role, {s, h, s, b}}, worth);
          }
        }
  }
  return ranked(std::move(points), 0.07);
}

}  // namespace

const Probe kBatchedGemmProbe{"batched_gemm", "batched GEMMs of unfused attention", batched_points,
                              cannot_run, run_point};

}  // namespace rehearse::calibration
