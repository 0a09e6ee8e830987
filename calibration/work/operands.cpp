#include "calibration/work/operands.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::calibration {

double OperandSpec::bytes() const {
  const double each = content == Content::mask ? 1 : content == Content::tokens ? 4 : bytes_of(dtype);
  return each * double(count);
}

namespace {

// Collects operands; seeds follow the order.
class Specs {
 public:
  explicit Specs(uint64_t first_seed) : seed_(first_seed) {}
  OperandSpec& add(const char* name, DType type, Content content, int64_t count, bool output) {
    return list_.emplace_back(OperandSpec{name, type, content, count, seed_++, 1, 0, output});
  }
  OperandSpec& in(const char* name, DType type, int64_t count) {
    return add(name, type, Content::normal, count, false);
  }
  OperandSpec& out(const char* name, DType type, int64_t count) {
    return add(name, type, Content::zero, count, true);
  }
  // Read and written.
  OperandSpec& both(const char* name, DType type, int64_t count) {
    return add(name, type, Content::normal, count, true);
  }
  void mask(int64_t count) { add("mask", DType::fp8, Content::mask, count, false); }
  void tokens(const char* name, int64_t count, int64_t bound) {
    add(name, DType::fp32, Content::tokens, count, false).bound = bound;
  }
  std::vector<OperandSpec> take() { return std::move(list_); }

