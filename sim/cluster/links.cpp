// A network of listed links. Those of one rate are a class.
#include <algorithm>
#include <map>
#include <memory>

#include "sim/cluster/graph.hpp"

namespace rehearse {
namespace {

struct Listed {
  std::vector<std::string> names;  // of the vertices
  std::vector<std::vector<Hop>> out;
};

std::string rate_text(BytesPerSec rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%g GB/s", rate.value / 1e9);
  return text;
}

// Vertices: the nodes, then the switches in the order of the list.
std::map<std::string, int> vertices_of(const Cluster& cluster, std::vector<std::string>& names) {
  std::map<std::string, int> vertices;
  const auto add = [&](const std::string& name) {
    if (vertices.emplace(name, static_cast<int>(names.size())).second) names.push_back(name);
  };
  for (int n = 0; n < cluster.nodes; ++n) add("node" + std::to_string(n));
  for (const Wire& wire : cluster.wires) add(wire.from), add(wire.to);
  return vertices;
}

}  // namespace

Network make_links(const Cluster& cluster, int first_link, const IsDown& is_down) {
  const auto listed = std::make_shared<Listed>();
  const auto vertices = vertices_of(cluster, listed->names);
  listed->out.resize(listed->names.size());
  std::vector<BytesPerSec> rates;  // in the order of the list
  for (const Wire& wire : cluster.wires)
    if (std::find(rates.begin(), rates.end(), wire.rate) == rates.end()) rates.push_back(wire.rate);
  Network network;
  int next = first_link;
  for (const BytesPerSec rate : rates) {
    std::vector<std::string> names;
    for (const Wire& wire : cluster.wires) {
      if (wire.rate != rate) continue;
      const int ends[] = {vertices.at(wire.from), vertices.at(wire.to)};
      for (int i = 0; i < 2; ++i)
        listed->out[ends[i]].push_back({LinkId(next + int(names.size()) + i), ends[1 - i]});
      names.push_back(wire.from + ">" + wire.to);
      names.push_back(wire.to + ">" + wire.from);
    }
    const int count = static_cast<int>(names.size());
    network.classes.push_back({"wire of " + rate_text(rate), next, count, rate,
                               [names = std::move(names)](int i) { return names[i]; }});
    next += count;
  }
  network.graph = {static_cast<int>(listed->names.size()),
                   [=](int v, std::vector<Hop>& hops) {
                     hops.insert(hops.end(), listed->out[v].begin(), listed->out[v].end());
                   },
                   [=](int v) { return listed->names[v]; },
                   [each = cluster.ports_per_node()](int port) { return port / each; }};
  add_paths(network, {}, is_down, cluster.hop_latency);
  return network;
}

}  // namespace rehearse
