#include "sim/cluster/graph.hpp"

#include <algorithm>
#include <stdexcept>

namespace rehearse {

std::optional<std::vector<LinkId>> shortest_path(const NetworkGraph& graph, int from, int to, int choice,
                                                 const IsDown& is_down) {
  struct Arrival {
    int before;
    LinkId by;
  };
  std::vector<std::vector<Arrival>> arrivals(graph.vertices);  // the last hops of all shortest paths
  std::vector<int> away(graph.vertices, -1), queue{from};
  std::vector<Hop> hops;
  away[from] = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    const int at = queue[next];
    if (away[to] >= 0 && away[at] >= away[to]) break;
    hops.clear();
    graph.out(at, hops);
    for (const Hop& hop : hops) {
      if (is_down(hop.link)) continue;
      if (away[hop.to] < 0) away[hop.to] = away[at] + 1, queue.push_back(hop.to);
      if (away[hop.to] == away[at] + 1) arrivals[hop.to].push_back({at, hop.link});
    }
  }
  if (away[to] < 0) return {};
  std::vector<LinkId> links;
  for (int at = to; at != from;) {
    const int ways = static_cast<int>(arrivals[at].size());
    const Arrival& arrival = arrivals[at][choice % ways];
    choice /= ways;
    links.push_back(arrival.by);
    at = arrival.before;
  }
  std::reverse(links.begin(), links.end());
  return links;
}

void add_paths(Network& network, Rule rule, const IsDown& is_down, Seconds hop) {
  network.path = [graph = network.graph, rule = std::move(rule), is_down, hop](int from_port, int to_port,
                                                                               std::vector<LinkId>& links) {
    const int from = graph.entry(from_port), to = graph.entry(to_port);
    const auto before = static_cast<std::ptrdiff_t>(links.size());
    if (rule) rule(from, to, links);
    if (!rule || std::any_of(links.begin() + before, links.end(), is_down)) {
      const auto way = shortest_path(graph, from, to, to_port, is_down);
      if (!way) throw std::runtime_error("no way is left from " + graph.name(from) + " to " + graph.name(to));
      links.resize(before);
      links.insert(links.end(), way->begin(), way->end());
    }
    return hop * double(links.size() - before);
  };
}

}  // namespace rehearse
