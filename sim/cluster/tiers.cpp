// Fat-trees, plain and by rail. A switch's uplinks are one link each way: adaptive routing spreads over them.
#include <memory>
#include <stdexcept>

#include "sim/cluster/network.hpp"

namespace rehearse {

static constexpr const char* kTierNames[] = {"leaf", "pod", "tier3", "tier4"};

Network make_tiers(const Cluster& cluster, int first_link, const std::function<bool(LinkId)>& is_down) {
  struct Level {
    int nodes, first_up, first_down;
    Seconds latency;
  };
  Network network;
  const bool rails = cluster.fabric == FabricShape::rail;
  const int each = cluster.ports_per_node(), planes = rails ? each : 1;
  auto levels = std::make_shared<std::vector<Level>>();
  double narrowing = 1;
  for (size_t t = 0; t < cluster.tiers.size(); ++t) {
    const Tier& tier = cluster.tiers[t];
    narrowing *= tier.oversubscription;
    const int switches = (cluster.nodes + tier.nodes - 1) / tier.nodes * planes;
    const double below = double(tier.nodes) * each / planes * cluster.port().value;
    const auto add = [&](const char* end) {
      const std::string name = kTierNames[t];
      network.classes.push_back(
          {name + " " + (end + 1), first_link, switches, BytesPerSec(below / narrowing), [=](int i) {
             const std::string rail = rails ? "rail" + std::to_string(i % planes) + "." : "";
             return rail + name + std::to_string(i / planes) + end;
           }});
      first_link += switches;
      return first_link - switches;
    };
    const int up = add(".up"), down = add(".down");
    levels->push_back({tier.nodes, up, down, tier.latency});
  }
  network.path = [=](int from, int to, std::vector<LinkId>& links) {
    const auto at = [&](const Level& level, int port, int first) {
      return LinkId(first + port / each / level.nodes * planes + (rails ? port % each : 0));
    };
    Seconds latency;
    size_t crossed = 0;
    for (const Level& level : *levels) {
      const LinkId up = at(level, from, level.first_up), down = at(level, to, level.first_down);
      if (up.value - level.first_up == down.value - level.first_down) break;
      if (is_down(up) || is_down(down)) throw std::runtime_error("the uplinks of a switch are down");
      links.push_back(up);
      latency = level.latency;
      ++crossed;
    }
    for (size_t i = crossed; i-- > 0;) links.push_back(at((*levels)[i], to, (*levels)[i].first_down));
    return latency;
  };
  return network;
}

}  // namespace rehearse
