// What a machine has to offer to the harness. Loops, stopping rules, checks and statistics are not here: a
// backend issues calls and reads clocks.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/backends/ranks.hpp"
#include "calibration/samples/sample.hpp"
#include "calibration/work/operands.hpp"

namespace rehearse::calibration {

// Memory is short, a library call failed: the point fails, the sweep goes on.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Elapsed {
  double device_s = 0;  // device clock (CUDA events); on the host the steady clock
  double host_s = 0;    // host clock from the first issue to the end of the last call
};

struct Call {
  const Work* work;
  const Operands* operands;
};

enum class Clocking : uint8_t {
  stream,  // issued one by one
  graph,   // recorded once, replayed: no launch cost between calls (CUDA; elsewhere as stream)
};

// A piece of a step, for verify: a call on a lane, after other pieces. Lanes run beside each other where the
// backend can, each serial in the order of the list.
struct Step {
  Call call;
  int lane = 0;            // 0: kernels; 1 and on: collectives and transfers
  std::vector<int> after;  // earlier steps of this list that must have ended
  // Transfers of pipeline stages: the rank on the other side and which way the bytes go. A collective has
  // `members` instead.
  enum class Kind : uint8_t { kernel, collective, send, receive } kind = Kind::kernel;
  int peer = -1;
  int tag = 0;               // the same on both sides of a transfer
  std::vector<int> members;  // ranks of the collective, ascending
};
struct Span {
  double start = 0, end = 0;  // s since execute() began, after a barrier
};

// Clock, power and heat, as far as they can be read.
struct Health {
  double clock_mhz = 0, power_w = 0, temperature_c = 0;
  std::vector<std::string> throttled;  // reasons; empty: none, or not readable
};

class Backend {
 public:
  virtual ~Backend() = default;

  // All but id, command and started.
  virtual Environment environment() = 0;
  // Why this machine cannot run the work; nothing where it can.
  virtual std::optional<std::string> refuses(const Work& work) const = 0;

  virtual void* allocate(size_t bytes) = 0;  // throws BackendError
  virtual void release(void* data) = 0;
  // Puts into a tensor what its spec says.
  virtual void fill(const Tensor& tensor) = 0;
  virtual std::vector<double> read(const Tensor& tensor, int64_t first, int64_t count) = 0;

  // Runs the calls in order, one after the other, and waits; all ranks of a collective call this together.
  virtual Elapsed time(std::span<const Call> calls, Clocking clocking) = 0;
  // Runs both lists beside each other, each in order, starting together, and waits. first: the kernels,
  // second: the collectives, each from its own start to its own end. Either list may be empty.
  virtual std::pair<Elapsed, Elapsed> time_beside(std::span<const Call> kernels,
                                                  std::span<const Call> collectives, int channels) = 0;
  // Runs a rank's part of a step and waits for it; where each step ran.
  virtual std::vector<Span> execute(std::span<const Step> steps) = 0;

  virtual Health health() = 0;
};

// OpenBLAS, streaming loops, MPI. `ranks` outlives it.
std::unique_ptr<Backend> make_host_backend(Ranks& ranks);
// CUDA, cuBLASLt, cuDNN, NCCL. Throws BackendError with what is missing where there is no GPU. Only where
// REHEARSE_HAS_CUDA is defined.
std::unique_ptr<Backend> make_cuda_backend(Ranks& ranks);

}  // namespace rehearse::calibration
