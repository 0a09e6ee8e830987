// Flows that share links. A flow that is alone on every link it crosses takes bytes / rate, a date that the
// replay keeps like any other; only when a second flow comes onto one of its links do both go to SimGrid, the
// first with what is left of it. Max-min fairness gives a lone flow the whole of its narrowest link, so that
// this changes no date.
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/replay.hpp"
#include "sim/engine/simgrid_network.hpp"
#include "sim/engine/simgrid_process.hpp"

namespace rehearse {

namespace {

// Which flow holds which link, and which of the flows are alone.
class LinkUse {
 public:
  explicit LinkUse(const TaskGraph& graph)
      : graph_(graph), flows_(graph.links.size(), 0), lone_(graph.links.size(), -1) {}

  bool free(int32_t flow) const {
    for (auto [link, weight] : links(flow))
      if (flows_[link] > 0) return false;
    return true;
  }
  void enter(int32_t flow, bool alone) {
    for (auto [link, weight] : links(flow)) {
      ++flows_[link];
      if (alone) lone_[link] = flow;
    }
  }
  void leave(int32_t flow) {
    for (auto [link, weight] : links(flow)) {
      --flows_[link];
      if (lone_[link] == flow) lone_[link] = -1;
    }
  }
  // The flows that are alone no more when `flow` enters.
  std::vector<int32_t> disturb(int32_t flow) {
    std::vector<int32_t> disturbed;
    for (auto [link, weight] : links(flow)) {
      const int32_t lone = lone_[link];
      if (lone < 0) continue;
      disturbed.push_back(lone);
      for (auto [held, w] : links(lone)) lone_[held] = -1;
    }
    return disturbed;
  }

 private:
  const std::vector<std::pair<int32_t, int32_t>>& links(int32_t flow) const {
    return graph_.routes[graph_.tasks[flow].route].links;
  }
  const TaskGraph& graph_;
  std::vector<int32_t> flows_;  // per link
  std::vector<int32_t> lone_;   // per link, the flow that is alone on all its links
};

class Sharing {
 public:
  explicit Sharing(const TaskGraph& graph) : graph_(graph), replay_(graph, true), use_(graph) {}

  // `here`: SimGrid may run in this process.
  Timeline run(bool here) {
    while (waiting_.empty() && replay_.next() < never()) advance();
    if (waiting_.empty()) return replay_.finish("simgrid");
    if (here) return run_with_network();
    return run_in_child([this] { return run_with_network(); });
  }

 private:
  struct Handed {  // to SimGrid
    int32_t flow;
    double bytes;
  };

  // Everything that happens at the next date. Flows that must share go to waiting_.
  void advance() {
    const double date = replay_.next();
    while (replay_.next() == date) replay_.step();
    for (int32_t flow : replay_.departures()) use_.leave(flow);
    replay_.departures().clear();
    for (int32_t flow : replay_.arrivals()) arrive(flow, date);
    replay_.arrivals().clear();
  }

  void arrive(int32_t flow, double now) {
    const Task& task = graph_.tasks[flow];
    const bool alone = use_.free(flow);
    if (alone) {
      replay_.set_due(flow, now + task.amount / rate_alone(graph_, task));
    } else {
      for (int32_t other : use_.disturb(flow)) {
        waiting_.push_back({other, (replay_.due(other) - now) * rate_alone(graph_, graph_.tasks[other])});
        replay_.clear_due(other);
      }
      waiting_.push_back({flow, task.amount});
    }
    use_.enter(flow, alone);
  }

  Timeline run_with_network() {
    SimgridNetwork network(graph_);
    network.wake_at(replay_.now());
    network.run([&](double now, const std::vector<int32_t>& ended) { wake(network, now, ended); });
    Timeline timeline = replay_.finish("simgrid");
    timeline.shared_flows = shared_;
    return timeline;
  }

  // Takes the replay as far as it goes without knowing when the next flow in SimGrid ends.
  void wake(SimgridNetwork& network, double now, const std::vector<int32_t>& ended) {
    for (int32_t flow : ended) replay_.set_due(flow, now);
    in_network_ -= ended.size();
    while (true) {
      if (!waiting_.empty()) {
        if (replay_.now() > now) return network.wake_at(replay_.now());
        for (const Handed& h : waiting_) network.start(h.flow, h.bytes);
        in_network_ += waiting_.size();
        shared_ += int64_t(waiting_.size());
        waiting_.clear();
      }
      const double next = replay_.next();
      if (next == never()) return;
      if (in_network_ > 0 && next > now) return network.wake_at(next);
      advance();
    }
  }

  const TaskGraph& graph_;
  Replay replay_;
  LinkUse use_;
  std::vector<Handed> waiting_;  // to be handed over, as of replay_.now()
  size_t in_network_ = 0;
  int64_t shared_ = 0;
};

}  // namespace

Timeline run_simgrid(const TaskGraph& graph) { return Sharing(graph).run(false); }
Timeline run_simgrid_here(const TaskGraph& graph) { return Sharing(graph).run(true); }

}  // namespace rehearse
