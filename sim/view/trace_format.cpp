#include "sim/view/trace_format.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/cost/kernel_names.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

// Colours of catapult's own list; an unknown one aborts its import.
constexpr std::string_view kForward = "thread_state_running";    // green
constexpr std::string_view kBackward = "thread_state_runnable";  // blue
constexpr std::string_view kWeight = "rail_response";            // a deeper blue
constexpr std::string_view kMoves = "rail_idle";                 // orange
constexpr std::string_view kOptimizer = "generic_work";          // grey
constexpr std::string_view kRecompute = "terrible";              // red
constexpr std::string_view kRest = "grey";

template <class... Args>
void add(TraceText& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void append(TraceText& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

// The arguments of an event; `"args":{}` is left out where there are none.
class Args {
 public:
  explicit Args(TraceText& out) : out_(out) {}
  void number(std::string_view key, int64_t value) {
    begin(key);
    add(out_, "{}", value);
  }
  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_string(out_, value);
  }
  void close() {
    if (!empty_) append(out_, "}");
  }

 private:
  void begin(std::string_view key) {
    append(out_, empty_ ? ",\"args\":{" : ",");
    empty_ = false;
    add(out_, "\"{}\":", key);
  }
  TraceText& out_;
  bool empty_ = true;
};

// As Kineto records them.
std::string_view collective_name(CollectiveOp op, bool receives) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return "allreduce";
    case CollectiveOp::all_gather:
      return "_allgather_base";
    case CollectiveOp::reduce_scatter:
      return "_reduce_scatter_base";
    case CollectiveOp::all_to_all:
      return "all_to_allv";
    case CollectiveOp::send_recv:
      return receives ? "recv" : "send";
    case CollectiveOp::broadcast:
      return "broadcast";
  }
  return "unknown";
}

std::string_view torch_dtype(DType type) {
  switch (type) {
    case DType::fp32:
    case DType::tf32:
      return "Float";
    case DType::fp16:
      return "Half";
    case DType::bf16:
      return "BFloat16";
    case DType::fp8:
      return "Float8_e4m3fn";
  }
  return "unknown";
}

std::string_view action_letter(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return "F";
    case ActionKind::backward:
      return "B";
    case ActionKind::input_gradient:
      return "I";
    case ActionKind::weight_gradient:
      return "W";
  }
  return "?";
}

std::string task_name(const TraceInput& in, const Task& task) {
  if (task.pipeline) return fmt::format("{}{}", action_letter(task.action), task.micro.value);
  if (task.program >= 0) return in.graph.programs[task.program].name;
  if (task.traffic >= 0) {
    const Traffic& traffic = in.graph.traffic[task.traffic];
    return nccl_kernel_name(traffic.op, traffic.dtype, traffic.algorithm, traffic.protocol);
  }
  return is_transfer(task) ? "ncclDevKernel_SendRecv" : "fixed";
}

std::string_view part_colour(Part part) {
  switch (part) {
    case Part::compute:
      return kForward;
    case Part::recompute:
      return kRecompute;
    case Part::optimizer:
      return kOptimizer;
    default:
      return kRest;
  }
}

std::string_view action_colour(ActionKind kind) {
  if (kind == ActionKind::forward) return kForward;
  return kind == ActionKind::weight_gradient ? kWeight : kBackward;
}

std::string_view task_colour(const TraceInput& in, const Task& task) {
  if (task.pipeline) return action_colour(task.action);
  if (task.program < 0) return task.stream == Stream::compute ? kRest : kMoves;
  const auto& parts = in.graph.programs[task.program].part_s;
  return part_colour(
      static_cast<Part>(std::max_element(std::begin(parts), std::end(parts)) - std::begin(parts)));
}

std::string_view op_colour(const Task& task, const Op& op) {
  if (op.kind == OpKind::collective) return kMoves;
  if (op.part == Part::compute && task.pipeline) return action_colour(task.action);
  return part_colour(op.part);
}

// Elements that go in and come out of one rank's buffers; bytes_per_call as nccl-tests counts them.
void message_args(Args& args, const Traffic& traffic) {
  const double whole = traffic.bytes_per_call / bytes_of(traffic.dtype), part = whole / traffic.group_size;
  args.number("In msg nelems", std::llround(traffic.op == CollectiveOp::all_gather ? part : whole));
  args.number("Out msg nelems", std::llround(traffic.op == CollectiveOp::reduce_scatter ? part : whole));
  args.text("dtype", torch_dtype(traffic.dtype));
}

void traffic_args(Args& args, const TraceForm& form, const Traffic& traffic, bool receives) {
  const std::string_view axis = name_of(kAxisNames, traffic.axis);
  args.text("what", traffic.what);
  args.number("bytes", std::llround(traffic.bytes_per_call));
  if (traffic.op != CollectiveOp::send_recv)
    args.text("group", fmt::format("{} x {}", axis, traffic.group_size));
  if (!form.per_rank) return;
  args.text("Collective name", collective_name(traffic.op, receives));
  message_args(args, traffic);
  args.number("Group size", traffic.group_size);
  args.text("Process Group Name", axis);
}

