#include "sim/cluster/graph.hpp"

#include <algorithm>
#include <stdexcept>

namespace rehearse {

std::optional<std::vector<LinkId>> shortest_path(const NetworkGraph& graph, int from, int to,
                                                 const IsDown& is_down) {
  // In breadth first order the first way found to a vertex is also the first of its length.
  struct Arrival {
    int before = -1;
    LinkId by;
  };
  std::vector<Arrival> arrivals(graph.vertices);
  std::vector<int> queue{from};
  std::vector<Hop> hops;
  for (size_t next = 0; next < queue.size() && arrivals[to].before < 0; ++next) {
    hops.clear();
    graph.out(queue[next], hops);
    for (const Hop& hop : hops) {
      if (hop.to == from || arrivals[hop.to].before >= 0 || is_down(hop.link)) continue;
      arrivals[hop.to] = {queue[next], hop.link};
      queue.push_back(hop.to);
    }
  }
  std::vector<LinkId> links;
  for (int at = to; at != from; at = arrivals[at].before) {
    if (arrivals[at].before < 0) return {};
    links.push_back(arrivals[at].by);
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
      const auto way = shortest_path(graph, from, to, is_down);
      if (!way) throw std::runtime_error("no way is left from " + graph.name(from) + " to " + graph.name(to));
      links.resize(before);
      links.insert(links.end(), way->begin(), way->end());
    }
    return hop * double(links.size() - before);
  };
}

}  // namespace rehearse
