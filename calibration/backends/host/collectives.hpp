// Collectives by MPI, over groups of ranks. Without MPI (one rank alone) a collective is a copy.
#pragma once
#include <mpi.h>

#include <map>
#include <vector>

#include "calibration/backends/host/memory.hpp"

namespace rehearse::calibration::host {

// A group's communicator as one rank sees it; MPI_COMM_NULL without MPI.
struct Party {
  MPI_Comm communicator = MPI_COMM_NULL;
  int size = 1, index = 0;
};

// Communicators of groups, made once each.
class Parties {
 public:
  Parties() = default;
  ~Parties();
  Parties(const Parties&) = delete;
  Parties& operator=(const Parties&) = delete;

  // Makes the communicators of groups (ranks, ascending) that do not exist yet. Collective over each group;
  // in ascending order, so that groups which overlap never wait for each other in a ring.
  void prepare(std::vector<std::vector<int>> groups);
  // One that was prepared.
  const Party& of(const std::vector<int>& members) const { return parties_.at(members); }

 private:
  std::map<std::vector<int>, Party> parties_;
};

// Buffers as calibration/work/operands.hpp has them. In place, a rank's part lies where its index says, as
// NCCL has it: what all-gather sends, what reduce-scatter leaves. The broadcast comes from index 0; send_recv
// passes to the next index and takes from the one before.
void run_collective(const CollectiveCall& call, Tensors operands, const Party& party);

}  // namespace rehearse::calibration::host
