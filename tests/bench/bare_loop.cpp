// The yardstick for `rehearse run --fold off`: a bare SimGrid loop over one 1F1B step, with one timer per
// forward and backward and rank, one communication per stage transfer, no data parallelism, nothing else
// modelled.
//
//   bench_bare_loop [group|rank] [tp pp dp micro_batches]     (default: group 8 8 16 96, the 1024-GPU step of
//   175B)
//
// group: the transfers of a TP group are one communication over all its links; rank: one for each rank.
#include <sys/resource.h>
#include <xbt/log.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;
using Direction = sg::LinkInRoute::Direction;

constexpr double kForward = 0.0718, kBackward = 0.2154;  // s: about what a stage of 175B takes on an A100
constexpr double kNic = 25e9;                            // B/s
constexpr uint64_t kBoundary = 2048ULL * 12288 * 2;      // bytes of one micro-batch's activations
constexpr uint64_t kUnits = 1 << 20;                     // SimGrid's payloads are integers

struct Shape {
  bool group = true;
  int tp = 8, pp = 8, dp = 16, micro = 96;
  int ranks() const { return tp * pp * dp; }
  int actions() const { return 2 * micro; }
};

struct Action {
  bool forward;
  int micro;
};

// What each stage does, in order, and where in that order a micro-batch's forward and backward stand.
struct Schedule {
  std::vector<std::vector<Action>> order;
  std::vector<std::vector<int>> place[2];
  explicit Schedule(const Shape& s) : order(s.pp) {
    place[0].assign(s.pp, std::vector<int>(s.micro));
    place[1] = place[0];
    for (int stage = 0; stage < s.pp; ++stage) {
      const int warm = std::min(s.micro, s.pp - stage - 1);
      for (int i = 0; i < warm; ++i) order[stage].push_back({true, i});
      for (int i = 0; i < s.micro - warm; ++i) {
        order[stage].push_back({true, warm + i});
        order[stage].push_back({false, i});
      }
      for (int i = s.micro - warm; i < s.micro; ++i) order[stage].push_back({false, i});
      for (int k = 0; k < s.actions(); ++k) {
        const Action a = order[stage][k];
        place[a.forward][stage][a.micro] = k;
      }
    }
  }
};

struct Held {
  sg::CommPtr comm;
  size_t action = 0;
};

class Loop {
 public:
  Loop(const Shape& shape, sg::Engine& engine) : s_(shape), engine_(engine), schedule_(shape) {
    build_platform();
    waiting_.assign(static_cast<size_t>(s_.ranks()) * s_.actions(), 0);
    gathered_.assign(s_.group ? static_cast<size_t>(s_.dp) * s_.pp * s_.actions() : 0, 0);
    for (int r = 0; r < s_.ranks(); ++r)
      for (int k = 0; k < s_.actions(); ++k) {
        const bool forward = schedule_.order[stage(r)][k].forward;
        waiting_[id(r, k)] =
            static_cast<int8_t>((k > 0 ? 1 : 0) + (stage(r) != (forward ? 0 : s_.pp - 1) ? 1 : 0));
      }
    sg::Activity::on_completion_cb([this](const sg::Activity& a) {
      if (ended_.empty()) Timer::set(sg::Engine::get_clock(), [this] { drain(); });
      ended_.push_back(static_cast<const sg::Comm&>(a).get_data<Held>());
    });
  }

  void run() {
    for (int r = 0; r < s_.ranks(); ++r)
      if (waiting_[id(r, 0)] == 0) start(r, 0);
    engine_.run();
  }
  int64_t timers = 0, comms = 0;

 private:
  int stage(int rank) const { return rank / s_.tp % s_.pp; }
  size_t id(int rank, int k) const { return static_cast<size_t>(rank) * s_.actions() + k; }

