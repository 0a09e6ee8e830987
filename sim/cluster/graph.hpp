// Ways through a network whose links are a graph.
#pragma once
#include <optional>

#include "sim/cluster/network.hpp"

namespace rehearse {

// The fewest links from vertex to vertex that are not down; of equally few, at the first fork the link of the
// lowest number. Nothing where there is no way.
std::optional<std::vector<LinkId>> shortest_path(const NetworkGraph& graph, int from, int to,
                                                 const IsDown& is_down);

// The way that a shape's own rule takes where nothing is down; appended.
using Rule = std::function<void(int from, int to, std::vector<LinkId>& links)>;

// Fills in Network::path: `rule` (none: always the shortest) unless a link of it is down, `hop` of latency
// for each link.
void add_paths(Network& network, Rule rule, const IsDown& is_down, Seconds hop);

}  // namespace rehearse
