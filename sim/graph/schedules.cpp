#include "sim/graph/schedules.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cost/transfers.hpp"
#include "sim/graph/ops.hpp"
#include "sim/graph/program.hpp"
#include "sim/plan/memory.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/schedule/transfers.hpp"

namespace rehearse {

namespace {

// A collective on the wire is priced as if nothing shared its links.
double length_of(std::vector<OpSpec> specs, const Scenario& scenario, const GroupShape& tp) {
  const Cluster& cluster = scenario.cluster;
  const double links =
      tp.nodes > 1 ? cluster.nic.value * cluster.nics_per_node * scenario.stack.network_efficiency.value
                   : cluster.pcie.value * kPcieEfficiency;
  for (auto& spec : specs)
    if (spec.wire)
      spec.op.duration = spec.wire_cost.latency.value +
                         spec.wire_cost.link_bytes / std::min(spec.wire_cost.rate_cap.value, links);
  return make_program("", specs, scenario.stack).duration;
}

double transfer_time(const Scenario& s) {
  if (s.layout.pp == 1) return 0;
  const ParallelLayout layout(s.layout);
  const Fabric fabric(s.cluster);
  const double bytes = stage_message(s).sent;
  double longest = 0;
  for (int stage = 0; stage + 1 < s.layout.pp; ++stage) {
    const auto from = layout.gpu(layout.rank({.tp = 0, .cp = 0, .pp = stage, .dp = 0}));
    const auto to = layout.gpu(layout.rank({.tp = 0, .cp = 0, .pp = stage + 1, .dp = 0}));
    const Path path = fabric.route(from, to);
    const Medium medium = path.network ? Medium::network : path.links.empty() ? Medium::nvlink : Medium::pcie;
    longest = std::max(longest, transfer_cost(s, Bytes(bytes), medium, path.latency).time.value);
  }
  return longest;
}

// A stage that waits for its sends is busy until they have arrived.
void occupy_senders(ScheduleCosts& costs, const LayoutSpec& layout) {
  const int path = layout.parts();
  const auto stage = [&](int chunk) { return stage_of(ChunkId(chunk), layout.pp, layout.placement); };
  for (int c = 0; c < int(costs.chunks.size()); ++c) {
    if (c % path + 1 < path && stage(c) != stage(c + 1)) costs.chunks[size_t(c)].forward += costs.transfer;
    if (c % path > 0 && stage(c) != stage(c - 1)) costs.chunks[size_t(c)].input += costs.transfer;
  }
  costs.transfer = 0;
}

// At most 1: under full recompute a W needs more than its forward kept, and what a search may hold is a
// number of micro-batches, not of their checkpoints.
double weight_hold(const Scenario& scenario, const std::vector<ChunkPlan>& chunks) {
  double stored = 0, weight = 0;
  for (const auto& chunk : chunks) {
    const auto memory = activation_memory(scenario, chunk);
    stored += memory.stored, weight += memory.weight;
  }
  return stored > weight ? weight / stored : 1;
}

}  // namespace

ScheduleCosts schedule_costs(const Scenario& scenario) {
  const auto chunks = plan_chunks(scenario);
  const ParallelLayout layout(scenario.layout);
  const GroupShape tp = shape_of(layout.group(RankId(0), Axis::tp), layout, Fabric(scenario.cluster));
  std::vector<Traffic> traffic;
  OpPricer pricer(scenario, traffic);
  ScheduleCosts costs;
  std::map<std::tuple<int, int, bool, bool>, ChunkCosts> known;  // chunks of one size cost the same
  for (const auto& chunk : chunks) {
    const auto [at, is_new] =
        known.try_emplace({chunk.layers, chunk.recomputed_layers, chunk.embedding, chunk.head});
    if (is_new) {
      const auto backward = backward_ops(pricer, chunk, tp);
      at->second = {length_of(forward_ops(pricer, chunk, tp), scenario, tp),
                    length_of(split_backward(backward, false), scenario, tp),
                    length_of(split_backward(backward, true), scenario, tp)};
    }
    costs.chunks.push_back(at->second);
  }
  costs.transfer = transfer_time(scenario);
  if (!scenario.overlap.p2p) occupy_senders(costs, scenario.layout);
  costs.weight_hold = weight_hold(scenario, chunks);
  return costs;
}

void place_chunks(Scenario& scenario, const GivenLayout& given) {
  auto& layout = scenario.layout;
  const auto* row = find_schedule(scenario.schedule);
  if (row == nullptr && !scenario.schedule.ends_with(".csv")) return;  // make_schedule() refuses it
  const bool chooses = scenario.schedule == "auto";
  if (scenario.max_live > 0 && !chooses)
    throw InputErrors({{},
                       "max_live",
                       "E-SCHEDULE-LIVE",
                       "max_live bounds the search of the schedule auto, and this is " + scenario.schedule,
                       "try --set max_live=null, or --set schedule=auto"});
  if (row == nullptr) return;
  const ScheduleKind& kind = row->value;
  if (given.placement && (chooses || kind.placement != layout.placement))
    throw InputErrors({{},
                       "layout.placement",
                       "E-SCHEDULE-PLACEMENT",
                       "schedule '" + scenario.schedule +
                           (chooses ? "' chooses where its chunks lie" : "' places its chunks otherwise"),
                       "placement is for schedules from a .csv: try --set layout.placement=null"});
  layout.placement = kind.placement;
  const bool copies =
      kind.placement == Placement::bidirectional && layout.chunks == 1;  // no choice of the user's
  if (copies || (!given.chunks && kind.min_chunks == kind.max_chunks)) layout.chunks = kind.min_chunks;
}

// Eager transfers form no circle, whatever the order of a file's sends and receives; who runs it as it stands
// would hang.
static void warn_of_hang(Scenario& scenario, const Schedule& schedule) {
  try {
    check_rendezvous(schedule, schedule.transfers, false);
  } catch (const InputErrors& found) {
    scenario.warnings.push_back({"W-SCHEDULE-HANG", "with receives: posted the sends and receives of " +
                                                        schedule.name +
                                                        " hang: " + found.errors.front().message});
  }
}

Schedule make_schedule(Scenario& scenario) {
  auto& layout = scenario.layout;
  BuildOptions options{.costs = {}, .max_live = scenario.max_live, .global_sync = !scenario.post_validation};
  const auto* row = find_schedule(scenario.schedule);
  if (row != nullptr && row->value.searches) options.costs = schedule_costs(scenario);
  Schedule schedule = load_schedule(
      scenario.schedule, {layout.pp, scenario.micro_batches(), layout.chunks, layout.placement}, options);
  layout.placement = schedule.shape.placement;
  if (scenario.posted_receives && layout.pp > 1)
    check_rendezvous(schedule, transfers_of(schedule), !scenario.overlap.p2p);
  else if (!schedule.transfers.empty())
    warn_of_hang(scenario, schedule);
  return schedule;
}

}  // namespace rehearse
