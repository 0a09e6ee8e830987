// Ways through a network whose links are a graph.
#pragma once
#include <optional>

#include "sim/cluster/network.hpp"

namespace rehearse {

// The fewest links from vertex to vertex that are not down. Where several ways are as short, `choice` deals
// them out, fork by fork from the destination back: 0 takes the links that come first. Nothing where there is
// no way.
std::optional<std::vector<LinkId>> shortest_path(const NetworkGraph& graph, int from, int to, int choice,
                                                 const IsDown& is_down);

// The way that a shape's own rule takes where nothing is down; appended.
using Rule = std::function<void(int from, int to, std::vector<LinkId>& links)>;

// Fills in Network::path: `rule` (none: always the shortest) unless a link of it is down, `hop` of latency
// for each link.
void add_paths(Network& network, Rule rule, const IsDown& is_down, Seconds hop);

}  // namespace rehearse
