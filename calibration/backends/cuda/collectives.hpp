// Collectives and transfers by NCCL, one GPU a rank.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration::cuda {

class Collectives {
 public:
  explicit Collectives(Ranks& ranks);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  static std::string version();  // "NCCL 2.28.9"

  std::optional<std::string> refuses(const CollectiveCall& call) const;

  // Makes the communicator of the call's group, once; all ranks together. `channels`: CTAs that it may take,
  // 0 = as NCCL chooses.
  void prepare(const Group& group, int channels);
  // Issues the call on a rank of the group; on others does nothing.
  void run(const CollectiveCall& call, int channels, std::span<const Tensor> operands, cudaStream_t stream);

  // Makes the communicators of a step: one for the members of its collectives, one for each direction between
  // two ranks, so that no transfer waits for one of the other direction. All ranks together.
  void prepare(std::span<const Step> steps);
  void run(const Step& step, cudaStream_t stream);

  // Throws BackendError where a communicator has failed meanwhile, as when another rank has died.
  void check_health() const;

 private:
  // What a communicator is for, the same on every rank, so that all of them make the same ones in the same
  // order.
  using Purpose = std::vector<int>;
  static Purpose purpose_of(const Group& group, int channels, int ranks);
  static Purpose purpose_of(const Step& step, int rank);

  ncclComm_t communicator(const Purpose& purpose) const;
  void make(const Purpose& purpose, const std::vector<int>& members, int channels);
  void make_world();

  Ranks& ranks_;
  ncclComm_t world_ = nullptr;
  std::map<Purpose, ncclComm_t> communicators_;  // null where this rank is no member
};

}  // namespace rehearse::calibration::cuda