 private:
  uint64_t seed_;
  std::vector<OperandSpec> list_;
};

int64_t whole(double x) { return int64_t(std::llround(x)); }

std::vector<OperandSpec> specs(const GemmCall& call) {
  const auto& s = call.shape;
  const DType result = call.role == GemmRole::weight_gradient || call.dtype == DType::tf32 ? DType::fp32
                       : call.dtype == DType::fp8                                          ? DType::bf16
                                                                                           : call.dtype;
  Specs list(1);
  list.in("A", call.dtype, whole(s.batch * s.m * s.k));
  list.in("B", call.dtype, whole(s.batch * s.k * s.n));
  const int64_t count = whole(s.batch * s.m * s.n);
  if (call.accumulate)
    list.both("C", result, count).scale = std::sqrt(s.k);
  else
    list.out("C", result, count);
  return list.take();
}

std::vector<OperandSpec> specs(const AttentionCall& call) {
  const auto& s = call.shape;
  const int64_t queries = whole(s.batch * s.sequence * s.heads * s.head_dim);
  const int64_t keys = whole(s.batch * s.sequence * s.kv_heads * s.head_dim);
  const int64_t lines = whole(s.batch * s.heads * s.sequence);
  const DType t = call.dtype;
  Specs list(1);
  list.in("Q", t, queries);
  list.in("K", t, keys);
  list.in("V", t, keys);
  list.add("O", t, call.backward ? Content::normal : Content::zero, queries, !call.backward);
  list.add("log-sum-exp", DType::fp32, Content::zero, lines, !call.backward);
  if (call.backward) {
    list.in("dO", t, queries);
    list.out("dQ", t, queries);
    list.out("dK", t, keys);
    list.out("dV", t, keys);
  }
  return list.take();
}

// Tensors of `inputs` and `outputs` names, each rows x width of the type.
void elementwise(Specs& list, DType t, int64_t n, std::initializer_list<const char*> inputs,
                 std::initializer_list<const char*> outputs) {
  for (const char* name : inputs) {
    if (std::string_view(name) == "mask")
      list.mask(n);
    else
      list.in(name, t, n);
  }
  for (const char* name : outputs) list.out(name, t, n);
}

void norm_specs(Specs& list, DType t, int64_t rows, int64_t width, bool backward) {
  const int64_t n = rows * width;
  if (!backward) {
    elementwise(list, t, n, {"x"}, {});
    elementwise(list, t, width, {"gain", "bias"}, {});
    elementwise(list, t, n, {}, {"y"});
    elementwise(list, DType::fp32, rows, {}, {"mean", "rstd"});
    return;
  }
  elementwise(list, t, n, {"x", "dy"}, {});
  elementwise(list, t, width, {"gain"}, {});
  elementwise(list, DType::fp32, rows, {"mean", "rstd"}, {});
  elementwise(list, t, n, {}, {"dx"});
  elementwise(list, DType::fp32, width, {}, {"dgain", "dbias"});
}

void table_specs(Specs& list, const MemoryCall& call, int64_t rows, int64_t width) {
  const DType t = call.dtype, f = DType::fp32;
  const int64_t n = rows * width;
  switch (call.kernel) {
    case MemoryKernel::rope:
      list.in("x", t, n);
      elementwise(list, f, rope_positions(rows) * rope_head(width) / 2, {"cos", "sin"}, {});
      list.out("y", t, n);
      return;
    case MemoryKernel::embedding:
      list.in("table", t, kEmbeddingRows * width);
      list.tokens("tokens", rows, kEmbeddingRows);
      list.out("y", t, n);
      return;
    case MemoryKernel::embedding_backward:
      list.tokens("tokens", rows, kEmbeddingRows);
      list.in("dy", t, n);
      list.both("gradient", f, kEmbeddingRows * width);
      return;
    case MemoryKernel::cross_entropy:
      list.in("logits", t, n);
      list.tokens("targets", rows, width);
      list.out("loss", f, rows);
      return;
    case MemoryKernel::cross_entropy_backward:
      list.both("logits", t, n);
      list.tokens("targets", rows, width);
      return;
    case MemoryKernel::accumulate:
      list.in("gradient", t, n);
      list.both("main", f, n);
      return;
    case MemoryKernel::square_sum:
      list.in("gradient", f, n);
      list.out("sum", f, 1);
      return;
    case MemoryKernel::adam:
      list.in("gradient", f, n);
      for (const char* name : {"master", "first", "second"}) list.both(name, f, n);
      list.out("weights", t, n);
      return;
    default:
      return;
  }
}

std::vector<OperandSpec> specs(const MemoryCall& call) {
  const int64_t rows = whole(call.shape.rows), width = whole(call.shape.width), n = rows * width;
  const DType t = call.dtype;
  Specs list(1);
  switch (call.kernel) {
    case MemoryKernel::copy:
    case MemoryKernel::softmax:
    case MemoryKernel::gelu:
      elementwise(list, t, n, {"x"}, {"y"});
      break;
    case MemoryKernel::add:
      elementwise(list, t, n, {"a", "b"}, {"y"});
      break;
    case MemoryKernel::norm:
      norm_specs(list, t, rows, width, false);
      break;
    case MemoryKernel::norm_backward:
      norm_specs(list, t, rows, width, true);
      break;
    case MemoryKernel::softmax_backward:
      list.in("y", t, n).scale = 1 / std::sqrt(double(width));
      elementwise(list, t, n, {"dy"}, {"dx"});
      break;
    case MemoryKernel::dropout:
      elementwise(list, t, n, {"x", "mask"}, {"y"});
      break;
    case MemoryKernel::dropout_backward:
      elementwise(list, t, n, {"dy", "mask"}, {"dx"});
      break;
    case MemoryKernel::dropout_add:
      elementwise(list, t, n, {"residual", "x", "mask"}, {"y"});
      break;
    case MemoryKernel::gelu_backward:
      elementwise(list, t, n, {"x", "dy"}, {"dx"});
      break;
    case MemoryKernel::swiglu:
      elementwise(list, t, n, {"a", "b"}, {"y"});
      break;
    case MemoryKernel::swiglu_backward:
      elementwise(list, t, n, {"a", "b", "dy"}, {"da", "db"});
      break;
    default:
      table_specs(list, call, rows, width);
  }
  return list.take();
}

// Elements of the send and receive buffers of one rank.
std::pair<int64_t, int64_t> buffer_counts(const CollectiveCall& call) {
  const double elements = call.bytes / bytes_of(call.dtype), ranks = call.group.size;
  const auto share = std::max<int64_t>(1, int64_t(std::ceil(elements / ranks)));
  const auto all = std::max<int64_t>(1, int64_t(std::ceil(elements)));
  switch (call.op) {
    case CollectiveOp::all_gather:
      return {share, share * call.group.size};
    case CollectiveOp::reduce_scatter:
      return {share * call.group.size, share};
    case CollectiveOp::all_to_all:
      return {share * call.group.size, share * call.group.size};
    case CollectiveOp::all_reduce:
    case CollectiveOp::broadcast:
    case CollectiveOp::send_recv:
      break;
  }
  return {all, all};
}

std::vector<OperandSpec> specs(const CollectiveCall& call) {
  const auto [sent, received] = buffer_counts(call);
  Specs list(101);
  if (call.in_place) {
    list.both("buffer", call.dtype, std::max(sent, received));
  } else {
    list.in("send", call.dtype, sent);
    list.out("receive", call.dtype, received);
  }
  return list.take();
}

std::vector<OperandSpec> specs(const LaunchCall&) { return {}; }

std::vector<OperandSpec> specs(const OverlapCall& call) {
  auto list = std::visit([](const auto& kernel) { return specs(kernel); }, call.kernel);
  for (auto& spec : specs(call.collective)) list.push_back(spec);
  return list;
}

}  // namespace

std::vector<OperandSpec> operands_of(const Work& work) {
  return std::visit([](const auto& call) { return specs(call); }, work);
}

std::vector<int> members_of(const Group& group, int rank, int ranks) {
  const int block = group.size * group.stride;
  const int base = rank / block * block + rank % group.stride;
  std::vector<int> members;
  if (rank / block * block + block > ranks || (!group.concurrent && base != 0)) return members;
  for (int i = 0; i < group.size; ++i) members.push_back(base + i * group.stride);
  return members;
}

}  // namespace rehearse::calibration
