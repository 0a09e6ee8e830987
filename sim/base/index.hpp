// Strong integer indices: a stage cannot be passed where a rank is meant.
#pragma once
#include <compare>
#include <cstdint>

namespace rehearse {

template <class Tag>
struct Index {
  int32_t value = -1;

  constexpr Index() = default;
  constexpr explicit Index(int32_t v) : value(v) {}
  constexpr auto operator<=>(const Index&) const = default;
  constexpr bool valid() const { return value >= 0; }
};

using RankId = Index<struct RankTag>;    // 0 .. world size - 1
using StageId = Index<struct StageTag>;  // pipeline rank, 0 .. pp - 1
using ChunkId =
    Index<struct ChunkTag>;  // model chunk in order of layers, 0 .. pp x chunks - 1; see Placement
using MicroBatch = Index<struct MicroTag>;  // 0 .. micro-batches - 1
using GpuId = Index<struct GpuTag>;         // node x GPUs per node + local index
using LinkId = Index<struct LinkTag>;       // index into Fabric::links

}  // namespace rehearse
