#include "calibration/backends/cuda/collectives.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "calibration/backends/cuda/cuda.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::cuda {

namespace {

// First number of a communicator's purpose.
constexpr int kGroups = 0, kCollective = 1, kTransfer = 2;

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw BackendError(std::string("NCCL: cannot ") + what + ": " + ncclGetErrorString(result) + " (" +
                     ncclGetLastError(nullptr) + ")");
}

ncclDataType_t type_of(DType type) {
  switch (type) {
    case DType::fp16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::fp8:
      return ncclUint8;  // only moved
    case DType::fp32:
    case DType::tf32:
      break;
  }
  return ncclFloat32;
}

// Where a call reads and writes on a rank. In place: a gathered share stands in its place of the one buffer,
// and so does the share that is scattered.
struct Buffers {
  const char* send;
  char* receive;
  size_t sent, received;  // elements
};

Buffers buffers_of(const CollectiveCall& call, std::span<const Tensor> operands, int me) {
  char* first = static_cast<char*>(operands[0].data);
  if (!call.in_place)
    return {first, static_cast<char*>(operands[1].data), size_t(operands[0].spec.count),
            size_t(operands[1].spec.count)};
  const auto whole = size_t(operands[0].spec.count), share = whole / size_t(call.group.size);
  char* mine = first + size_t(me) * share * size_t(bytes_of(call.dtype));
  if (call.op == CollectiveOp::all_gather) return {mine, first, share, whole};
  if (call.op == CollectiveOp::reduce_scatter) return {first, mine, whole, share};
  return {first, first, whole, whole};
}

// Every rank to every other: equal shares.
void exchange(const Buffers& b, int ranks, DType type, ncclComm_t communicator, cudaStream_t stream) {
  const size_t share = b.sent / size_t(ranks), bytes = share * size_t(bytes_of(type));
  check_nccl(ncclGroupStart(), "open a group");
  for (int i = 0; i < ranks; ++i) {
    check_nccl(ncclSend(b.send + size_t(i) * bytes, share, type_of(type), i, communicator, stream), "send");
    check_nccl(ncclRecv(b.receive + size_t(i) * bytes, share, type_of(type), i, communicator, stream),
               "receive");
  }
  check_nccl(ncclGroupEnd(), "exchange");
}

// Everyone to the next, from the one before.
void shift(const Buffers& b, int me, int ranks, DType type, ncclComm_t communicator, cudaStream_t stream) {
  check_nccl(ncclGroupStart(), "open a group");
  check_nccl(ncclSend(b.send, b.sent, type_of(type), (me + 1) % ranks, communicator, stream), "send");
  check_nccl(ncclRecv(b.receive, b.received, type_of(type), (me + ranks - 1) % ranks, communicator, stream),
             "receive");
  check_nccl(ncclGroupEnd(), "shift");
}

void issue(const CollectiveCall& call, std::span<const Tensor> operands, ncclComm_t communicator,
           cudaStream_t stream) {
  int me = 0, ranks = 0;
  check_nccl(ncclCommUserRank(communicator, &me), "ask for the rank");
  check_nccl(ncclCommCount(communicator, &ranks), "ask for the ranks");
  const Buffers b = buffers_of(call, operands, me);
  const ncclDataType_t type = type_of(call.dtype);
  switch (call.op) {
    case CollectiveOp::all_reduce:
      return check_nccl(ncclAllReduce(b.send, b.receive, b.sent, type, ncclSum, communicator, stream),
                        "all-reduce");
    case CollectiveOp::all_gather:
      return check_nccl(ncclAllGather(b.send, b.receive, b.sent, type, communicator, stream), "all-gather");
    case CollectiveOp::reduce_scatter:
      return check_nccl(ncclReduceScatter(b.send, b.receive, b.received, type, ncclSum, communicator, stream),
                        "reduce-scatter");
    case CollectiveOp::broadcast:
      return check_nccl(ncclBroadcast(b.send, b.receive, b.sent, type, 0, communicator, stream), "broadcast");
    case CollectiveOp::all_to_all:
      return exchange(b, ranks, call.dtype, communicator, stream);
    case CollectiveOp::send_recv:
      return shift(b, me, ranks, call.dtype, communicator, stream);
  }
}

