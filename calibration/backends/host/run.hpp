// A call with everything found beforehand, so that issuing it costs little.
#pragma once
#include "calibration/backends/backend.hpp"
#include "calibration/backends/host/collectives.hpp"
#include "calibration/backends/host/kernels.hpp"

namespace rehearse::calibration::host {

struct Ready {
  const Work* work = nullptr;
  Tensors operands;
  Party party;  // of a collective
};

// Runs it to its end on this thread. An empty kernel does nothing else than get here. Not for OverlapCall.
void run(const Ready& ready, Scratch& scratch);

// One rank's part of a step, in the order of the list: kernels and collectives one after the other on this
// thread, whatever their lanes. Transfers run beside them and keep to `after` and to their buffers alone, so
// that no order of transfers can stall:
//   send     the first operand, when the list reaches it; ends there. Copied first where a later step of the
//            list writes the buffer.
//   receive  into the last operand; posted before the first step, or as soon as the last step before it that
//            touches the buffer is over. Ends when the data is there; a step that is after it, or touches its
//            buffer, waits for it.
// `parties` holds the groups of all collectives. All ranks of MPI_COMM_WORLD call it together; it starts
// with a barrier.
std::vector<Span> execute_steps(std::span<const Step> steps, const Parties& parties, Scratch& scratch,
                                Ranks& ranks);

}  // namespace rehearse::calibration::host
