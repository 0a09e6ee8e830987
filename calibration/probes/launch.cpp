// Empty kernels: what a launch costs the device and the host, issued one by one and replayed from a graph.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

std::vector<Point> launch_points(const Wanted&) {
  return ranked({{LaunchCall{false}, 1, 0.5}, {LaunchCall{true}, 0.9, 0.5}}, 1);
}

}  // namespace

const Probe kLaunchProbe{"launch", "empty kernels, one by one and from a graph", launch_points, cannot_run,
                         run_point};

}  // namespace rehearse::calibration
