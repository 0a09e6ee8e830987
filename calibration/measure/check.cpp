#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/measure/agree.hpp"
#include "calibration/measure/measure.hpp"
#include "calibration/measure/reference.hpp"
#include "calibration/work/overloaded.hpp"

namespace rehearse::calibration {
namespace {

std::string indices(const Work& work, const OperandSpec& spec, int64_t element) {
  const auto pair = [&](double width) {
    return fmt::format("{}[{},{}]", spec.name, element / int64_t(width), element % int64_t(width));
  };
  if (const auto* gemm = std::get_if<GemmCall>(&work)) return pair(gemm->shape.n);
  const auto* memory = std::get_if<MemoryCall>(&work);
  if (memory && spec.count == int64_t(memory->shape.elements())) return pair(memory->shape.width);
  return fmt::format("{}[{}]", spec.name, element);
}

// Elements that stand together are read together.
std::optional<std::string> difference(const Work& work, std::vector<Expected> list, const ReadOperand& read,
                                      const std::vector<OperandSpec>& specs) {
  constexpr int64_t gap = 64;
  std::sort(list.begin(), list.end(), [](const Expected& a, const Expected& b) {
    return std::pair(a.operand, a.element) < std::pair(b.operand, b.element);
  });
  for (size_t from = 0; from < list.size();) {
    size_t to = from + 1;
    while (to < list.size() && list[to].operand == list[from].operand &&
           list[to].element - list[to - 1].element < gap)
      ++to;
    const int64_t first = list[from].element;
    const auto values = read(list[from].operand, first, list[to - 1].element - first + 1);
    for (; from < to; ++from) {
      const Expected& e = list[from];
      const double found = values[size_t(e.element - first)];
      if (std::fabs(found - e.value) <= e.tolerance) continue;  // a NaN is none
      return fmt::format("{} = {:.6g}, reference {:.6g}, tolerance {:.2g}",
                         indices(work, specs[e.operand], e.element), found, e.value, e.tolerance);
    }
  }
  return std::nullopt;
}

std::vector<Expected> expected(const Work& work, const Operands& operands, const ReadOperand& read,
                               const Ranks& ranks) {
  std::vector<OperandSpec> specs;
  for (const auto& tensor : operands) specs.push_back(tensor.spec);
  Reference reference(std::move(specs));
  std::visit(Overloaded{[&](const GemmCall& c) { expect_gemm(c, reference); },
                        [&](const AttentionCall& c) { expect_attention(c, read, reference); },
                        [&](const MemoryCall& c) { expect_memory(c, reference); },
                        [&](const CollectiveCall& c) {
                          expect_collective(c, ranks.rank(), ranks.size(), reference);
                        },
                        [](const auto&) {}},
             work);
  return reference.take();
}

std::optional<std::string> check_one(Backend& backend, const Work& work, const Operands& operands,
                                     Ranks& ranks) {
  const ReadOperand read = [&](size_t operand, int64_t first, int64_t count) {
    return backend.read(operands[operand], first, count);
  };
  std::vector<OperandSpec> specs;
  for (const auto& tensor : operands) specs.push_back(tensor.spec);
  std::optional<std::string> wrong;
  together(ranks, [&] {
    const Call call{&work, &operands};
    backend.time({&call, 1}, Clocking::stream);
    wrong = difference(work, expected(work, operands, read, ranks), read, specs);
  });
  return first_of(ranks, wrong);
}

}  // namespace

std::optional<std::string> check_result(Backend& backend, const Work& work, const Operands& operands,
                                        Ranks& ranks) {
  if (std::holds_alternative<LaunchCall>(work)) return std::nullopt;
  const auto* overlap = std::get_if<OverlapCall>(&work);
  if (!overlap) return check_one(backend, work, operands, ranks);
  const Work kernel = std::visit([](const auto& k) { return Work(k); }, overlap->kernel);
  const Work collective = overlap->collective;
  const auto middle = operands.begin() + std::ptrdiff_t(operands_of(kernel).size());
  if (auto wrong = check_one(backend, kernel, {operands.begin(), middle}, ranks)) return wrong;
  return check_one(backend, collective, {middle, operands.end()}, ranks);
}

}  // namespace rehearse::calibration
