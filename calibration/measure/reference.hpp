// What a call must deliver, computed in double precision from the operands' contents: sampled elements of
// large results, with the tolerance of the types involved.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "calibration/work/operands.hpp"

namespace rehearse::calibration {

struct Expected {
  size_t operand;
  int64_t element;
  double value, tolerance;
};

// Value of an element before the call, as the type holds it.
double content_at(const OperandSpec& spec, int64_t element);

// Reads elements of an operand from the device, for what earlier calls wrote.
using ReadOperand = std::function<std::vector<double>(size_t operand, int64_t first, int64_t count)>;

class Reference {
 public:
  explicit Reference(std::vector<OperandSpec> operands) : operands_(std::move(operands)) {}
  const std::vector<OperandSpec>& operands() const { return operands_; }
  double in(size_t operand, int64_t element) const { return content_at(operands_[operand], element); }
  // `magnitude`: of the terms that the value is a sum of; fp32 arithmetic loses 2^-14 of it at most.
  void expect(size_t operand, int64_t element, double value, double magnitude);
  void expect_within(size_t operand, int64_t element, double value, double tolerance) {
    list_.push_back({operand, element, value, tolerance});
  }
  std::vector<Expected> take() { return std::move(list_); }

 private:
  std::vector<OperandSpec> operands_;
  std::vector<Expected> list_;
};

// Up to `wanted` different indices below `count`: the first, the last, others at random; ascending.
std::vector<int64_t> sampled(int64_t count, int wanted, uint64_t seed);

void expect_gemm(const GemmCall& call, Reference& reference);
// `read` gives the O and log-sum-exp that a backward call was given.
void expect_attention(const AttentionCall& call, const ReadOperand& read, Reference& reference);
void expect_memory(const MemoryCall& call, Reference& reference);
// What `rank` of `ranks` receives; nothing where it takes no part.
void expect_collective(const CollectiveCall& call, int rank, int ranks, Reference& reference);

}  // namespace rehearse::calibration
