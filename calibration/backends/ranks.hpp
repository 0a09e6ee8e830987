// The processes of one run of the harness.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace rehearse::calibration {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // within its node
  virtual int per_node() const = 0;    // ranks on each node; throws at start-up where nodes differ
  virtual void barrier() = 0;
  // values of all ranks, in order, on every rank
  virtual std::vector<double> gather(double value) = 0;
  // what `root` holds, on every rank
  virtual std::string broadcast(const std::string& text, int root) = 0;

  // Whether it holds on any rank: all of them take the same turn.
  bool any(bool mine) {
    for (double v : gather(mine ? 1 : 0))
      if (v != 0) return true;
    return false;
  }
};

// MPI, initialised here where the process was started by mpirun or srun; else one rank alone, without MPI.
// Ends MPI when destroyed.
std::unique_ptr<Ranks> make_ranks();

}  // namespace rehearse::calibration
