#include <algorithm>
#include <tuple>

#include "sim/account/closed_forms.hpp"
#include "sim/account/walk.hpp"

namespace rehearse {

// Traffic classes of one axis, purpose, operation and group size are one row, whatever their sizes: the
// buckets of the gradients differ in bytes and are still one all-reduce of the gradients.
LedgerSum::LedgerSum(const TaskGraph& graph) : graph_(graph) {
  for (const Traffic& t : graph.traffic) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const LedgerRow& r) {
      return std::tie(r.axis, r.what, r.collective, r.group_size) ==
             std::tie(t.axis, t.what, t.op, t.group_size);
    });
    row_of_.push_back(int(row - rows_.begin()));
    if (row == rows_.end())
      rows_.push_back({.axis = t.axis, .what = t.what, .collective = t.op, .group_size = t.group_size});
  }
  bytes_.assign(rows_.size(), 0);
}

static CallsAlike& calls_alike(LedgerRow& row, const Traffic& t) {
  for (CallsAlike& alike : row.runs_as)
    if (std::tie(alike.algorithm, alike.protocol, alike.basis, alike.outside) ==
        std::tie(t.algorithm, t.protocol, t.basis, t.outside))
      return alike;
  return row.runs_as.emplace_back(CallsAlike{t.algorithm, t.protocol, t.basis, t.outside});
}

void LedgerSum::add(const UnitInfo& unit, const UnitBook& book) {
  const double ranks = ranks_of(unit);
  std::vector<char> joined(rows_.size(), 0);
  for (size_t t = 0; t < row_of_.size(); ++t) {
    if (!book.takes_part[t]) continue;
    LedgerRow& row = rows_[row_of_[t]];
    joined[row_of_[t]] = 1;
    row.calls_per_step += book.calls[t] * ranks;
    row.bytes_sent_per_rank += book.sent[t] * ranks;
    row.exposed_s += book.exposed_s[t] * ranks;
    row.busy_s += book.busy_s[t] * ranks;
    bytes_[row_of_[t]] += book.calls[t] * graph_.traffic[t].bytes_per_call * ranks;
    calls_alike(row, graph_.traffic[t]).calls_per_step += book.calls[t] * ranks;
  }
  for (size_t r = 0; r < rows_.size(); ++r)
    if (joined[r]) rows_[r].ranks += int(ranks);
}

std::vector<LedgerRow> LedgerSum::rows() const {
  std::vector<LedgerRow> rows;
  for (size_t r = 0; r < rows_.size(); ++r) {
    LedgerRow row = rows_[r];
    if (row.ranks == 0) continue;  // a class that no task uses
    row.bytes_per_call = row.calls_per_step > 0 ? bytes_[r] / row.calls_per_step : 0;
    for (double* sum : {&row.calls_per_step, &row.bytes_sent_per_rank, &row.exposed_s, &row.busy_s})
      *sum /= row.ranks;
    for (CallsAlike& alike : row.runs_as) alike.calls_per_step /= row.ranks;
    std::stable_sort(row.runs_as.begin(), row.runs_as.end(),
                     [](const auto& a, const auto& b) { return a.calls_per_step > b.calls_per_step; });
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.axis < b.axis; });
  return rows;
}

std::vector<LedgerRow> ledger(const Scenario& scenario, const TaskGraph& graph, const Timeline& timeline) {
  LedgerSum sum(graph);
  walk_units(graph, timeline, [&](int32_t u, const UnitBook& book) { sum.add(graph.units[u], book); });
  auto rows = sum.rows();
  fill_closed_forms(scenario, rows);
  return rows;
}

}  // namespace rehearse
