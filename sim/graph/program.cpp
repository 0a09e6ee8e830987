#include "sim/graph/program.hpp"

#include <algorithm>
#include <utility>

namespace rehearse {

namespace {

// How long a compute kernel takes that starts at `start` and needs `work` alone, while a collective of the
// row runs until `busy_until`: the overlapped stretch goes at 1 / (1 + slowdown).
double length_beside(double start, double work, double busy_until, double slowdown) {
  const double overlap = busy_until - start;
  if (overlap <= 0) return work;
  const double done = overlap / (1 + slowdown);
  return done >= work ? work * (1 + slowdown) : overlap + (work - done);
}

struct Placer {
  const Stack& stack;
  double slow = 1;            // factor on compute kernels: 1, or 1 + overlap_slowdown
  double ready = 0;           // when an op without `beside` may start
  double previous_ready = 0;  // when the one before it could
  double ends = 0;
  double tp_busy = 0, compute_busy = 0;
  double issues_from = 0;  // when the host began to issue kernels
  int issued = 0;

  void wait(Op& op) {
    op.start = ready;
    ready = compute_busy = ends = issues_from = op.start + op.duration;
    issued = 0;
  }
  void place(Op& op, bool beside) {
    if (op.kind == OpKind::gap) return wait(op);
    double start = beside ? previous_ready : ready;
    if (!beside) previous_ready = ready;
    const double host = stack.host_per_kernel_s.value;
    start = stack.blocking_launches.value > 0 ? start + host : std::max(start, issues_from + host * issued++);
    const bool on_compute = op.stream == Stream::compute;
    double& busy = on_compute ? compute_busy : tp_busy;
    start = std::max(start, busy);
    op.start = start;
    if (on_compute)
      op.duration = length_beside(start, op.duration * slow, tp_busy, stack.overlap_slowdown.value);
    const double end = start + op.duration;
    busy = end;
    ends = std::max(ends, end);
    ready = ends;
  }
};

double place_all(std::vector<Op>& ops, const std::vector<OpSpec>& specs, const Stack& stack, double slow) {
  Placer placer{stack, slow};
  for (size_t i = 0; i < ops.size(); ++i) placer.place(ops[i], specs[i].beside_previous);
  return placer.ends;
}

// Books [0, duration] of the compute stream: kernels to their part (what a kernel took beyond its time alone
// to the collective beside it), idle under a collective to its axis, the rest is waiting for the host.
void book(Program& program, const std::vector<OpSpec>& specs, Basis host) {
  double at = 0;
  std::vector<std::pair<double, double>> collectives;
  for (const auto& op : program.ops)
    if (op.stream != Stream::compute) collectives.emplace_back(op.start, op.start + op.duration);
  std::sort(collectives.begin(), collectives.end());
  size_t next = 0;
  double exposed = 0;
  auto idle_until = [&](double to) {
    double covered = 0;
    while (next < collectives.size() && collectives[next].second <= at) ++next;
    for (size_t c = next; c < collectives.size() && collectives[c].first < to; ++c)
      covered += std::max(0.0, std::min(to, collectives[c].second) - std::max(at, collectives[c].first));
    exposed += covered;
    const double idle = std::max(0.0, to - at - covered);
    program.part_s[int(Part::overhead)] += idle;
    program.rests_on.add(host, false, idle);
    at = to;
  };
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const auto& op = program.ops[i];
    if (op.stream != Stream::compute) continue;
    if (op.start > at) idle_until(op.start);
    const double beside = std::max(0.0, op.duration - specs[i].op.duration);
    program.part_s[int(op.part)] += op.duration - beside;
    program.rests_on.add(op.basis, op.outside, op.duration - beside);
    exposed += beside;
    at = op.start + op.duration;
  }
  if (program.duration > at) idle_until(program.duration);
  program.part_s[int(Part::exposed_tp)] += exposed;
}

}  // namespace

Program make_program(std::string name, const std::vector<OpSpec>& specs, const Stack& stack) {
  Program program;
  program.name = std::move(name);
  for (const auto& spec : specs) {
    program.ops.push_back(spec.op);
    program.kernels += spec.op.kind != OpKind::gap;
  }
  std::vector<Op> slowed = program.ops;
  program.slowed_duration = place_all(slowed, specs, stack, 1 + stack.overlap_slowdown.value);
  program.duration = place_all(program.ops, specs, stack, 1);
  book(program, specs, stack.host_per_kernel_s.basis);
  return program;
}

std::vector<Piece> cut_pieces(const std::string& name, const std::vector<OpSpec>& specs, const Stack& stack,
                              const Cuts& cuts, std::vector<Program>& programs) {
  std::vector<Piece> pieces;
  std::vector<OpSpec> row;
  double row_parameters = 0;
  bool row_beside = false;
  auto put_program = [&] {
    Piece piece;
    piece.program = int(programs.size());
    piece.beside_previous = row_beside;
    piece.parameters = row_parameters;
    programs.push_back(make_program(name, row, stack));
    pieces.push_back(std::move(piece));
    row.clear();
    row_parameters = 0;
    row_beside = false;
  };
  const auto flush = [&] {
    if (!row.empty()) put_program();
  };
  double filled = 0;
  for (const auto& spec : specs) {
    if (spec.wire) {
      flush();
      Piece piece;
      piece.wire = spec;
      piece.beside_previous = spec.beside_previous;
      pieces.push_back(std::move(piece));
      continue;
    }
    if (cuts.before && cuts.bucket_parameters > 0 && filled >= cuts.bucket_parameters && spec.parameters > 0)
      flush(), filled = 0;
    if (row.empty())
      row_beside = spec.beside_previous && !pieces.empty();
    else if (!pieces.empty() && row_beside && !spec.beside_previous) {
      // What follows a stretch that ran beside a wire collective waits for both.
      flush();
    }
    row.push_back(spec);
    if (row.size() == 1) row.back().beside_previous = false;
    row_parameters += spec.parameters;
    filled += spec.parameters;
    if (!cuts.before && cuts.bucket_parameters > 0 && filled >= cuts.bucket_parameters) flush(), filled = 0;
  }
  flush();
  if (pieces.empty()) put_program();  // I of an embedding without dropout: others wait for it all the same
  return pieces;
}

}  // namespace rehearse
