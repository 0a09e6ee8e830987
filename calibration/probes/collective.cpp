// Collectives over the groups of training: the whole job, tensor parallel groups (neighbours), data and
// pipeline parallel ones (strided), all groups at once; from bytes to gigabytes.
#include <algorithm>
#include <cmath>

#include "calibration/probes/grid.hpp"

namespace rehearse::calibration {
namespace {

struct Collective {
  CollectiveOp op;
  bool in_place;  // as trainers call it
  double worth;
};
constexpr Collective kCollectives[] = {
    {CollectiveOp::all_reduce, true, 1},        {CollectiveOp::all_gather, true, 0.9},
    {CollectiveOp::reduce_scatter, false, 0.9}, {CollectiveOp::send_recv, false, 0.7},
    {CollectiveOp::all_to_all, false, 0.5},     {CollectiveOp::broadcast, true, 0.3},
};

struct Shape {
  Group group;
  double worth;
};

// Sizes 2, 4, 8 ... and the whole job; neighbours, or `ranks / size` apart.
std::vector<Shape> shapes_of(const Wanted& wanted) {
  std::vector<Shape> shapes;
  const auto put = [&](int size, int stride, bool concurrent, double worth) {
    const Group group = group_of(size, stride, concurrent, wanted.per_node);
    if (group.nodes * group.per_node == size) shapes.push_back({group, worth});
  };
  put(wanted.ranks, 1, true, 1);
  for (int size = 2; size < wanted.ranks; size *= 2) {
    if (wanted.ranks % size != 0) continue;
    put(size, 1, true, 0.8);
    put(size, wanted.ranks / size, true, 0.7);
    put(size, 1, false, 0.2);
  }
  return shapes;
}

// Powers of 2 from 8 B; those and halfway between, and a little more than a power of 2.
std::vector<Size> messages(const Wanted& wanted) {
  const double memory = wanted.memory_bytes > 0 ? wanted.memory_bytes : 1 << 30;
  const double most = is_small(wanted) ? double(1 << 26) : double(int64_t(1) << 34);
  std::vector<Size> list;
  for (int64_t size = 8; double(size) <= std::min(most, memory / 4); size *= 2) {
    const double middling = size >= 1 << 16 && size <= 1 << 30 ? 1 : 0.6;  // where trainers send
    const int power = int(std::log2(double(size)));
    list.push_back({size, middling * (power % 2 ? 0.7 : 1)});
    list.push_back({size + size / 2, 0.12 * middling});
    list.push_back({size + 8, 0.05 * middling});
  }
  return list;
}

// Whole elements for every rank, rounded up.
double rounded_up(double bytes, CollectiveOp op, DType type, int ranks) {
  const bool parts =
      op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
  const double unit = bytes_of(type) * (parts ? ranks : 1);
  return std::ceil(bytes / unit) * unit;
}

std::vector<Point> collective_points(const Wanted& wanted) {
  std::vector<Point> points;
  const DType narrow = main_type(wanted);
  for (const Shape& shape : shapes_of(wanted))
    for (const Collective& collective : kCollectives)
      for (const Size& message : messages(wanted))
        for (const bool in_place : {collective.in_place, !collective.in_place}) {
          const bool moves_only =
              collective.op == CollectiveOp::send_recv || collective.op == CollectiveOp::all_to_all;
          if (in_place && moves_only) continue;
          const auto put = [&](DType type, double worth) {
            const double bytes = rounded_up(double(message.size), collective.op, type, shape.group.size);
            add(points, wanted, CollectiveCall{collective.op, type, bytes, shape.group, in_place},
                worth * shape.worth * collective.worth * message.worth *
                    (in_place == collective.in_place ? 1 : 0.15));
          };
          put(narrow, 1);
          const bool reduces =
              collective.op == CollectiveOp::all_reduce || collective.op == CollectiveOp::reduce_scatter;
          if (reduces && narrow != DType::fp32) put(DType::fp32, 0.4);
        }
  return ranked(std::move(points), wanted.ranks > 1 ? 0.2 : 0.01);
}

}  // namespace

const Probe kCollectiveProbe{"collective", "collectives over groups, neighbours and strided, all at once",
                             collective_points, cannot_run, run_point};

}  // namespace rehearse::calibration
