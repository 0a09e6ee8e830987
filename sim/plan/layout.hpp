// Who is where: ranks and their coordinates, process groups, which layers a chunk holds.
#pragma once
#include <array>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

struct Coordinates {
  int tp = 0, cp = 0, pp = 0, dp = 0;
};

// rank <-> coordinates by LayoutSpec::order.
class ParallelLayout {
 public:
  explicit ParallelLayout(const LayoutSpec& spec);

  int ranks() const { return ranks_; }
  int size(Axis a) const;
  RankId rank(Coordinates c) const;
  Coordinates coordinates(RankId r) const;
  GpuId gpu(RankId r) const {
    return GpuId(spec_.gpu_of_rank ? (*spec_.gpu_of_rank)[size_t(r.value)] : r.value);
  }
  // The ranks that share all coordinates with `r` but `axis`, in order of that coordinate.
  std::vector<RankId> group(RankId r, Axis axis) const;
  // Of several axes, the outermost in `order`; a group that spans them is booked there.
  Axis outermost(std::vector<Axis> axes) const;
  const LayoutSpec& spec() const { return spec_; }

 private:
  LayoutSpec spec_;
  int ranks_;
  std::array<int, kAxes> stride_{};
};

// How a group of ranks lies on nodes, which here are domains (cluster/fabric.hpp): what NCCL takes for nodes.
struct GroupShape {
  int ranks = 1;
  int nodes = 1;
  int per_node = 1;     // ranks on the fullest node
  bool uniform = true;  // every node carries per_node ranks
  bool nvlink = true;   // NVLink joins those of each node; else some of them talk over PCIe
  double speed = 1;     // of its slowest node, where overrides slow one
  bool in_island() const { return nodes == 1 && nvlink; }
  bool operator==(const GroupShape&) const = default;
};
GroupShape shape_of(const std::vector<RankId>& ranks, const ParallelLayout& layout, const Fabric& fabric);

// Stage of a chunk: c mod p where looped; else c for the first p chunks, and 2p - 1 - c for the other p.
constexpr StageId stage_of(ChunkId chunk, int stages, Placement placement) {
  if (placement == Placement::looped || chunk.value < stages) return StageId(chunk.value % stages);
  return StageId(2 * stages - 1 - chunk.value);
}

// The layers of one model chunk. Of two copies of the model (Placement::bidirectional) the first has chunks 0
// to pp - 1, the second pp to 2 pp - 1, each in order of layers.
struct ChunkPlan {
  ChunkId chunk;
  StageId stage;
  int first_layer = 0, layers = 0;
  int recomputed_layers = 0;  // first n that are fully recomputed in the backward
  bool embedding = false, head = false;
};
std::vector<ChunkPlan> plan_chunks(const Scenario& scenario);

}  // namespace rehearse
