// The step as a graph of tasks. A *unit* is one lock-step group of ranks: the TP x CP peers of one (dp, pp)
// coordinate. A task of kind `run` is a stretch of a program (kernels and in-node collectives in a row) on
// one unit; a task of kind `flow` moves bytes between units over fabric links; `fixed` takes a given time.
// Dependencies, stream order included, are edges: the engine needs only predecessor counts.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/plan/layout.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/spec/kernel.hpp"

namespace rehearse {

// Lanes of a rank, as in the trace; each serial by itself.
enum class Stream : uint8_t {
  compute = 1,
  pp_send = 2,
  pp_recv = 3,
  tp = 4,
  cp = 5,
  ep = 6,
  dp = 7,
  other = 8
};

// What a kernel's time is booked as in the account.
enum class Part : uint8_t {
  compute,
  recompute,
  exposed_tp,
  exposed_cp,
  exposed_ep,
  exposed_pp,
  exposed_dp,
  bubble,
  optimizer,
  overhead
};
inline constexpr int kParts = 10;
constexpr std::string_view kPartNames[kParts] = {"compute",    "recompute",  "exposed_tp", "exposed_cp",
                                                 "exposed_ep", "exposed_pp", "exposed_dp", "bubble",
                                                 "optimizer",  "overhead"};
Part exposed_part(Axis axis);

enum class OpKind : uint8_t { gemm, attention, memory, collective, gap };

// Traffic of one collective or transfer call, as the ledger books it. Index into TaskGraph::traffic.
struct Traffic {
  Axis axis;
  std::string what;  // "block forward", "stage boundary", "gradients" ...
  CollectiveOp op;
  int group_size = 1;
  double bytes_per_call = 0;  // as the API counts them (nccl-tests' convention)
  double bytes_sent = 0;      // by each participating rank, on average over them
  bool scalar = false;        // world-wide scalars: booked in the account's optimizer
  DType dtype = DType::bf16;
  // How it runs, and what its time rests on.
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::guess;
  bool outside = false;  // read far from what was measured

  bool operator==(const Traffic&) const = default;
};

// One kernel or collective of a program; times relative to the program's start, both streams already placed.
struct Op {
  std::string name;  // "qkv gemm", or the NCCL kernel's name
  OpKind kind = OpKind::memory;
  Part part =
      Part::compute;  // compute, recompute, optimizer; exposed_tp for a TP collective; overhead for a gap
  Stream stream = Stream::compute;
  double start = 0, duration = 0;  // s
  double flops = 0, bytes = 0;     // FLOPs done, HBM bytes moved (compute)
  int traffic = -1;                // index into TaskGraph::traffic for collectives
  KernelCall call;                 // what it computes; none for collectives and gaps
  int layer = -1;                  // layer of the chunk, -1 outside the blocks
  Basis basis = Basis::guess;      // what its time rests on
  bool outside = false;            // its time was read outside the calibrated range
};

// A row of kernels that some task runs: the forward of a chunk, a stretch of its backward, the optimizer.
struct Program {
  std::string name;  // "F", "B", "I", "W", "optimizer", "embedding gather" ...
  std::vector<Op> ops;
  double duration = 0;         // s; end of the last op
  double slowed_duration = 0;  // s, if a collective of another stream runs beside it all the time
  double part_s[kParts] = {};  // how `duration` is booked on the compute stream; sums to duration
  BasisSeconds rests_on;       // the same but for what is exposed, by what it rests on
  int kernels = 0;
};

enum class TaskKind : uint8_t { run, fixed, flow };

struct Task {
  TaskKind kind = TaskKind::fixed;
  Stream stream =
      Stream::compute;   // of the first participant; a transfer also occupies pp_recv of the receiver
  int32_t program = -1;  // run: index into programs
  int32_t traffic = -1;  // fixed, flow: index into traffic, -1 none
  int32_t route = -1;    // flow: index into routes
  int32_t units = -1;    // index into unit_sets: participants; a transfer's are {sender, receiver}
  double duration = 0;   // run, fixed: s. flow: latency before the first byte, s
  double amount = 0;     // flow: bytes each link of the route carries per unit of its weight
  double rate_cap = 0;   // flow: B/s; 0 = none
  ActionKind action = ActionKind::forward;  // for run tasks of a schedule
  ChunkId chunk;                            // run and transfers: of the sender
  MicroBatch micro;
  int16_t slice = -1;     // fixed, flow: which rank of each unit takes part; -1 = all of them
  int16_t peers = 1;      // ranks of each participating unit that it stands for (all: ranks_each)
  bool slows = false;     // while it runs, compute of its units runs at slowed speed
  bool pipeline = false;  // a run that is an action of the schedule (F, B, I, W)
};

// Links that a flow holds together; weight = times its bytes cross each (two peers of a class on one NIC: 2).
// In a folded graph that counts all flows that this one stands for; `own` counts this flow alone, as an
// engine without contention does.
struct Route {
  std::vector<std::pair<int32_t, int32_t>> links;  // (index into TaskGraph::links, weight)
  std::vector<int32_t> own;                        // parallel to links; empty = the same weights
};

struct UnitInfo {
  int dp = 0, pp = 0;         // of the first unit that this one stands for
  int stands_for = 1;         // units of its class (1 when not folded)
  int ranks_each = 1;         // ranks in a unit
  std::vector<RankId> ranks;  // of the representative, in order of tp then cp
};

struct LinkInfo {
  double capacity = 0;  // B/s that flows share (line rate x efficiency)
  int stands_for = 1;
  LinkId representative;
};

struct Csr;  // sim/graph/csr.hpp

struct TaskGraph {
  std::vector<Program> programs;
  std::vector<Traffic> traffic;
  std::vector<Task> tasks;
  std::vector<Route> routes;
  std::vector<std::vector<int32_t>> unit_sets;
  std::vector<UnitInfo> units;
  std::vector<LinkInfo> links;
  std::shared_ptr<const Csr> edges;  // vertex i = tasks[i]; read by edges_of
  bool steps_overlap = false;        // no barrier ends the step: each unit's next one begins as it is done
  bool switches_reduce = false;      // in some collective, where the network can
  int ranks = 0;                     // of the job
  int simulated_ranks = 0;           // rank classes that have tasks of their own
  Basis host_basis = Basis::guess;   // of what the host takes to issue kernels
  std::string fold_note;             // why it was folded so far and no further; empty when not asked
};

// Where the run stands, after the engine. A task that ran slowed has its stretches listed.
struct SlowStretch {
  int32_t task;
  double from, to;  // s; the task ran at slowed speed in between
};
struct Timeline {
  std::vector<double> start, end;   // s, per task; start = all predecessors done
  std::vector<SlowStretch> slowed;  // sorted by (task, from)
  double step = 0;                  // end of the last task
  // What it took:
  std::string engine;
  int64_t events = 0, flows = 0, link_flows = 0;
  int64_t shared_flows = 0;  // that met others on a link and so went to SimGrid
};

}  // namespace rehearse
