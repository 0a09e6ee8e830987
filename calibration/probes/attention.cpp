// Fused attention, forward and backward, causal and not, with fewer key-value heads and without.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

std::vector<Point> attention_points(const Wanted& wanted) {
  const bool small = is_small(wanted);
  std::vector<Point> points;
  for (const DType type : wanted.dtypes) {
    if (type == DType::fp8 || type == DType::tf32) continue;
    const double of_type = type == main_type(wanted) ? 1 : 0.1;
    for (const Size& sequence : small ? sizes(32, 2048) : sizes(256, 65536))
      for (const Size& head : {Size{128, 1}, {64, 0.6}, {96, 0.1}})
        for (const Size& heads : small ? sizes(2, 16) : sizes(4, 64))
          for (const double share : {1.0, 4.0, 8.0})
            for (const double batch : {1.0, 2.0, 4.0})
              for (const bool causal : {true, false}) {
                const double worth = of_type * sequence.worth * head.worth * heads.worth *
                                     (share == 1 ? 1 : 0.4) * (batch == 1 ? 1 : 0.4) * (causal ? 1 : 0.15);
                const auto all = double(heads.size);
                if (worth < 0.01 * of_type || all / share < 1 || int(all) % int(share) != 0) continue;
                const AttentionShape shape{batch,       double(sequence.size), all,
                                           all / share, double(head.size),     causal};
                add(points, wanted, AttentionCall{type, false, shape}, worth);
                add(points, wanted, AttentionCall{type, true, shape}, 0.95 * worth);
              }
  }
  return ranked(std::move(points), 0.12);
}

}  // namespace

const Probe kAttentionProbe{"attention", "fused attention, forward and backward", attention_points,
                            cannot_run, run_point};

}  // namespace rehearse::calibration
