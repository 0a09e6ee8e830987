#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/cli/collective.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

namespace {

// As nccl-tests prints a time: seven places.
std::string micros(double seconds) {
  const double us = seconds * 1e6;
  const int places = us >= 10000 ? 0 : us >= 100 ? 1 : 2;
  return fmt::format("{:7.{}f}", us, places);
}

// Elements of 4 bytes that the call names: of all_gather and all_to_all what one rank sends to one.
double count_of(CollectiveOp op, double bytes, int ranks) {
  const bool share =
      op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_to_all;
  return std::floor(bytes / 4 / (share ? ranks : 1));
}

std::string_view redop_of(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter ? "sum" : "none";
}

void head(const CollectiveAnswer& a, std::string& out) {
  fmt::format_to(std::back_inserter(out), "# {} of {} ranks on {} {} of {}, topology {}, profile {}{}\n",
                 name_of(kOpNames, a.op), a.ranks, a.nodes, a.nodes == 1 ? "node" : "nodes", a.per_node,
                 a.topology, a.profile, a.network.empty() ? "" : ", network " + a.network);
  out += "# predicted, not measured; nodes as NCCL counts them: what NVLink joins\n";
  for (const auto& table : a.left_out) out += "# without table " + table + "\n";
  if (a.compared) out += "# measured: of the times in place and out of place the smaller\n";
  const char* more = a.compared ? "   measured   error" : "";
  out +=
      "#\n#       size         count      type   redop    root     time   algbw   busbw  algorithm       "
      "protocol";
  out += more;
  out += "\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)";
  out += a.compared ? "                                (us)     (%)\n" : "\n";
}

void foot(const CollectiveAnswer& a, std::string& out) {
  double sum = 0;
  std::set<std::string_view> above;
  for (const auto& row : a.rows) {
    sum += row.busbw;
    if (row.fewer_bytes && row.busbw > a.link * (1 + 1e-9)) above.insert(name_of(row.algorithm));
  }
  fmt::format_to(std::back_inserter(out), "# Avg bus bandwidth    : {:g}\n",
                 sum / double(a.rows.size()) * 1e-9);
  for (const auto& algorithm : above)
    fmt::format_to(std::back_inserter(out),
                   "# busbw above the links' {:.4g} GB/s: {} moves fewer bytes than a ring\n", a.link * 1e-9,
                   algorithm);
  if (a.compared)
    fmt::format_to(std::back_inserter(out),
                   "# against measured     : median |error| {:.1f} %, p90 {:.1f} %\n", 100 * a.median_error,
                   100 * a.p90_error);
}

}  // namespace

std::string collective_text(const CollectiveAnswer& a) {
  std::string out;
  head(a, out);
  for (const auto& row : a.rows) {
    fmt::format_to(std::back_inserter(out),
                   "{:>12.0f}  {:>12.0f}  {:>8}  {:>6}  {:>6}  {}  {:>6.2f}  {:>6.2f}  {:<14}  {:<8}",
                   row.bytes, count_of(a.op, row.bytes, a.ranks), "float", redop_of(a.op),
                   a.op == CollectiveOp::broadcast ? 0 : -1, micros(row.time_s), row.algbw * 1e-9,
                   row.busbw * 1e-9, name_of(row.algorithm), name_of(row.protocol));
    if (row.measured_s)
      fmt::format_to(std::back_inserter(out), "  {}  {:+6.1f}", micros(*row.measured_s), 100 * row.error());
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  foot(a, out);
  return out;
}

std::string collective_json(const CollectiveAnswer& a) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const auto& row : a.rows)
    rows.push_back({{"bytes", row.bytes},
                    {"time_us", row.time_s * 1e6},
                    {"algbw_GBps", row.algbw * 1e-9},
                    {"busbw_GBps", row.busbw * 1e-9},
                    {"algorithm", name_of(row.algorithm)},
                    {"protocol", name_of(row.protocol)},
                    {"basis", name_of(kBasisNames, row.basis)},
                    {"outside", row.outside},
                    {"links_busbw_GBps", row.link_bound * 1e-9},
                    {"above_links", row.above_links()},
                    {"fewer_bytes", row.fewer_bytes},
                    {"measured_us", row.measured_s ? Json(*row.measured_s * 1e6) : Json()},
                    {"error", row.measured_s ? Json(row.error()) : Json()}});
  const Json json{{"schema", 1},
                  {"op", std::string(name_of(kOpNames, a.op))},
                  {"topology", a.topology},
                  {"profile", a.profile},
                  {"ranks", a.ranks},
                  {"nodes", a.nodes},
                  {"per_node", a.per_node},
                  {"without_tables", a.left_out},
                  {"rows", std::move(rows)},
                  {"median_abs_error", a.compared ? Json(a.median_error) : Json()},
                  {"p90_abs_error", a.compared ? Json(a.p90_error) : Json()}};
  return json.dump(2) + "\n";
}

}  // namespace rehearse
