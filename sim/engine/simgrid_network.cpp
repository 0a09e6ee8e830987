#include "sim/engine/simgrid_network.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

namespace rehearse {

namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::timer::Timer;
using LinkList = std::vector<StandardLinkImpl*>;

// A zone of two hosts whose route is whichever the next flow takes: SimGrid asks for it once, when the flow
// starts. Its own star zone would drop a link's second mention, which is how a flow of weight 2 is said.
class RouteZone : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit RouteZone(const std::string& name) : NetZoneImpl(name) {}
  const LinkList* next_route = nullptr;

 private:
  void get_local_route(const simgrid::kernel::routing::NetPoint* /*from*/,
                       const simgrid::kernel::routing::NetPoint* /*to*/,
                       simgrid::kernel::routing::Route* into, double* /*latency*/) override {
    into->link_list_ = *next_route;
  }
};

// SimGrid's payloads are integers: bytes are told in units of 2^-20 byte, or as fine as 62 bits allow.
double units_per_byte(const TaskGraph& graph) {
  double most = 1;
  for (const Task& task : graph.tasks)
    if (task.kind == TaskKind::flow) most = std::max(most, task.amount);
  return std::exp2(std::min(20, 61 - std::ilogb(most)));
}

sg::Link* make_link(sg::NetZone* zone, const std::string& name, double capacity,
                    sg::Link::SharingPolicy policy) {
  sg::Link* link = zone->create_link(name, capacity);
  link->set_latency(0);  // CM02 would share in inverse proportion to it
  link->set_sharing_policy(policy);
  link->seal();
  return link;
}

void configure() {
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/crosstraffic:0");
  sg::Engine::set_config("network/TCP-gamma:0");
  sg::Engine::set_config("surf/precision:1e-12");
  sg::Engine::set_config("maxmin/precision:1e-12");
}

}  // namespace

struct SimgridNetwork::Impl {
  explicit Impl(const TaskGraph& g);

  LinkList links_of(const Task& flow);
  void start(int32_t task, double bytes);
  void completed(const sg::Activity& activity);
  void drain();

  const TaskGraph& graph;
  const double scale;  // units per byte
  sg::Engine engine;
  RouteZone* zone = nullptr;  // SimGrid's own
  sg::Host *from = nullptr, *to = nullptr;
  std::vector<sg::Link*> links;
  std::map<std::pair<int32_t, double>, LinkList> routes;  // by route and rate cap
  struct Slot {
    sg::CommPtr comm;  // held until it has ended
    int32_t task = -1;
  };
  std::deque<Slot> slots;  // a communication points to its own
  std::vector<Slot*> free_slots, ended_slots;
  std::vector<int32_t> ended;
  Timer* alarm = nullptr;
  double alarm_date = -1;
  std::function<void(double, const std::vector<int32_t>&)> on_wake;
};

SimgridNetwork::Impl::Impl(const TaskGraph& g) : graph(g), scale(units_per_byte(g)), engine("rehearse") {
  configure();
  zone = new RouteZone("fabric");
  sg::NetZone* face = zone->get_iface();
  for (size_t l = 0; l < graph.links.size(); ++l)
    links.push_back(make_link(face, "link " + std::to_string(l), graph.links[l].capacity * scale,
                              sg::Link::SharingPolicy::SHARED));
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::flow || task.route < 0) continue;
    auto [place, is_new] = routes.try_emplace({task.route, task.rate_cap});
    if (is_new) place->second = links_of(task);
  }
  from = face->create_host("from", 1);
  to = face->create_host("to", 1);
  face->seal();
  sg::Activity::on_completion_cb([this](const sg::Activity& a) { completed(a); });
}

// A rate cap is a link of the route's own that gives every flow on it that much (fat pipe).
LinkList SimgridNetwork::Impl::links_of(const Task& flow) {
  LinkList list;
  double alone = std::numeric_limits<double>::infinity();
  for (auto [link, weight] : graph.routes[flow.route].links) {
    list.insert(list.end(), static_cast<size_t>(weight), links[link]->get_impl());
    alone = std::min(alone, graph.links[link].capacity / weight);
  }
  if (flow.rate_cap > 0 && flow.rate_cap < alone) {
    const std::string name = "cap " + std::to_string(routes.size());
    list.push_back(make_link(zone->get_iface(), name, flow.rate_cap * scale, sg::Link::SharingPolicy::FATPIPE)
                       ->get_impl());
  }
  return list;
}

void SimgridNetwork::Impl::start(int32_t id, double bytes) {
  if (free_slots.empty()) free_slots.push_back(&slots.emplace_back());
  Slot* slot = free_slots.back();
  free_slots.pop_back();
  const Task& task = graph.tasks[id];
  zone->next_route = &routes.at({task.route, task.rate_cap});
  sg::CommPtr comm = sg::Comm::sendto_init(from, to);
  comm->set_payload_size(std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(bytes * scale))));
  comm->set_data(slot);
  *slot = {comm, id};
  comm->vetoable_start();
}

// Nothing may start while SimGrid is ending activities: what ended waits for a timer of the same date.
void SimgridNetwork::Impl::completed(const sg::Activity& activity) {
  if (ended_slots.empty()) Timer::set(sg::Engine::get_clock(), [this] { drain(); });
  ended_slots.push_back(static_cast<const sg::Comm&>(activity).get_data<Slot>());
}

void SimgridNetwork::Impl::drain() {
  ended.clear();
  for (Slot* slot : ended_slots) {
    ended.push_back(slot->task);
    slot->comm = nullptr;
    free_slots.push_back(slot);
  }
  ended_slots.clear();
  std::sort(ended.begin(), ended.end());
  on_wake(sg::Engine::get_clock(), ended);
}

SimgridNetwork::SimgridNetwork(const TaskGraph& graph) {
  xbt_log_control_set("root.thres:critical");
  impl_ = std::make_unique<Impl>(graph);
}

SimgridNetwork::~SimgridNetwork() = default;

void SimgridNetwork::start(int32_t task, double bytes) { impl_->start(task, bytes); }

void SimgridNetwork::wake_at(double date) {
  Impl& my = *impl_;
  if (my.alarm != nullptr && my.alarm_date == date) return;
  if (my.alarm != nullptr) my.alarm->remove();
  my.alarm_date = date;
  my.alarm = Timer::set(date, [&my, date] {
    my.alarm = nullptr;
    my.on_wake(date, {});
  });
}

void SimgridNetwork::run(const std::function<void(double, const std::vector<int32_t>&)>& on_wake) {
  impl_->on_wake = on_wake;
  impl_->engine.run();
}

}  // namespace rehearse