void transfer_args(Args& args, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                   RankId rank) {
  const Task& task = in.graph.tasks[event.task];
  const RankId peer = peer_of(in.graph, in.layout, task, event.position, rank);
  args.number("peer", peer.value);
  if (!form.per_rank) return;
  args.number("Src Rank", event.position == 0 ? rank.value : peer.value);
  args.number("Dst Rank", event.position == 0 ? peer.value : rank.value);
}

void slice_args(TraceText& out, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                const TraceLine& line) {
  const Task& task = in.graph.tasks[event.task];
  const Op* op = event.op < 0 ? nullptr : &in.graph.programs[task.program].ops[event.op];
  Args args(out);
  if (form.per_rank && !line.expanded) {
    args.number("device", in.layout.gpu(line.rank).value % in.scenario.cluster.gpus_per_node);
    args.number("stream", event.lane);
    args.number("correlation", line.correlation);
  }
  const int traffic = op != nullptr ? op->traffic : task.traffic;
  if (traffic >= 0) traffic_args(args, form, in.graph.traffic[traffic], event.position > 0);
  if (op == nullptr && is_transfer(task)) transfer_args(args, in, form, event, line.rank);
  if (op == nullptr && task.micro.valid()) args.number("micro", task.micro.value);
  if (op == nullptr && task.chunk.valid()) args.number("chunk", task.chunk.value);
  if (op != nullptr && op->layer >= 0) args.number("layer", op->layer);
  args.close();
}

void append_slice(TraceText& out, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                  const TraceLine& line) {
  const Task& task = in.graph.tasks[event.task];
  const Op* op = event.op < 0 ? nullptr : &in.graph.programs[task.program].ops[event.op];
  add(out, R"({{"ph":"X","cat":"{}","name":)", line.expanded ? "gpu_user_annotation" : "kernel");
  append_string(out, op != nullptr ? op->name : task_name(in, task));
  add(out, R"(,"pid":{},"tid":{},"ts":)", line.rank.value + 1, event.lane);
  append_time(out, form, event.ts);
  append(out, ",\"dur\":");
  append_time(out, form, event.dur);
  add(out, ",\"cname\":\"{}\"", op != nullptr ? op_colour(task, *op) : task_colour(in, task));
  slice_args(out, in, form, event, line);
  append(out, "}");
}

void append_arrow(TraceText& out, const TraceForm& form, const TraceEvent& event, const TraceLine& line) {
  const bool starts = event.phase == TracePhase::arrow_start;
  append(out, starts ? R"({"ph":"s")" : R"({"ph":"f","bp":"e")");
  add(out, R"(,"cat":"p2p","name":"p2p","id":{},"pid":{},"tid":{},"ts":)", line.arrow, line.rank.value + 1,
      event.lane);
  append_time(out, form, event.ts);
  append(out, "}");
}

// To a millionth of a GiB, about 1 KiB.
void append_gibi(TraceText& out, std::string_view key, double bytes) {
  if (!std::isfinite(bytes)) throw std::logic_error("memory over time is not finite");
  add(out, "\"{}\":{}", key, std::round(bytes / kGibi * 1e6) / 1e6);
}

void append_counter(TraceText& out, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                    const TraceLine& line) {
  const int stage = in.layout.coordinates(line.rank).pp;
  const auto& stages = in.memory.stages;
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const StageMemory& s) { return s.stage.value == stage; });
  const MemoryParts& parts = at->over_time[event.op].parts;
  add(out, R"({{"ph":"C","name":"memory GiB","pid":{},"tid":0,"ts":)", line.rank.value + 1);
  append_time(out, form, event.ts);
  const std::pair<std::string_view, double> series[] = {
      {"weights", parts.weights},         {"gradients", parts.gradients}, {"optimizer", parts.optimizer},
      {"activations", parts.activations}, {"logits", parts.logits},       {"buffers", parts.buffers},
      {"framework", parts.framework}};
  append(out, ",\"args\":{");
  for (const auto& [key, bytes] : series) {
    if (key != series[0].first) append(out, ",");
    append_gibi(out, key, bytes);
  }
  append(out, "}}");
}

}  // namespace

void append_string(TraceText& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {
    add(out, "\"{}\"", text);
    return;
  }
  append(out, nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string_view lane_name(int lane) {
  constexpr std::string_view kNames[] = {"",   "compute", "pp send", "pp recv",   "tp comm",
                                         "cp", "ep",      "dp comm", "other comm"};
  return kNames[lane];
}

void append_time(TraceText& out, const TraceForm& form, int64_t steps) {
  constexpr std::string_view kEighths[] = {"", ".125", ".25", ".375", ".5", ".625", ".75", ".875"};
  add(out, "{}", steps / form.steps_per_us());
  if (!form.per_rank) append(out, kEighths[steps % 8]);
}

void append_event(TraceText& out, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                  const TraceLine& line) {
  switch (event.phase) {
    case TracePhase::slice:
      return append_slice(out, in, form, event, line);
    case TracePhase::arrow_start:
    case TracePhase::arrow_end:
      return append_arrow(out, form, event, line);
    case TracePhase::counter:
      return append_counter(out, in, form, event, line);
  }
}

}  // namespace rehearse
