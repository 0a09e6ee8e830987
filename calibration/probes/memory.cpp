// The memory-bound kernels of a block, of the loss and of the optimizer.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

enum class Extent : uint8_t { hidden, scores, vocabulary, parameters };

struct KernelRow {
  MemoryKernel kernel;
  Extent span;
  double worth;
};
constexpr KernelRow kKernels[] = {
    {MemoryKernel::norm, Extent::hidden, 1},
    {MemoryKernel::norm_backward, Extent::hidden, 1},
    {MemoryKernel::adam, Extent::parameters, 1},
    {MemoryKernel::swiglu, Extent::hidden, 0.9},
    {MemoryKernel::swiglu_backward, Extent::hidden, 0.9},
    {MemoryKernel::gelu, Extent::hidden, 0.9},
    {MemoryKernel::gelu_backward, Extent::hidden, 0.9},
    {MemoryKernel::add, Extent::hidden, 0.9},
    {MemoryKernel::dropout_add, Extent::hidden, 0.8},
    {MemoryKernel::rope, Extent::hidden, 0.8},
    {MemoryKernel::accumulate, Extent::parameters, 0.8},
    {MemoryKernel::cross_entropy, Extent::vocabulary, 0.8},
    {MemoryKernel::cross_entropy_backward, Extent::vocabulary, 0.8},
    {MemoryKernel::softmax, Extent::scores, 0.7},
    {MemoryKernel::softmax_backward, Extent::scores, 0.7},
    {MemoryKernel::square_sum, Extent::parameters, 0.7},
    {MemoryKernel::embedding, Extent::hidden, 0.6},
    {MemoryKernel::embedding_backward, Extent::hidden, 0.6},
    {MemoryKernel::dropout, Extent::hidden, 0.5},
    {MemoryKernel::dropout_backward, Extent::hidden, 0.5},
    {MemoryKernel::copy, Extent::hidden, 0.3},
};

void add_row(std::vector<Point>& points, const Wanted& wanted, DType type, const KernelRow& row,
             double of_type) {
  const bool small = is_small(wanted);
  const auto put = [&](double rows, double width, double worth) {
    add(points, wanted, MemoryCall{type, row.kernel, {rows, width}}, of_type * row.worth * worth);
  };
  if (row.span == Extent::parameters) {
    for (const Size& n : small ? sizes(1 << 12, 1 << 22) : sizes(1 << 16, 1 << 30))
      put(1, double(n.size), n.worth);
    return;
  }
  const auto rows = small ? sizes(64, 8192) : sizes(512, 65536);
  const auto widths = row.span == Extent::vocabulary
                          ? std::vector<Size>{{4096, 0.5}, {32000, 0.8}, {50304, 1}}
                      : row.span == Extent::scores ? (small ? sizes(32, 1024) : sizes(512, 8192))
                                                   : (small ? sizes(64, 4096) : sizes(512, 16384));
  for (const Size& r : rows)
    for (const Size& w : widths) {
      // Scores have a row for each query of each head: many more rows than columns.
      const double height = row.span == Extent::scores ? double(w.size) * (small ? 4 : 32) : double(r.size);
      if (row.span == Extent::scores && r.size != rows.front().size) continue;
      if (r.worth * w.worth >= 0.05) put(height, double(w.size), r.worth * w.worth);
    }
}

std::vector<Point> memory_points(const Wanted& wanted) {
  std::vector<Point> points;
  for (const DType type : wanted.dtypes) {
    if (type == DType::fp8 || type == DType::tf32) continue;
    const double of_type = type == main_type(wanted) ? 1 : 0.15;
    for (const KernelRow& row : kKernels) add_row(points, wanted, type, row, of_type);
  }
  return ranked(std::move(points), 0.15);
}

}  // namespace

const Probe kMemoryProbe{"memory", "norms, softmax, activations, embedding, loss, optimizer", memory_points,
                         cannot_run, run_point};

}  // namespace rehearse::calibration
