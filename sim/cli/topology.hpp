// What `rehearse topology` shows of a network.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/bisection.hpp"

namespace rehearse {

struct ShownPath {
  std::string between;   // "over one leaf"
  int from = 0, to = 0;  // GPUs
  BytesPerSec rate;      // of the narrowest link; 0: NVLink, whose rate the profile has
  Seconds latency;
  std::vector<LinkId> links;
};
// Throws std::runtime_error where no way is left.
ShownPath path_between(const Fabric& fabric, int from, int to);
// From the first GPU to the first GPU of each kind of place; where there are many, the nearest and the last.
std::vector<ShownPath> representative_paths(const Fabric& fabric);

struct TopologyView {
  Fabric fabric;
  bool nodes_presumed = false;
  Bisection bisection;
  std::vector<ShownPath> pairs;
  std::optional<ShownPath> path;  // the one that was asked for
};
std::string to_table(const TopologyView& view);
std::string to_json(const TopologyView& view);

}  // namespace rehearse
