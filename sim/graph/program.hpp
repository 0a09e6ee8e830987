// Rows of ops -> programs: placed in time on the compute and TP streams, cut where something outside touches
// them.
#pragma once
#include "sim/graph/ops.hpp"

namespace rehearse {

// Places ops: each starts when all before it have ended (or beside the one before), never before the host has
// issued it (one kernel every host_per_kernel from the program's start or the last gap; with blocking
// launches, host_per_kernel after that). Compute beside a collective of the same row runs (1 +
// overlap_slowdown) longer. Fills start, duration, parts and the slowed length.
Program make_program(std::string name, const std::vector<OpSpec>& specs, const Stack& stack);

// A stretch of an action: a program, or a TP collective on the wire.
struct Piece {
  int program = -1;  // index into TaskGraph::programs; -1 for a wire collective
  OpSpec wire;       // where program < 0
  bool beside_previous = false;
  double parameters = 0;  // elements of gradient complete after it, or weights needed by it
};

// Where a row is cut: after ops that complete a bucket of `bucket_parameters` (0 = nowhere), or before those
// that need the next one (`before`).
struct Cuts {
  double bucket_parameters = 0;
  bool before = false;
};
std::vector<Piece> cut_pieces(const std::string& name, const std::vector<OpSpec>& specs, const Stack& stack,
                              const Cuts& cuts, std::vector<Program>& programs);

}  // namespace rehearse
