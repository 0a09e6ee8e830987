#include "sim/plan/group_links.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/error.hpp"

namespace rehearse {
namespace {

// Of paths that an all_to_all looks at: some seconds.
constexpr double kMostCrossings = 1 << 25;

struct Domain {
  int id = 0;
  std::vector<GpuId> gpus;
  std::vector<int> ports;      // each once
  std::vector<GpuId> at_port;  // the first GPU that uses it
};

std::vector<Domain> domains_of(const std::vector<GpuId>& gpus, const Fabric& fabric) {
  std::vector<Domain> domains;
  std::vector<std::pair<int, size_t>> seen;  // (domain, index), ascending
  for (const GpuId g : gpus) {
    const std::pair<int, size_t> key{fabric.domain_of(g), 0};
    auto at = std::lower_bound(seen.begin(), seen.end(), key);
    if (at == seen.end() || at->first != key.first) {
      at = seen.insert(at, {key.first, domains.size()});
      domains.push_back({.id = key.first});
    }
    domains[at->second].gpus.push_back(g);
  }
  if (domains.size() < 2) return domains;
  for (auto& d : domains)
    for (const GpuId g : d.gpus) {
      const int port = fabric.port_of(g);
      if (std::find(d.ports.begin(), d.ports.end(), port) != d.ports.end()) continue;
      d.ports.push_back(port), d.at_port.push_back(g);
    }
  return domains;
}

class Collector {
 public:
  explicit Collector(const Fabric& fabric) : fabric_(fabric) {}

  // All lanes from one domain's ports to another's.
  void cross(const Domain& from, const Domain& to, int lanes) {
    for (int i = 0; i < lanes; ++i) {
      const Path path = fabric_.route(gpu(from, i, lanes), gpu(to, i, lanes));
      latency_ += path.latency;
      ++crossings_;
      add(path.links, 1);
    }
  }
  // The ring's edges between the GPUs of a domain, by PCIe where NVLink does not join them. `closed`: from
  // the last to the first too.
  void inside(const Domain& domain, int weight, bool closed) {
    const size_t n = domain.gpus.size(), edges = closed ? n : n - 1;
    for (size_t i = 0; i < edges; ++i) {
      const GpuId from = domain.gpus[i], to = domain.gpus[(i + 1) % n];
      if (!fabric_.same_island(from, to)) add(fabric_.route(from, to).links, weight);
    }
  }
  // From each GPU of a domain to each other.
  void inside_pairs(const Domain& domain) {
    for (const GpuId from : domain.gpus)
      for (const GpuId to : domain.gpus)
        if (!fabric_.same_island(from, to)) add(fabric_.route(from, to).links, 1);
  }
  GroupLinks finish(int parts, int ports = 1) {
    merge();
    GroupLinks links{.weights = found_, .parts = parts, .ports = ports};
    if (crossings_ > 0) links.hop_latency = latency_ / double(crossings_);
    return links;
  }

 private:
  // Each link once, ascending.
  void merge() {
    std::sort(found_.begin(), found_.end());
    size_t kept = 0;
    for (const auto& [link, weight] : found_)
      if (kept > 0 && found_[kept - 1].first == link)
        found_[kept - 1].second += weight;
      else
        found_[kept++] = {link, weight};
    found_.resize(kept);
  }
  static GpuId gpu(const Domain& domain, int lane, int lanes) {
    return domain.at_port[size_t(lane) * domain.at_port.size() / size_t(lanes)];
  }
  void add(const std::vector<LinkId>& links, int weight) {
    for (const LinkId link : links) found_.emplace_back(link.value, weight);
    if (found_.size() >= merge_at_) merge(), merge_at_ = 2 * found_.size() + kMergeAt;
  }

  const Fabric& fabric_;
  static constexpr size_t kMergeAt = 1 << 20;
  std::vector<std::pair<int, int>> found_;  // link, weight; a link may stand more than once
  size_t merge_at_ = kMergeAt;
  Seconds latency_;
  int64_t crossings_ = 0;
};

int fewest_ports(const std::vector<Domain>& domains) {
  const auto fewer = [](const Domain& a, const Domain& b) { return a.ports.size() < b.ports.size(); };
  return int(std::min_element(domains.begin(), domains.end(), fewer)->ports.size());
}

int lanes_of(const std::vector<Domain>& domains) {
  int lanes = 1;
  for (const auto& d : domains) lanes = std::lcm(lanes, int(d.ports.size()));
  return lanes;
}

}  // namespace

GroupLinks ring_links(const std::vector<GpuId>& gpus, const Fabric& fabric) {
  const auto domains = domains_of(gpus, fabric);
  Collector links(fabric);
  if (domains.size() < 2) {
    links.inside(domains[0], 1, true);
    return links.finish(1);
  }
  const int lanes = lanes_of(domains);
  for (size_t d = 0; d < domains.size(); ++d) {
    links.cross(domains[d], domains[(d + 1) % domains.size()], lanes);
    links.inside(domains[d], lanes, false);
  }
  return links.finish(lanes, fewest_ports(domains));
}

GroupLinks pair_links(const std::vector<GpuId>& gpus, const Fabric& fabric) {
  const auto domains = domains_of(gpus, fabric);
  Collector links(fabric);
  if (domains.size() < 2) {
    links.inside_pairs(domains[0]);
    return links.finish(std::max(1, int(domains[0].gpus.size()) - 1));
  }
  const int lanes = lanes_of(domains);
  if (const double crossings = double(domains.size()) * double(domains.size()) * lanes;
      crossings > kMostCrossings)
    throw InputErrors(InputError{{},
                                 "",
                                 "E-CLUSTER-SIZE",
                                 "from each of " + std::to_string(domains.size()) +
                                     " nodes to each other there are too many paths to look at",
                                 "all_to_all of at most 2048 nodes with 8 ports each"});
  for (const auto& from : domains)
    for (const auto& to : domains)
      if (&from != &to) links.cross(from, to, lanes);
  return links.finish(lanes * (int(domains.size()) - 1), fewest_ports(domains));
}

}  // namespace rehearse
