// A step executed by several ranks: transfers that reuse their buffers, in orders that would stall or mix up
// data if sends waited for their receivers.
#include <algorithm>
#include <numeric>

#include "calibration/work/values.hpp"
#include "tests/calibration/ranks/job.hpp"

namespace rehearse::calibration {
namespace {

constexpr int64_t kCount = 300000;  // far more than MPI keeps for a receiver that has not asked yet
constexpr size_t kMicrobatches = 6;

class Execute : public JobTest {
 protected:
  Execute() {
    OperandSpec spec{"x", DType::fp32, Content::normal, kCount, 0, 1, 0, false};
    for (size_t i = 0; i < 2 * kMicrobatches + 2; ++i) {
      spec.seed = i;
      tensors_.push_back({spec, backend_->allocate(size_t(spec.bytes()))});
      backend_->fill(tensors_.back());
    }
  }
  ~Execute() override {
    for (const auto& tensor : tensors_) backend_->release(tensor.data);
  }

  // The calls live until the test is over.
  Call call(const Work& work, const Operands& list) {
    operands_.push_back(std::make_unique<Operands>(list));
    works_.push_back(std::make_unique<Work>(work));
    return {works_.back().get(), operands_.back().get()};
  }
  Tensor written(Tensor tensor) {
    tensor.spec.output = true;
    return tensor;
  }
  Step copy(const Tensor& from, const Tensor& to, std::vector<int> after = {}) {
    const MemoryCall work{DType::fp32, MemoryKernel::copy, {1, double(kCount)}};
    return {call(work, {from, written(to)}), 0, std::move(after), Step::Kind::kernel, -1, 0, {}};
  }
  Step transfer(Step::Kind kind, const Tensor& buffer, int peer, int tag, std::vector<int> after = {}) {
    const CollectiveCall work{CollectiveOp::send_recv, DType::fp32, 4.0 * kCount, {}};
    return {call(work, {buffer}), 1, std::move(after), kind, peer, tag, {}};
  }
  Step reduce(const Tensor& from, const Tensor& to, std::vector<int> members) {
    const auto n = int(members.size());
    const CollectiveCall work{CollectiveOp::all_reduce, DType::fp32, 4.0 * kCount, {n, 1, true, 1, n}};
    return {call(work, {from, written(to)}), 2, {}, Step::Kind::collective, -1, 0, std::move(members)};
  }
  void expect_seed(const Tensor& tensor, uint64_t seed, double factor = 1) {
    const auto values = read(tensor);
    for (int64_t i = 0; i < kCount; i += 997)
      ASSERT_NEAR(values[size_t(i)], factor * double(float(value_at(seed, uint64_t(i)))), 1e-5) << i;
  }

  std::vector<Tensor> tensors_;
  std::vector<std::unique_ptr<Operands>> operands_;
  std::vector<std::unique_ptr<Work>> works_;
};

// Every stage passes microbatches on through one buffer for what comes and one for what goes.
TEST_F(Execute, PipelineThroughSharedBuffers) {
  const Tensor in = tensors_[2 * kMicrobatches], out = tensors_[2 * kMicrobatches + 1];
  std::vector<Step> steps;
  for (size_t m = 0; m < kMicrobatches; ++m) {
    const Tensor &source = tensors_[m], &kept = tensors_[kMicrobatches + m];
    if (rank_ > 0) steps.push_back(transfer(Step::Kind::receive, in, rank_ - 1, int(m)));
    steps.push_back(copy(rank_ > 0 ? in : source, kept));
    if (rank_ + 1 == size_) continue;
    steps.push_back(copy(kept, out));
    steps.push_back(transfer(Step::Kind::send, out, rank_ + 1, int(m)));
  }
  const auto spans = backend_->execute(steps);
  ASSERT_EQ(spans.size(), steps.size());
  for (size_t m = 0; m < kMicrobatches; ++m) expect_seed(tensors_[kMicrobatches + m], m);
}

// All send at once before anyone asks, and the receives stand in the reverse order of the sends.
TEST_F(Execute, RingOfSendsBeforeReceives) {
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  std::vector<Step> steps;
  steps.reserve(2 * kMicrobatches + 2);
  for (size_t m = 0; m < kMicrobatches; ++m)
    steps.push_back(transfer(Step::Kind::send, tensors_[m], next, int(m)));
  for (size_t m = kMicrobatches; m-- > 0;)
    steps.push_back(transfer(Step::Kind::receive, tensors_[kMicrobatches + m], before, int(m)));
  const int last = int(steps.size()) - 1;
  const Tensor &sum = tensors_[2 * kMicrobatches], &reused = tensors_[0];
  steps.push_back(copy(tensors_[kMicrobatches], sum, {last}));
  // The first send may still be under way.
  steps.push_back(copy(tensors_[1], reused));
  backend_->execute(steps);
  for (size_t m = 0; m < kMicrobatches; ++m) expect_seed(tensors_[kMicrobatches + m], m);
  expect_seed(sum, 0);
  expect_seed(reused, 1);
}

TEST_F(Execute, CollectivesOfOverlappingGroups) {
  std::vector<int> all(static_cast<size_t>(size_));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Step> steps;
  // Every pair, in an order that differs from rank to rank only as far as pairs are left out.
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < size_; ++a)
    for (int b = a + 1; b < size_; ++b) pairs.emplace_back(b, a);
  std::sort(pairs.begin(), pairs.end());
  for (auto [b, a] : pairs)
    if (a == rank_ || b == rank_) steps.push_back(reduce(tensors_[3], tensors_[4], {a, b}));
  steps.push_back(reduce(tensors_[3], tensors_[5], all));
  const auto spans = backend_->execute(steps);
  expect_seed(tensors_[4], 3, 2);
  expect_seed(tensors_[5], 3, size_);
  for (size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].start, spans[i - 1].end);
}

// Ranks start together, and nothing arrives before it was sent.
TEST_F(Execute, SpansOfATransferFit) {
  std::vector<Step> steps;
  if (rank_ == 0) {
    for (int i = 0; i < 20; ++i) steps.push_back(copy(tensors_[0], tensors_[1]));
    steps.push_back(transfer(Step::Kind::send, tensors_[1], 1, 7));
  } else if (rank_ == 1) {
    steps.push_back(transfer(Step::Kind::receive, tensors_[2], 0, 7));
    steps.push_back(copy(tensors_[2], tensors_[3]));
  }
  const auto spans = backend_->execute(steps);
  const auto starts = job().gather(spans.empty() ? 0 : spans.back().start);
  const auto ends = job().gather(spans.empty() ? 0 : spans.front().end);
  EXPECT_GE(ends[1], starts[0]);
  if (rank_ == 1) {
    EXPECT_GE(spans[1].start, spans[0].end);
    expect_seed(tensors_[3], 0);
  }
}

TEST_F(Execute, TransfersToNobodyAreRefused) {
  const std::vector<Step> steps{transfer(Step::Kind::send, tensors_[0], size_, 0)};
  EXPECT_THROW(backend_->execute(steps), BackendError);
}

}  // namespace
}  // namespace rehearse::calibration
