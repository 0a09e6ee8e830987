// Who took part in the calls that a table of nccl-tests times, what its rows say, and whether they agree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/bus_factor.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

[[noreturn]] void refuse(const Place& at, std::string message, std::string hint = {},
                         const char* code = "E-IMPORT-RANKS") {
  throw InputErrors(InputError{at, "", code, std::move(message), std::move(hint)});
}

std::string listed(const std::set<int>& ranks) {
  std::string text;
  size_t n = 0;
  for (const int r : ranks) {
    if (++n > 6) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(r);
  }
  return text;
}

struct Members {
  std::set<int> ranks;
  std::map<std::string, int> hosts;
  const LogDevice* first = nullptr;
  const LogDevice* last = nullptr;
  bool even() const {
    return std::all_of(hosts.begin(), hosts.end(),
                       [&](const auto& h) { return h.second == hosts.begin()->second; });
  }
  // Between neighbours; 0 where it differs.
  int stride() const {
    int stride = 0, before = -1;
    for (const int r : ranks) {
      if (before >= 0 && stride > 0 && r - before != stride) return 0;
      if (before >= 0) stride = r - before;
      before = r;
    }
    return std::max(stride, 1);
  }
};

// Of all groups that ran at once the one that prints.
LoggedGroup measured_group(const std::map<int, Members>& groups) {
  const Members& first = std::min_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
                           return *a.second.ranks.begin() < *b.second.ranks.begin();
                         })->second;
  for (const auto& [id, other] : groups)
    if (other.ranks.size() != first.ranks.size() || other.hosts.size() != first.hosts.size())
      refuse(other.last->place,
             fmt::format("{} groups of different shapes ran at once: group {} has {} ranks, group {} has {}",
                         groups.size(), first.first->group, first.ranks.size(), id, other.ranks.size()),
             "measure one group, or groups alike");
  LoggedGroup group;
  group.ranks = int(first.ranks.size()), group.nodes = int(first.hosts.size());
  group.concurrent = groups.size() > 1;
  group.stride = group.concurrent ? first.stride() : 1;
  if (group.stride == 0)
    refuse(first.last->place, fmt::format("the ranks of group {} are not evenly apart: {}",
                                          first.first->group, listed(first.ranks)));
  group.gpu = first.first->name, group.place = first.last->place;
  return group;
}

// Whether the list names each rank once, and each device of a host.
bool whole(const std::set<int>& ranks) {
  return *ranks.begin() == 0 && *ranks.rbegin() + 1 == int(ranks.size());
}

const LogDevice* repeated_device(const std::vector<LogDevice>& devices) {
  std::set<std::pair<std::string, int>> seen;
  for (const auto& d : devices)
    if (!seen.insert({d.host, d.local}).second) return &d;
  return nullptr;
}

LoggedGroup listed_group(const NcclTable& table, int ranks, int nodes, const std::string& say_nodes) {
  std::map<int, Members> groups;
  std::set<int> all;
  for (const auto& d : table.devices) {
    Members& m = groups[d.group];
    m.ranks.insert(d.rank), ++m.hosts[d.host], all.insert(d.rank);
    if (!m.first) m.first = &d;
    m.last = &d;
  }
  const Place& end = table.devices.back().place;
  const bool abridged = table.abridged.line > 0;
  if (abridged || !whole(all)) {
    if (!ranks || !nodes)
      refuse(abridged ? table.abridged : end,
             fmt::format("the list of ranks {} ({})", whole(all) ? "is cut" : "has gaps", listed(all)),
             "try --ranks N " + say_nodes);
    if (*all.rbegin() >= ranks)
      refuse(end, fmt::format("the log lists rank {}, which {} ranks do not have", *all.rbegin(), ranks));
    return {ranks, nodes, 0, 1, false, table.devices.front().name, end};
  }
  LoggedGroup group = measured_group(groups);
  if (ranks && ranks < group.ranks)
    refuse(end, fmt::format("the log lists {} ranks, not {}", group.ranks, ranks));
  if (ranks > group.ranks) {
    if (group.concurrent || !nodes)
      refuse(end, fmt::format("the log lists {} ranks in a group, not {}", group.ranks, ranks),
             group.concurrent ? "" : "if the list is cut: try " + say_nodes);
    group.ranks = ranks;
  }
  const LogDevice* again = repeated_device(table.devices);
  if (!again) group.hosts = group.nodes;
  if (again && !nodes)
    refuse(again->place,
           fmt::format("device {} of {} stands twice: hosts cannot be told apart", again->local,
                       quote(again->host)),
           "try " + say_nodes);
  if (!nodes)
    for (const auto& [id, m] : groups)
      if (!m.even() && group.ranks % group.nodes == 0)
        refuse(m.last->place, "nodes have different numbers of ranks");
  if (nodes) group.nodes = nodes;
  return group;
}

}  // namespace

