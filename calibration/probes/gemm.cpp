// GEMMs of linear layers: tokens x features in, out; three roles, the weight gradient adding to fp32 or not.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

double worth_of(DType type, const Wanted& wanted) {
  if (type == main_type(wanted)) return 1;
  return type == DType::fp8 ? 0.5 : type == DType::fp32 ? 0.1 : 0.2;
}

// The three GEMMs of a layer with `in` and `out` features on so many tokens.
void add_layer(std::vector<Point>& points, const Wanted& wanted, DType type, double tokens, double in,
               double out, double worth) {
  const auto put = [&](GemmRole role, GemmShape shape, bool accumulate, double share) {
    add(points, wanted, GemmCall{type, role, shape, accumulate}, worth * share);
  };
  put(GemmRole::forward, {tokens, out, in}, false, 1);
  put(GemmRole::input_gradient, {tokens, in, out}, false, 0.9);
  put(GemmRole::weight_gradient, {out, in, tokens}, true, 0.8);
  put(GemmRole::weight_gradient, {out, in, tokens}, false, 0.3);
}

std::vector<Point> gemm_points(const Wanted& wanted) {
  const bool small = is_small(wanted);
  const auto tokens = small ? sizes(32, 4096) : sizes(128, 32768);
  const auto features = small ? sizes(32, 4096) : sizes(128, 32768);
  std::vector<Point> points;
  for (const DType type : wanted.dtypes)
    for (const Size& t : tokens)
      for (const Size& in : features)
        for (const Size& out : features) {
          const double worth = worth_of(type, wanted) * t.worth * in.worth * out.worth;
          if (worth < 0.01 * worth_of(type, wanted)) continue;  // not all dimensions between powers of 2
          add_layer(points, wanted, type, double(t.size), double(in.size), double(out.size), worth);
        }
  // Decoding and the step after a tile: few tokens, and one more than whole tiles.
  for (const double t : {1.0, 8.0, 64.0, 129.0, 2049.0})
    for (const double width : {1024.0, 4096.0, 8192.0})
      add(points, wanted, GemmCall{main_type(wanted), GemmRole::forward, {t, width, width}}, 0.05);
  // Heads of a language model.
  for (const double vocabulary : {32000.0, 50304.0, 128256.0})
    for (const double width : {2048.0, 4096.0, 8192.0})
      for (const double tp : {1.0, 8.0})
        add_layer(points, wanted, main_type(wanted), 4096, width, vocabulary / tp, 0.15);
  return ranked(std::move(points), 0.4);
}

}  // namespace

const Probe kGemmProbe{"gemm", "GEMMs of linear layers: forward, input and weight gradient", gemm_points,
                       cannot_run, run_point};

}  // namespace rehearse::calibration
