// Figures as SVG: what is drawn is to scale, and names are text.
#include "sim/view/figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Widths of the rectangles of a colour.
std::vector<double> widths(const std::string& svg, const std::string& colour) {
  std::vector<double> found;
  const std::regex rectangle("<rect x=\"[^\"]*\" y=\"[^\"]*\" width=\"([0-9.]+)\" height=\"[^\"]*\" fill=\"" +
                             colour + "\"><title>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), rectangle), end; at != end; ++at)
    found.push_back(std::stod((*at)[1]));
  return found;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

FigureRun run_of(const std::string& label, double compute, double bubble) {
  FigureRun run{.label = label, .step_s = compute + bubble, .capacity_bytes = 80 * kGibi};
  run.account[size_t(Part::compute)] = compute;
  run.account[size_t(Part::bubble)] = bubble;
  run.peaks = {{.weights = 20 * kGibi, .activations = 40 * kGibi}, {.weights = 20 * kGibi}};
  return run;
}

TEST(AccountSvg, BarsAreAsLongAsTheirSeconds) {
  const std::string svg = account_svg({run_of("a", 6, 2), run_of("b", 3, 1)});
  const auto compute = widths(svg, "#0072B2"), bubble = widths(svg, "#9AA0A6");
  ASSERT_EQ(compute.size(), 2U);
  ASSERT_EQ(bubble.size(), 2U);
  EXPECT_NEAR(compute[0] / bubble[0], 3, 0.01);
  EXPECT_NEAR(compute[0] / compute[1], 2, 0.01);
  EXPECT_THAT(svg, HasSubstr(">75.0 %<"));
  EXPECT_THAT(svg, Not(HasSubstr("exposed")));  // what no run has is not in the legend
}

TEST(AccountSvg, NamesAreText) {
  const std::string svg = account_svg({run_of("<script>\"&\x01\xff", 1, 1)});
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&quot;&amp;??"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(MemoryPeakSvg, PartsOfAStageAreToScale) {
  const std::string svg = memory_peak_svg(run_of("a", 1, 1));
  const auto weights = widths(svg, "#0072B2"), activations = widths(svg, "#E69F00");
  ASSERT_EQ(weights.size(), 2U);
  ASSERT_EQ(activations.size(), 1U);
  EXPECT_NEAR(activations[0] / weights[0], 2, 0.01);
  EXPECT_THAT(svg, HasSubstr("capacity 80 GiB"));
}

TEST(MemorySvg, AStageIsALineOfSteps) {
  MemoryReport memory{.fits = true, .capacity_bytes = 80 * kGibi, .peak_bytes = 30 * kGibi};
  const MemoryParts low{.weights = 20 * kGibi}, high{.weights = 20 * kGibi, .activations = 10 * kGibi};
  memory.stages = {{StageId(0), 1, high, {{0, low}, {1, high}, {2, low}}}, {StageId(1), 0, low, {{0, low}}}};
  const std::string svg = memory_svg(memory, 4);
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      svg, found,
      std::regex("d=\"M([0-9.]+) ([0-9.]+) H([0-9.]+) V([0-9.]+) H([0-9.]+) V([0-9.]+) H([0-9.]+)\"")));
  const auto number = [&](int i) { return std::stod(found[size_t(i)]); };
  EXPECT_NEAR(number(3) - number(1), number(5) - number(3), 0.02);        // a second each
  EXPECT_NEAR(number(7) - number(5), 2 * (number(5) - number(3)), 0.03);  // and two to the end
  EXPECT_LT(number(4), number(2));                                        // more is further up
  EXPECT_EQ(number(6), number(2));
}

TEST(ParetoFront, HoldsWhatNothingBeats) {
  const auto front = pareto_front({{3, 1}, {1, 5}, {2, 5}, {2, 2}, {1, 6}, {4, 1}, {2, 3}});
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[0].step_s, 1);
  EXPECT_EQ(front[0].peak_bytes, 5);
  EXPECT_EQ(front[1].peak_bytes, 2);
  EXPECT_EQ(front[2].step_s, 3);
  EXPECT_TRUE(pareto_front({}).empty());
}

TEST(ParetoSvg, DrawsEveryPointAndTheFrontAgain) {
  const std::string svg = pareto_svg("<t>", {{3, 1e9}, {1, 5e9}, {2, 6e9}}, 8e9);
  EXPECT_EQ(count(svg, "<circle"), 3U + 2U);
  EXPECT_THAT(svg, HasSubstr("&lt;t&gt;"));
  for (const auto& one : {std::vector<FigurePoint>{}, {{2, 2e9}}}) {
    const std::string few = pareto_svg("t", one, 0);
    EXPECT_THAT(few, Not(HasSubstr("nan")));
    EXPECT_THAT(few, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace rehearse
