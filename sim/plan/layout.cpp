#include "sim/plan/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace rehearse {

static size_t index_of(Axis a) { return static_cast<size_t>(a); }

static int size_in(const LayoutSpec& spec, Axis a) {
  switch (a) {
    case Axis::tp:
      return spec.tp;
    case Axis::cp:
      return spec.cp;
    case Axis::pp:
      return spec.pp;
    case Axis::ep:
      return spec.ep;
    case Axis::dp:
      return spec.dp;
  }
  return 1;
}

ParallelLayout::ParallelLayout(const LayoutSpec& spec) : spec_(spec), ranks_(1) {
  for (const Axis a : spec.order) {
    if (a == Axis::ep) continue;
    stride_[index_of(a)] = ranks_;
    ranks_ *= size_in(spec, a);
  }
  stride_[index_of(Axis::ep)] = stride_[index_of(Axis::dp)];
  const bool whole = std::count(stride_.begin(), stride_.end(), 0) == 0;
  if (!whole || ranks_ <= 0 || spec.ep <= 0 || spec.dp % spec.ep != 0)
    throw std::invalid_argument("layout: order must name every axis, sizes be positive, ep divide dp");
}

int ParallelLayout::size(Axis a) const { return size_in(spec_, a); }

RankId ParallelLayout::rank(Coordinates c) const {
  return RankId(c.tp * stride_[index_of(Axis::tp)] + c.cp * stride_[index_of(Axis::cp)] +
                c.pp * stride_[index_of(Axis::pp)] + c.dp * stride_[index_of(Axis::dp)]);
}

Coordinates ParallelLayout::coordinates(RankId r) const {
  const auto along = [&](Axis a) { return r.value / stride_[index_of(a)] % size(a); };
  return {.tp = along(Axis::tp), .cp = along(Axis::cp), .pp = along(Axis::pp), .dp = along(Axis::dp)};
}

std::vector<RankId> ParallelLayout::group(RankId r, Axis axis) const {
  const int stride = stride_[index_of(axis)];
  const int members = size(axis);
  const int first = r.value - r.value / stride % members * stride;
  std::vector<RankId> ranks;
  ranks.reserve(static_cast<size_t>(members));
  for (int i = 0; i < members; ++i) ranks.emplace_back(first + i * stride);
  return ranks;
}

Axis ParallelLayout::outermost(std::vector<Axis> axes) const {
  if (axes.empty()) throw std::invalid_argument("outermost: no axes given");
  // An axis of one rank spans nothing, so it counts only where every one given is such. ep stands directly
  // inside dp.
  const auto place = [&](Axis a) {
    const Axis seat = a == Axis::ep ? Axis::dp : a;
    const auto at = std::find(spec_.order.begin(), spec_.order.end(), seat) - spec_.order.begin();
    return std::tuple(size(a) > 1, at, a == Axis::dp);
  };
  return *std::max_element(axes.begin(), axes.end(), [&](Axis a, Axis b) { return place(a) < place(b); });
}

GroupShape shape_of(const std::vector<RankId>& ranks, const ParallelLayout& layout, const Fabric& fabric) {
  std::map<int, int> on_node;
  std::map<int, int> island_of_node;
  double speed = 1;
  bool nvlink = true;
  for (const RankId r : ranks) {
    const GpuId gpu = layout.gpu(r);
    ++on_node[fabric.domain_of(gpu)];
    const int island = fabric.island_of(gpu);
    nvlink = nvlink && island_of_node.emplace(fabric.domain_of(gpu), island).first->second == island;
    speed = std::min(speed, fabric.speed_of(fabric.node_of(gpu)));
  }
  GroupShape shape{.ranks = static_cast<int>(ranks.size()), .nodes = static_cast<int>(on_node.size())};
  shape.nvlink = nvlink, shape.speed = speed;
  for (const auto& [node, count] : on_node) shape.per_node = std::max(shape.per_node, count);
  shape.uniform = shape.ranks == shape.nodes * shape.per_node;
  return shape;
}

static std::vector<int> layers_of_chunks(const Scenario& scenario) {
  const auto& layout = scenario.layout;
  const int chunks = layout.parts();
  const int layers = scenario.model.layers;
  if (layout.stage_layers.empty()) {
    if (layers % chunks != 0) throw std::invalid_argument("plan_chunks: layers do not divide by pp x chunks");
    return std::vector<int>(static_cast<size_t>(chunks), layers / chunks);
  }
  const auto& given = layout.stage_layers;
  if (given.size() != static_cast<size_t>(chunks) || std::accumulate(given.begin(), given.end(), 0) != layers)
    throw std::invalid_argument(
        "plan_chunks: stage_layers must be pp x chunks numbers that sum to the layers");
  return given;
}

std::vector<ChunkPlan> plan_chunks(const Scenario& scenario) {
  const auto layers = layers_of_chunks(scenario);
  const auto& recompute = scenario.recompute;
  const auto& layout = scenario.layout;
  std::vector<ChunkPlan> plan;
  const int chunks = layout.pp * layout.chunks, parts = layout.parts();
  plan.reserve(size_t(chunks));
  int first = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int part = chunk % parts;
    const int count = layers[size_t(part)];
    if (part == 0) first = 0;
    int recomputed = 0;
    if (recompute.kind == RecomputeKind::full)
      recomputed = recompute.full_layers < 0 ? count : std::min(recompute.full_layers, count);
    plan.push_back({.chunk = ChunkId(chunk),
                    .stage = stage_of(ChunkId(chunk), layout.pp, layout.placement),
                    .first_layer = first,
                    .layers = count,
                    .recomputed_layers = recomputed,
                    .embedding = part == 0,
                    .head = part + 1 == parts});
    first += count;
  }
  return plan;
}

}  // namespace rehearse
