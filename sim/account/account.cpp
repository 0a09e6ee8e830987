#include "sim/account/walk.hpp"

namespace rehearse {

void AccountSum::add(const UnitInfo& unit, const UnitBook& book) {
  for (int part = 0; part < kParts; ++part) rank_seconds[part] += book.parts[part] * ranks_of(unit);
  rests_on.add(book.rests_on, ranks_of(unit));
  ranks += ranks_of(unit);
}

Account AccountSum::mean(double step) const {
  Account parts = rank_seconds;
  for (double& seconds : parts) seconds = ranks > 0 ? seconds / ranks : 0;
  settle(parts, step);
  return parts;
}

Account account(const TaskGraph& graph, const Timeline& timeline) {
  AccountSum sum;
  walk_units(graph, timeline, [&](int32_t u, const UnitBook& book) { sum.add(graph.units[u], book); });
  return sum.mean(timeline.step);
}

}  // namespace rehearse