// The first transfer connects the two ranks, and blocks the host on both until it is done.
void connect(ncclComm_t communicator, bool sends) {
  Scratch byte;
  const Stream stream = make_stream();
  if (sends)
    check_nccl(ncclSend(byte.of(1), 1, ncclUint8, 1, communicator, stream.get()), "connect two ranks");
  else
    check_nccl(ncclRecv(byte.of(1), 1, ncclUint8, 0, communicator, stream.get()), "connect two ranks");
  check(cudaStreamSynchronize(stream.get()), "connect two ranks");
}

// As text, since ranks broadcast text: two letters a byte.
std::string lettered(const ncclUniqueId& id) {
  std::string text;
  for (char c : id.internal) {
    text += char('a' + (static_cast<unsigned char>(c) >> 4));
    text += char('a' + (static_cast<unsigned char>(c) & 15));
  }
  return text;
}
ncclUniqueId unlettered(const std::string& text) {
  ncclUniqueId id{};
  if (text.size() != 2 * sizeof id.internal) throw BackendError("NCCL: the ranks' broadcast lost its text");
  for (size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = char((text[2 * i] - 'a') << 4 | (text[2 * i + 1] - 'a'));
  return id;
}

}  // namespace

std::string Collectives::version() {
  int v = 0;
  check_nccl(ncclGetVersion(&v), "ask for the version");
  return "NCCL " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

// By itself NCCL connects a group the first time that an algorithm needs it, which blocks the host until the
// others do the same: ranks that issue a step's collectives in different orders would wait for each other.
Collectives::Collectives(Ranks& ranks) : ranks_(ranks) { setenv("NCCL_RUNTIME_CONNECT", "0", 0); }

Collectives::~Collectives() {
  for (auto& [purpose, communicator] : communicators_)
    if (communicator) ncclCommDestroy(communicator);
  if (world_) ncclCommDestroy(world_);
}

std::optional<std::string> Collectives::refuses(const CollectiveCall& call) const {
  if (call.group.size * call.group.stride > ranks_.size())
    return "needs " + std::to_string(call.group.size * call.group.stride) + " ranks, there are " +
           std::to_string(ranks_.size());
  if (call.dtype == DType::fp8 &&
      (call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::reduce_scatter))
    return "fp8 is not summed over the wire";
  if (call.in_place && (call.op == CollectiveOp::all_to_all || call.op == CollectiveOp::send_recv))
    return "NCCL has no in-place " + std::string(name_of(kOpNames, call.op));
  return std::nullopt;
}

void Collectives::make_world() {
  if (world_) return;
  ncclUniqueId id{};
  if (ranks_.rank() == 0) check_nccl(ncclGetUniqueId(&id), "make an identifier");
  id = unlettered(ranks_.broadcast(ranks_.rank() == 0 ? lettered(id) : std::string(), 0));
  check_nccl(ncclCommInitRank(&world_, ranks_.size(), id, ranks_.rank()), "connect the ranks");
}

// All ranks together, members or not; groups that run at once are made at once.
void Collectives::make(const Purpose& purpose, const std::vector<int>& members, int channels) {
  if (communicators_.contains(purpose)) return;
  make_world();
  const auto place = std::find(members.begin(), members.end(), ranks_.rank());
  const int color =
      place == members.end() ? NCCL_SPLIT_NOCOLOR : *std::min_element(members.begin(), members.end());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (channels > 0) config.minCTAs = config.maxCTAs = channels;
  ncclComm_t made = nullptr;
  check_nccl(ncclCommSplit(world_, color, int(place - members.begin()), &made, &config),
             "make a group of ranks");
  communicators_[purpose] = color == NCCL_SPLIT_NOCOLOR ? nullptr : made;
}

ncclComm_t Collectives::communicator(const Purpose& purpose) const {
  const auto found = communicators_.find(purpose);
  if (found == communicators_.end() || !found->second)
    throw BackendError("NCCL: this group of ranks was not made");
  return found->second;
}

Collectives::Purpose Collectives::purpose_of(const Group& group, int channels, int ranks) {
  const bool several = group.concurrent && group.size < ranks;
  return {kGroups, group.size, group.stride, several ? 1 : 0, channels};
}

Collectives::Purpose Collectives::purpose_of(const Step& step, int rank) {
  Purpose purpose;
  switch (step.kind) {
    case Step::Kind::kernel:
      break;
    case Step::Kind::collective:
      purpose = {kCollective};
      purpose.insert(purpose.end(), step.members.begin(), step.members.end());
      break;
    case Step::Kind::send:
      purpose = {kTransfer, rank, step.peer};
      break;
    case Step::Kind::receive:
      purpose = {kTransfer, step.peer, rank};
      break;
  }
  return purpose;
}

void Collectives::prepare(const Group& group, int channels) {
  make(purpose_of(group, channels, ranks_.size()), members_of(group, ranks_.rank(), ranks_.size()), channels);
}

void Collectives::run(const CollectiveCall& call, int channels, std::span<const Tensor> operands,
                      cudaStream_t stream) {
  if (members_of(call.group, ranks_.rank(), ranks_.size()).empty()) return;
  issue(call, operands, communicator(purpose_of(call.group, channels, ranks_.size())), stream);
}

void Collectives::prepare(std::span<const Step> steps) {
  std::set<Purpose> mine, all;
  for (const Step& step : steps)
    if (step.kind != Step::Kind::kernel) mine.insert(purpose_of(step, ranks_.rank()));
  std::ostringstream text;
  for (const Purpose& purpose : mine) {
    text << purpose.size();
    for (int number : purpose) text << ' ' << number;
    text << '\n';
  }
  for (int root = 0; root < ranks_.size(); ++root) {
    std::istringstream theirs(ranks_.broadcast(root == ranks_.rank() ? text.str() : std::string(), root));
    for (size_t count = 0; theirs >> count;) {
      Purpose purpose(count);
      for (int& number : purpose) theirs >> number;
      all.insert(std::move(purpose));
    }
  }
  for (const Purpose& purpose : all) {
    if (communicators_.contains(purpose)) continue;
    make(purpose, {purpose.begin() + 1, purpose.end()}, 0);
    if (purpose.front() == kTransfer && communicators_[purpose])
      connect(communicators_[purpose], purpose[1] == ranks_.rank());
  }
}

void Collectives::run(const Step& step, cudaStream_t stream) {
  const ncclComm_t group = communicator(purpose_of(step, ranks_.rank()));
  const Operands& operands = *step.call.operands;
  if (step.kind == Step::Kind::collective) {
    const auto* call = std::get_if<CollectiveCall>(step.call.work);
    if (!call) throw BackendError("a step that is a collective has no collective to run");
    return issue(*call, operands, group, stream);
  }
  const bool sends = step.kind == Step::Kind::send;
  const Tensor& message = sends ? operands.front() : operands.back();
  const auto count = size_t(message.spec.count);
  const ncclDataType_t type = type_of(message.spec.dtype);
  if (sends)
    check_nccl(ncclSend(message.data, count, type, 1, group, stream), "send");
  else
    check_nccl(ncclRecv(message.data, count, type, 0, group, stream), "receive");
}

void Collectives::check_health() const {
  for (const auto& [purpose, communicator] : communicators_) {
    if (!communicator) continue;
    ncclResult_t state = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(communicator, &state), "ask for errors");
    if (state != ncclSuccess && state != ncclInProgress) check_nccl(state, "go on");
  }
}

}  // namespace rehearse::calibration::cuda