  void build_platform() {
    sg::NetZone* zone = sg::create_star_zone("fabric");
    std::vector<sg::SplitDuplexLink const*> nics;
    auto host = [&](const std::string& name, const std::vector<sg::LinkInRoute>& route, bool both_ways) {
      sg::Host* h = zone->create_host(name, 1);
      zone->add_route(h->get_netpoint(), nullptr, nullptr, nullptr, route, both_ways);
      return h;
    };
    for (int r = 0; r < s_.ranks(); ++r) {
      auto* nic = zone->create_split_duplex_link("nic" + std::to_string(r), kNic * kUnits)->set_latency(0);
      nic->seal();
      nics.push_back(static_cast<sg::SplitDuplexLink*>(nic));
      if (!s_.group) hosts_.push_back(host("rank" + std::to_string(r), {{nics[r], Direction::UP}}, true));
    }
    if (s_.group) {
      sink_ = host("sink", {}, true);
      for (int g = 0; g < s_.dp * s_.pp; ++g)
        for (int step : {-1, 1}) {
          std::vector<sg::LinkInRoute> route;
          const int peer = g + step;
          const bool exists = g % s_.pp + step >= 0 && g % s_.pp + step < s_.pp;
          for (int t = 0; exists && t < s_.tp; ++t) {
            route.emplace_back(nics[g * s_.tp + t], Direction::UP);
            route.emplace_back(nics[peer * s_.tp + t], Direction::DOWN);
          }
          hosts_.push_back(exists ? host("group" + std::to_string(g) + (step > 0 ? "+" : "-"), route, false)
                                  : nullptr);
        }
    }
    zone->seal();
  }

  void start(int rank, int k) {
    ++timers;
    const double length = schedule_.order[stage(rank)][k].forward ? kForward : kBackward;
    Timer::set(sg::Engine::get_clock() + length, [this, rank, k] { done(rank, k); });
  }

  void arrive(int rank, int k) {
    if (--waiting_[id(rank, k)] == 0) start(rank, k);
  }

  void done(int rank, int k) {
    if (k + 1 < s_.actions()) arrive(rank, k + 1);
    const int step = schedule_.order[stage(rank)][k].forward ? 1 : -1;
    if (stage(rank) + step < 0 || stage(rank) + step >= s_.pp) return;
    if (!s_.group) return send(hosts_[rank], hosts_[rank + step * s_.tp], id(rank, k));
    const int group = rank / s_.tp;
    if (++gathered_[static_cast<size_t>(group) * s_.actions() + k] == s_.tp)
      send(hosts_[2 * group + (step > 0 ? 1 : 0)], sink_, id(group * s_.tp, k));
  }

  void send(sg::Host* from, sg::Host* to, size_t action) {
    ++comms;
    if (free_.empty()) free_.push_back(&held_.emplace_back());
    Held* held = free_.back();
    free_.pop_back();
    *held = {sg::Comm::sendto_init(from, to), action};
    sg::Comm& comm = *held->comm;
    comm.set_payload_size(kBoundary * kUnits);
    comm.set_data(held);
    comm.vetoable_start();
  }

  void drain() {
    const std::vector<Held*> ended = std::move(ended_);
    ended_.clear();
    for (Held* held : ended) {
      const size_t action = held->action;
      held->comm = nullptr;
      free_.push_back(held);
      received(static_cast<int>(action / s_.actions()), static_cast<int>(action % s_.actions()));
    }
  }

  void received(int sender, int k) {
    const Action a = schedule_.order[stage(sender)][k];
    const int step = a.forward ? 1 : -1;
    const int at = schedule_.place[a.forward][stage(sender) + step][a.micro];
    for (int t = 0; t < (s_.group ? s_.tp : 1); ++t) arrive(sender + step * s_.tp + t, at);
  }

  Shape s_;
  sg::Engine& engine_;
  Schedule schedule_;
  std::vector<sg::Host*> hosts_;
  sg::Host* sink_ = nullptr;
  std::vector<int8_t> waiting_;
  std::vector<int> gathered_;
  std::deque<Held> held_;
  std::vector<Held*> free_, ended_;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds(const rusage& u) {
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  Shape shape;
  if (argc > 1) shape.group = std::strcmp(argv[1], "rank") != 0;
  if (argc > 5) {
    shape.tp = std::atoi(argv[2]);
    shape.pp = std::atoi(argv[3]);
    shape.dp = std::atoi(argv[4]);
    shape.micro = std::atoi(argv[5]);
  }
  const double begin = seconds();
  xbt_log_control_set("root.thres:critical");
  sg::Engine engine("bare_loop");
  for (const char* set : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                          "surf/precision:1e-12", "maxmin/precision:1e-12"})
    sg::Engine::set_config(set);
  Loop loop(shape, engine);
  const double built = seconds();
  loop.run();
  const double end = seconds();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "bare loop (%s): %d ranks, %lld timers, %lld communications, step %.6f s: wall %.3f s, CPU %.3f s "
      "(platform %.3f, run %.3f), %ld MiB\n",
      shape.group ? "group" : "rank", shape.ranks(), static_cast<long long>(loop.timers),
      static_cast<long long>(loop.comms), sg::Engine::get_clock(), end - begin, cpu_seconds(usage),
      built - begin, end - built, usage.ru_maxrss / 1024);
  return 0;
}
