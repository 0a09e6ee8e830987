// Bubble rates of Qi et al. 2023, "Zero bubble pipeline parallelism", from the stage times that they print.
#include "sim/base/error.hpp"
#include "tests/oracle/pipeline_replay.hpp"

namespace rehearse {
namespace {

// Tables 5 and 9 (arXiv 2401.10241): profiled times of one micro-batch on one stage, and rates that the
// authors computed from them.
struct Profiled {
  int stages, micro_batches;
  StageCosts costs;  // ms
  double one_f_one_b, interleaved, h1, h2, one_p, two_p;
};
constexpr Profiled kProfiled[] = {
    {8, 24, {18.522, 18.086, 9.337, 0.601}, 0.2431, 0.1055, 0.1585, 0.1083, 0.1585, 0.0433},
    {8, 32, {18.513, 18.086, 9.331, 0.626}, 0.1985, 0.0818, 0.1242, 0.0837, 0.1242, 0.0039},
    {8, 64, {18.546, 18.097, 9.321, 0.762}, 0.1240, 0.0443, 0.0674, 0.0444, 0.0674, 0.0026},
    {16, 48, {11.347, 11.248, 8.132, 0.377}, 0.2552, 0.1104, 0.1397, 0.0672, 0.1397, 0.0066},
    {16, 64, {11.307, 11.254, 8.101, 0.379}, 0.2082, 0.0852, 0.1088, 0.0516, 0.1088, 0.0054},
    {16, 128, {11.325, 11.308, 8.109, 0.378}, 0.1251, 0.0445, 0.0576, 0.0266, 0.0576, 0.0028},
};

Engine ideal() {
  for (const auto& row : engine_table())
    if (std::string_view(row.name) == "ideal") return row.value;
  throw std::runtime_error("no such engine");
}

double bubble(const char* name, PipelineShape shape, const StageCosts& costs) {
  shape.placement = schedule_kind(name).placement;
  const auto schedule = build_schedule(name, shape, {.costs = schedule_costs(shape, costs)});
  return replay(schedule, costs, ideal()).bubble_fraction;
}

TEST(ZeroBubbleRates, OfTheHandMadeSchedules) {
  for (const auto& row : kProfiled) {
    const PipelineShape shape{row.stages, row.micro_batches, 1}, three{row.stages, row.micro_batches, 3};
    EXPECT_NEAR(bubble("1f1b", shape, row.costs), row.one_f_one_b, 0.00006);
    EXPECT_NEAR(bubble("zb-h1", shape, row.costs), row.h1, 0.00006);
    EXPECT_NEAR(bubble("zb-h2", shape, row.costs), row.h2, 0.00006);
    // Chunks of one layer; the authors let only the first micro-batch of p pay for the way from the last
    // stage to the first, so theirs are a little lower.
    const double interleaved = bubble("interleaved", three, row.costs);
    EXPECT_GT(interleaved, row.interleaved);
    EXPECT_LT(interleaved, row.interleaved + 0.005);
  }
}

TEST(ZeroBubbleRates, OfTheSearchedSchedules) {
  for (const auto& row : kProfiled) {
    const PipelineShape shape{row.stages, row.micro_batches, 1};
    EXPECT_LT(bubble("zb-1p", shape, row.costs), row.one_p + 0.005) << row.stages << " " << row.micro_batches;
    EXPECT_LT(bubble("zb-2p", shape, row.costs), row.two_p + 0.005) << row.stages << " " << row.micro_batches;
  }
}

// (p - 1)(F + B - W) + 4 (p - 1) c idle for H1 and (p - 1)(F + B - 2W) + 2 (p - 1) c for H2 (section 2, with
// transfers), as long as W fits into the gaps.
TEST(ZeroBubbleRates, ClosedForms) {
  for (const auto& row : kProfiled) {
    const double p = row.stages, m = row.micro_batches, f = row.costs.forward, b = row.costs.backward,
                 w = row.costs.weight, c = row.costs.transfer, ideal = m * (f + b + w);
    const PipelineShape shape{row.stages, row.micro_batches, 1};
    const double h1 = (p - 1) * (f + b - w + 4 * c), h2 = (p - 1) * (f + b - 2 * w + 2 * c);
    EXPECT_NEAR(bubble("zb-h1", shape, row.costs), h1 / (ideal + h1), 1e-9);
    EXPECT_NEAR(bubble("zb-h2", shape, row.costs), h2 / (ideal + h2), 1e-9);
  }
}

// Table 8: the times behind these rates are not printed; those used here, with F + B + W = 1 and F = B, are
// what the closed forms of 1F1B, H1 and H2 make of three of the rates. The fourth to explain is ZB-V's.
struct Printed {
  int stages, micro_batches;
  StageCosts costs;
  bool v_is_lower;  // than H2
  double one_f_one_b, interleaved, h1, h2, v;
};
constexpr StageCosts k62{0.3743, 0.3742, 0.2515, 0.0209}, k146{0.3617, 0.3617, 0.2766, 0.0199};
constexpr Printed kPrinted[] = {
    {16, 48, k62, true, 0.2668, 0.1499, 0.1536, 0.0823, 0.0697},
    {16, 64, k62, true, 0.2206, 0.1169, 0.1198, 0.0630, 0.0533},
    {16, 128, k62, true, 0.1390, 0.0621, 0.0637, 0.0325, 0.0274},
    {24, 72, k146, false, 0.2699, 0.1519, 0.1439, 0.0628, 0.0638},
    {24, 96, k146, false, 0.2229, 0.1184, 0.1121, 0.0480, 0.0483},
    {24, 192, k146, false, 0.1403, 0.0630, 0.0595, 0.0247, 0.0250},
};

TEST(ZeroBubbleRates, OrderOfTheVSchedules) {
  for (const auto& row : kPrinted) {
    SCOPED_TRACE(std::to_string(row.stages) + " x " + std::to_string(row.micro_batches));
    const PipelineShape one{row.stages, row.micro_batches, 1}, two{row.stages, row.micro_batches, 2};
    const double plain = bubble("1f1b", one, row.costs), loop = bubble("interleaved", two, row.costs),
                 h1 = bubble("zb-h1", one, row.costs), h2 = bubble("zb-h2", one, row.costs),
                 v = bubble("zb-v", two, row.costs);
    EXPECT_NEAR(plain, row.one_f_one_b, 0.005);
    EXPECT_NEAR(h1, row.h1, 0.005);
    EXPECT_NEAR(h2, row.h2, 0.005);
    EXPECT_NEAR(v, row.v, 0.005);
    EXPECT_NEAR(loop, row.interleaved, 0.0051);
    EXPECT_GT(plain, std::max(loop, h1));
    EXPECT_GT(std::min(loop, h1), std::max(h2, v));
    EXPECT_EQ(v < h2, row.v_is_lower);
    if (!row.v_is_lower) {  // in the other rows the two are too close (see above)
      EXPECT_GT(loop, h1);
    }
  }
}

}  // namespace
}  // namespace rehearse
