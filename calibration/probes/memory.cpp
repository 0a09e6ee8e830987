// The memory-bound kernels of a block, of the loss and of the optimizer.
#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

enum class Span : uint8_t { hidden, scores, vocabulary, parameters };

struct Row {
  MemoryKernel kernel;
  Span span;
  double worth;
};
constexpr Row kRows[] = {
    {MemoryKernel::norm, Span::hidden, 1},
    {MemoryKernel::norm_backward, Span::hidden, 1},
    {MemoryKernel::adam, Span::parameters, 1},
    {MemoryKernel::swiglu, Span::hidden, 0.9},
    {MemoryKernel::swiglu_backward, Span::hidden, 0.9},
    {MemoryKernel::gelu, Span::hidden, 0.9},
    {MemoryKernel::gelu_backward, Span::hidden, 0.9},
    {MemoryKernel::add, Span::hidden, 0.9},
    {MemoryKernel::dropout_add, Span::hidden, 0.8},
    {MemoryKernel::rope, Span::hidden, 0.8},
    {MemoryKernel::accumulate, Span::parameters, 0.8},
    {MemoryKernel::cross_entropy, Span::vocabulary, 0.8},
    {MemoryKernel::cross_entropy_backward, Span::vocabulary, 0.8},
    {MemoryKernel::softmax, Span::scores, 0.7},
    {MemoryKernel::softmax_backward, Span::scores, 0.7},
    {MemoryKernel::square_sum, Span::parameters, 0.7},
    {MemoryKernel::embedding, Span::hidden, 0.6},
    {MemoryKernel::embedding_backward, Span::hidden, 0.6},
    {MemoryKernel::dropout, Span::hidden, 0.5},
    {MemoryKernel::dropout_backward, Span::hidden, 0.5},
    {MemoryKernel::copy, Span::hidden, 0.3},
};

void add_row(std::vector<Point>& points, const Wanted& wanted, DType type, const Row& row, double of_type) {
  const bool small = is_small(wanted);
  const auto put = [&](double rows, double width, double worth) {
    add(points, wanted, MemoryCall{type, row.kernel, {rows, width}}, of_type * row.worth * worth);
  };
  if (row.span == Span::parameters) {
    for (const Size& n : small ? sizes(1 << 12, 1 << 22) : sizes(1 << 16, 1 << 30))
      put(1, double(n.size), n.worth);
    return;
  }
  const auto rows = small ? sizes(64, 8192) : sizes(512, 65536);
  const auto widths = row.span == Span::vocabulary ? std::vector<Size>{{4096, 0.5}, {32000, 0.8}, {50304, 1}}
                      : row.span == Span::scores   ? (small ? sizes(32, 1024) : sizes(512, 8192))
                                                   : (small ? sizes(64, 4096) : sizes(512, 16384));
  for (const Size& r : rows)
    for (const Size& w : widths) {
      // Scores have a row for each query of each head: many more rows than columns.
      const double height = row.span == Span::scores ? double(w.size) * (small ? 4 : 32) : double(r.size);
      if (row.span == Span::scores && r.size != rows.front().size) continue;
      if (r.worth * w.worth >= 0.05) put(height, double(w.size), r.worth * w.worth);
    }
}

std::vector<Point> points_of(const Wanted& wanted) {
  std::vector<Point> points;
  for (const DType type : wanted.dtypes) {
    if (type == DType::fp8 || type == DType::tf32) continue;
    const double of_type = type == main_type(wanted) ? 1 : 0.15;
    for (const Row& row : kRows) add_row(points, wanted, type, row, of_type);
  }
  return ranked(std::move(points), 0.15);
}

}  // namespace

const Probe kMemoryProbe{"memory", "norms, softmax, activations, embedding, loss, optimizer", points_of,
                         cannot_run, run_point};

}  // namespace rehearse::calibration
