// A pool of processes that price the points of a study, so that a crash or an endless run costs one point.
#pragma once
#include "sim/study/worker_process.hpp"

namespace rehearse {

struct PoolOptions {
  int jobs = 1;  // processes forked here; they share what the caller has loaded
  // Sockets to processes that another program starts (study/mpi), and restarts where one died.
  std::vector<int> elsewhere;
  DigestFn digest;        // of a point, for processes elsewhere to compare with theirs
  double timeout_s = 60;  // for one point
};

struct PoolCalls {
  std::function<void(size_t index, Outcome outcome)> done;  // in no order
  std::function<bool()> stop;                               // asked often, every 0.1 s at the least
};

// Prices points[i] for every i of `todo`, each in one of the processes; false where it was stopped. A point
// whose process dies or exceeds the timeout is tried once more in another, then it is done as failed
// (E-POINT-CRASH, E-POINT-TIME). The processes die with the caller. Call it with one thread running.
// Throws InputErrors (E-SWEEP-RANKS) where processes elsewhere see other files, std::runtime_error where no
// process can be started.
bool price_all(const std::vector<Point>& points, const std::vector<size_t>& todo, const PriceFn& price,
               const PoolOptions& options, const PoolCalls& calls);

// Cores that this process may run on.
int usable_cores();

}  // namespace rehearse
