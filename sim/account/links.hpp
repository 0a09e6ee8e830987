// What each link carried in a step, and for whom.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

struct LinkTraffic {
  Axis axis;
  std::string what;  // "gradients", as the ledger's rows
  int group_size = 1;
  double bytes = 0;  // over one link
};

struct LinkLoad {
  std::string link;                 // "node0.nic3.up": the first of those that are alike
  std::string link_class;           // "NIC up"
  int links = 1;                    // alike, each with this load
  double capacity_bytes_per_s = 0;  // that flows share: line rate x what software reaches of it
  double bytes = 0;                 // of a step, flags of protocols included
  double busy_s = 0;                // that at least one flow was on it
  double mean_share = 0;            // bytes / (capacity x step)
  // The most of hundredths of the step, flows spread evenly over their time; nothing where it is not known.
  std::optional<double> peak_share;
  std::vector<LinkTraffic> traffic;  // most bytes first
};
// Of every link, or of those that stand for links alike; a link that nothing crosses has 0 bytes. In order of
// the links; before them "NVLink out", a GPU's way into its island, which stands for all GPUs: the bytes of
// calibrated collectives and transfers, whose peaks are not known.
std::vector<LinkLoad> link_loads(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline);

struct LinkClassLoad {
  std::string link_class;
  int links = 0, used = 0;
  double capacity_bytes_per_s = 0;           // of the fastest
  double mean_bytes = 0, largest_bytes = 0;  // mean over those that are used
  double busy_share = 0, mean_share = 0;     // mean over those that are used
  std::optional<double> peak_share;          // of the fullest
};
std::vector<LinkClassLoad> link_classes(const std::vector<LinkLoad>& loads, double step);

// By their part of the step's capacity, most first; those that carry nothing, or whose peak is not known,
// left out.
std::vector<LinkLoad> most_loaded(std::vector<LinkLoad> loads, size_t most);

}  // namespace rehearse
