#include "sim/cluster/bisection.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace rehearse {
namespace {

// Dinic's maximum flow.
class Flow {
 public:
  explicit Flow(int vertices) : out_(vertices), level_(vertices), next_(vertices) {}

  void add(int from, int to, double capacity) {
    if (capacity <= 0) return;
    out_[from].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({to, capacity});
    out_[to].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({from, 0});
    least_ = std::max(least_, capacity * 1e-12);
  }
  double most(int from, int to) {
    double sum = 0;
    while (layer(from, to)) {
      std::fill(next_.begin(), next_.end(), 0);
      for (double more = push(from, to); more > 0; more = push(from, to)) sum += more;
    }
    return sum;
  }

 private:
  struct Edge {
    int to;
    double left;
  };

  bool layer(int from, int to) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[from] = 0;
    std::vector<int> queue{from};
    for (size_t i = 0; i < queue.size(); ++i)
      for (const int e : out_[queue[i]])
        if (edges_[e].left > least_ && level_[edges_[e].to] < 0) {
          level_[edges_[e].to] = level_[queue[i]] + 1;
          queue.push_back(edges_[e].to);
        }
    return level_[to] >= 0;
  }
  // One way through the layers, without recursion: they may be as many as there are vertices.
  double push(int from, int to) {
    std::vector<int> way;
    int at = from;
    while (at != to) {
      int& next = next_[at];
      while (next < static_cast<int>(out_[at].size())) {
        const Edge& edge = edges_[out_[at][next]];
        if (edge.left > least_ && level_[edge.to] == level_[at] + 1) break;
        ++next;
      }
      if (next < static_cast<int>(out_[at].size())) {
        way.push_back(out_[at][next]);
        at = edges_[way.back()].to;
      } else {
        if (way.empty()) return 0;
        at = edges_[way.back() ^ 1].to;
        way.pop_back();
        ++next_[at];
      }
    }
    double most = std::numeric_limits<double>::infinity();
    for (const int e : way) most = std::min(most, edges_[e].left);
    for (const int e : way) edges_[e].left -= most, edges_[e ^ 1].left += most;
    return most;
  }

  std::vector<Edge> edges_;  // each with its reverse beside it
  std::vector<std::vector<int>> out_;
  std::vector<int> level_, next_;
  double least_ = 0;
};

Bisection of_one_domain(const Fabric& fabric) {
  const Cluster& c = fabric.cluster();
  const int gpus = c.nodes * c.gpus_per_node, half = gpus / 2;
  if (half == 0) return {{}, false};
  if (c.node == NodeShape::nvswitch) return {c.nvlink * half, false};
  if (c.node == NodeShape::pairs && gpus == 2) return {c.nvlink, false};
  BytesPerSec rate = c.pcie * half;
  if (c.gpus_per_switch > 0 && c.gpus_per_switch < gpus) {
    // GPUs of a switch that lies in both halves reach each other below the bridge.
    const int whole = half / c.gpus_per_switch, rest = half % c.gpus_per_switch;
    const double bridge = std::min(c.bridge.value, c.pcie.value * c.gpus_per_switch);
    rate = BytesPerSec(whole * bridge + rest * c.pcie.value);
  }
  return {rate, false};
}

}  // namespace

Bisection bisection(const Fabric& fabric) {
  const Cluster& c = fabric.cluster();
  const int domains = (c.nodes + c.nodes_per_domain - 1) / c.nodes_per_domain;
  if (domains == 1) return of_one_domain(fabric);
  const NetworkGraph& graph = fabric.graph();
  const int first_half = domains / 2 * c.nodes_per_domain, source = graph.vertices, sink = source + 1;
  const auto rate = [&](int link) { return fabric.link(LinkId(link)).rate.value; };
  std::map<std::pair<bool, int>, double> ends;  // what enters and leaves at each vertex
  const int each = c.ports_per_node(), ports = c.nodes * each;
  for (int port = 0; port < ports; ++port) {
    const bool second = port / each >= first_half;
    ends[{second, graph.entry(port)}] += rate(fabric.classes()[second].first + port);
  }
  Flow flow(graph.vertices + 2);
  for (const auto& [end, sum] : ends)
    end.first ? flow.add(end.second, sink, sum) : flow.add(source, end.second, sum);
  std::vector<Hop> hops;
  for (int v = 0; v < graph.vertices; ++v) {
    hops.clear();
    graph.out(v, hops);
    for (const Hop& hop : hops) flow.add(v, hop.to, rate(hop.link.value));
  }
  return {BytesPerSec(flow.most(source, sink)), true};
}

}  // namespace rehearse