LoggedGroup group_of(const NcclTable& table, int ranks, int nodes, const std::string& say_nodes) {
  LoggedGroup group;
  const Place& header = table.header.line    ? table.header
                        : table.rows.empty() ? table.header
                                             : table.rows[0].place;
  if (!table.devices.empty()) {
    group = listed_group(table, ranks, nodes, say_nodes);
  } else {
    group.ranks = ranks ? ranks : table.ranks;
    group.nodes = nodes ? nodes : table.nodes ? table.nodes : ranks ? 1 : 0;
    group.place = header;
    if (group.ranks == 0) refuse(header, "the log lists no ranks", "try --ranks N " + say_nodes);
    if (group.nodes == 0)
      refuse(header, fmt::format("nothing says on how many nodes the {} ranks are", group.ranks),
             "try " + say_nodes);
  }
  if (group.ranks == 1) refuse(header, "a collective of one rank moves nothing", "", "E-IMPORT-ONE-RANK");
  if (group.ranks % group.nodes)
    refuse(header, fmt::format("{} ranks do not divide over {} nodes", group.ranks, group.nodes));
  return group;
}

double NcclRow::wrong() const {
  double most = 0;
  for (const auto& half : halves) most = std::max(most, half.wrong);
  return most;
}

double NcclRow::best_us() const {
  double best = halves.front().time_us;
  for (const auto& half : halves) best = std::min(best, half.time_us);
  return best;
}

bool NcclTable::rows_tell() const {
  return std::any_of(rows.begin(), rows.end(), [](const NcclRow& r) { return r.wrong() > 0; });
}

namespace {

// Whether a printed figure can be the rounding of what it should be by the time that was printed.
bool agrees(const NcclRow::Half& half, double printed, double step, double expected) {
  return std::abs(printed - expected) <=
         (0.02 + 0.51 * half.time_step / half.time_us) * expected + 0.51 * step;
}

std::optional<Contradiction> contradiction(const NcclRow::Half& half, double bytes, CollectiveOp op,
                                           int ranks) {
  if (half.time_us <= 0) return Contradiction{"E-IMPORT-ROW", "the time is 0"};
  const double rate = bytes / half.time_us * 1e-3, factor = bus_factor(op, ranks), bus = rate * factor;
  if (half.busbw == 0 && bus > half.busbw_step)
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("busbw is 0 where time and size say {:.2f} GB/s", bus)};
  // Versions before 2.9 count the bytes that a rank receives as algbw of all_gather and the like.
  if (!agrees(half, half.algbw, half.algbw_step, rate) && !agrees(half, half.algbw, half.algbw_step, bus))
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("algbw {} is not size / time = {:.4g} GB/s", half.algbw, rate)};
  if (!agrees(half, half.busbw, half.busbw_step, bus))
    return Contradiction{"E-IMPORT-BUSBW",
                         fmt::format("busbw {} is not {:.4g} GB/s, size / time x {:.4g} of {} over {} ranks",
                                     half.busbw, bus, factor, name_of(kOpNames, op), ranks)};
  return std::nullopt;
}

}  // namespace

std::optional<Contradiction> contradiction(const NcclRow& row, CollectiveOp op, int ranks) {
  const double elements = row.count * nccl_width(row.type);
  if (elements > 0 && elements != row.bytes && elements * ranks != row.bytes)
    return Contradiction{"E-IMPORT-ROW", "the size is not count x the width of the type"};
  for (const auto& half : row.halves)
    if (auto found = contradiction(half, row.bytes, op, ranks)) return found;
  return std::nullopt;
}

}  // namespace rehearse
