#include "sim/cluster/bisection.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <map>
#include <vector>

namespace rehearse {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Capacities =
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>;
using Residual =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Capacities>;

struct Pipe {
  int from, to;
  double rate;
};

// In whole units of which the sum of all rates has 2^61: exact arithmetic, so that the search ends.
double max_flow(int vertices, const std::vector<Pipe>& pipes, int source, int sink) {
  double sum = 0;
  for (const Pipe& pipe : pipes) sum += pipe.rate;
  if (sum <= 0) return 0;
  const int scale = 61 - std::ilogb(sum) - 1;
  Residual graph(static_cast<size_t>(vertices));
  for (const Pipe& pipe : pipes) {
    const auto there = add_edge(pipe.from, pipe.to, graph).first,
               back = add_edge(pipe.to, pipe.from, graph).first;
    const auto capacity = static_cast<int64_t>(std::ldexp(pipe.rate, scale));
    put(boost::edge_capacity, graph, there, capacity), put(boost::edge_capacity, graph, back, 0);
    put(boost::edge_reverse, graph, there, back), put(boost::edge_reverse, graph, back, there);
  }
  return std::ldexp(static_cast<double>(boost::push_relabel_max_flow(graph, source, sink)), -scale);
}

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
  std::vector<Pipe> pipes;
  pipes.reserve(ends.size() + size_t(graph.vertices));
  for (const auto& [end, sum] : ends)
    pipes.push_back(end.first ? Pipe{end.second, sink, sum} : Pipe{source, end.second, sum});
  std::vector<Hop> hops;
  for (int v = 0; v < graph.vertices; ++v) {
    hops.clear();
    graph.out(v, hops);
    for (const Hop& hop : hops) pipes.push_back({v, hop.to, rate(hop.link.value)});
  }
  return {BytesPerSec(max_flow(graph.vertices + 2, pipes, source, sink)), true};
}

}  // namespace rehearse
