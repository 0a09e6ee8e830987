// Figures of results as SVG for papers: light, sans-serif, in Okabe and Ito's colours.
#pragma once
#include <string>
#include <vector>

#include "sim/account/report.hpp"

namespace rehearse {

struct FigureRun {
  std::string label;
  double step_s = 0;
  Account account{};
  double capacity_bytes = 0;
  std::vector<MemoryParts> peaks;  // a stage each
};
FigureRun figure_run(const Report& report);
// Of a result of `run --json` that page_part() took.
FigureRun figure_run(const std::string& report_json);

// A stacked bar a run, in seconds.
std::string account_svg(const std::vector<FigureRun>& runs);
// A stacked bar a stage at its peak, in GiB, and the capacity.
std::string memory_peak_svg(const FigureRun& run);
// Each stage's total over time as steps, and the capacity.
std::string memory_svg(const MemoryReport& memory, double step_s);

struct FigurePoint {
  double step_s = 0, peak_bytes = 0;
};
// Points of which no other is faster and smaller; by step.
std::vector<FigurePoint> pareto_front(std::vector<FigurePoint> points);
// Step time x peak memory of layouts with their front; 0 draws no capacity.
std::string pareto_svg(const std::string& title, const std::vector<FigurePoint>& points,
                       double capacity_bytes);

}  // namespace rehearse
