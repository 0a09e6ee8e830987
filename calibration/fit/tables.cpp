#include "calibration/fit/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

bool flagged(const Sample& s, const char* flag) {
  return std::find(s.flags.begin(), s.flags.end(), flag) != s.flags.end();
}

std::string why_left_out(const Sample& s) {
  if (s.status == Status::rejected) return "rejected: " + s.code;
  if (s.status == Status::unfit) return "unfit: " + (s.code.empty() ? "one rank" : s.code);
  if (s.status == Status::failed) return "failed" + (s.code.empty() ? "" : ": " + s.code);
  if (flagged(s, "throttled")) return "throttled";
  if (flagged(s, "warm-l2")) return "warm cache";
  if (const auto* call = std::get_if<CollectiveCall>(&s.work); call && call->group.size < 2)
    return "one rank";
  if (!std::holds_alternative<OverlapCall>(s.work) && seconds_of(s) <= 0) return "no time";
  return "";
}

// "h100_1x8_all_reduce" of "import h100_1x8_all_reduce.csv", without what YAML or SVG would read otherwise;
// empty where it was measured here.
std::string stem_of(const Environment& e) {
  constexpr std::string_view kImport = "import ";
  if (!e.command.starts_with(kImport)) return "";
  std::string stem = std::filesystem::path(e.command.substr(kImport.size())).stem().string();
  for (char& c : stem)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return stem;
}

// Where a sample belongs: key of its table, the kind and the row's keys; no key: to none.
struct Place {
  std::string key, name;
  TableKind kind = TableKind::gemm;
  std::vector<double> keys;
};

Place place_of(const GemmCall& c, const std::set<DType>& by_role) {
  const GemmShape& s = c.shape;
  if (s.batch > 1)
    return {"batched " + word(c.dtype),
            "batched_gemm_" + word(c.dtype),
            TableKind::batched_gemm,
            {s.batch, s.m, s.n, s.k}};
  const std::string role = by_role.count(c.dtype) ? "_" + std::string(name_of(kRoleNames, c.role)) : "";
  return {"gemm " + word(c.dtype) + role, "gemm_" + word(c.dtype) + role, TableKind::gemm, {s.m, s.n, s.k}};
}
Place place_of(const AttentionCall& c, const std::set<DType>&) {
  const AttentionShape& s = c.shape;
  const std::string name = "attention_" + word(c.dtype) + (c.backward ? "_backward" : "_forward");
  return {name,
          name,
          TableKind::attention,
          {s.sequence, s.batch, s.heads, s.kv_heads, s.head_dim, s.causal ? 1.0 : 0.0}};
}
Place place_of(const MemoryCall& c, const std::set<DType>&) {
  const std::string name = std::string(name_of(c.kernel)) + "_" + word(c.dtype);
  return {"memory " + name, name, TableKind::memory, {c.shape.rows, c.shape.width}};
}
Place place_of(const CollectiveCall& c, const std::set<DType>&) {
  if (c.group.stride > 1 || c.group.concurrent) return {};
  const std::string name =
      fmt::format("{}x{}_{}", c.group.nodes, c.group.size / c.group.nodes, name_of(kOpNames, c.op));
  return {name, name, TableKind::collective, {c.bytes}};
}
template <class Other>
Place place_of(const Other&, const std::set<DType>&) {
  return {};
}

// Types whose GEMMs were measured in more than the forward layout.
std::set<DType> types_by_role(const std::vector<Taken>& taken) {
  std::set<DType> types;
  for (const auto& t : taken)
    if (const auto* gemm = std::get_if<GemmCall>(&t.sample->work); gemm && gemm->role != GemmRole::forward)
      types.insert(gemm->dtype);
  return types;
}

bool over_nodes(const Work& work) {
  const auto* call = std::get_if<CollectiveCall>(&work);
  return call && call->group.nodes > 1;
}

void describe(FitTable& table, const Environment& e, bool borrowed) {
  table.network = e.network;
  table.node_network_bytes_per_s = e.node_network_bytes_per_s;
  table.network_latency_s = e.network_latency_s;
  table.source =
      e.source.empty() ? fmt::format("measured on {} by the {} backend", e.device, e.backend) : e.source;
  table.licence = e.licence.empty() ? (e.source.empty() ? "own measurement" : "not stated") : e.licence;
  table.caveats = e.caveats;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) table.caveats += (table.caveats.empty() ? "" : "; ") + what;
  };
  if (e.backend != "import") {
    add(e.driver.empty() ? "" : "driver " + e.driver);
    add(e.toolkit);
    add(e.collectives_library);
    add(e.topology);
    add(e.started.empty() ? "" : "started " + e.started);
  }
  if (borrowed) table.basis = Basis::guess, add("of another device: " + e.device);
}

// Accumulating and in-place calls of a shape give way to plain ones.
bool is_plain(const Work& work) {
  if (const auto* gemm = std::get_if<GemmCall>(&work)) return !gemm->accumulate;
  if (const auto* call = std::get_if<CollectiveCall>(&work)) return !call->in_place;
  return true;
}

void sort_rows(FitTable& table) {
  auto& rows = table.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TableRow& a, const TableRow& b) { return a.keys < b.keys; });
  std::vector<TableRow> kept;
  for (auto& row : rows) {
    if (kept.empty() || kept.back().keys != row.keys) {
      kept.push_back(std::move(row));
      continue;
    }
    TableRow& first = kept.back();
    if (table.kind == TableKind::collective) {
      // Out of place and in place: the faster one.
      if (row.seconds < first.seconds) first = std::move(row);
    } else if (!is_plain(first.work) && is_plain(row.work)) {
      first = std::move(row);
    }
  }
  rows = std::move(kept);
}

}  // namespace

double seconds_of(const Sample& s) { return s.device.n ? s.device.median : s.host.median; }

Gathered gather(const std::vector<FitInput>& inputs) {
  Gathered g;
  std::map<std::string, int> left_out;
  for (const auto& input : inputs)
    for (const auto& s : input.samples.samples) {
      const std::string why = why_left_out(s);
      if (why.empty())
        g.taken.push_back({&s, &input.samples.environments.at(s.environment), input.borrowed});
      else
        ++left_out[why];
    }
  g.left_out.assign(left_out.begin(), left_out.end());
  return g;
}

static bool lacks_network(const Taken& t) {
  return over_nodes(t.sample->work) && t.environment->network.empty();
}

std::vector<std::pair<std::string, int>> without_table(const std::vector<Taken>& taken) {
  std::map<std::string, int> counts;
  for (const auto& t : taken) {
    if (!lacks_network(t) || t.environment->backend != "import") continue;
    const auto& call = std::get<CollectiveCall>(t.sample->work);
    ++counts[std::string(name_of(kOpNames, call.op)) + " over " + std::to_string(call.group.nodes) +
             " nodes, whose network is not named"];
  }
  return {counts.begin(), counts.end()};
}

std::vector<FitTable> tables_of(const std::vector<Taken>& taken) {
  const auto by_role = types_by_role(taken);
  std::vector<FitTable> tables;
  std::map<std::string, size_t> at;
  std::set<std::string> files;
  for (const auto& t : taken) {
    Place place = std::visit([&](const auto& call) { return place_of(call, by_role); }, t.sample->work);
    if (place.key.empty() || lacks_network(t)) continue;
    const std::string stem = stem_of(*t.environment);
    // Imported files of one operation lead and continue each other; imported GEMMs of a type are one table.
    const bool apart = place.kind == TableKind::collective || place.kind == TableKind::attention;
    const auto [entry, fresh] = at.emplace(place.key + (apart ? "|" + stem : ""), tables.size());
    if (fresh) {
      FitTable table;
      table.kind = place.kind;
      table.like = t.sample->work;
      if (const auto* gemm = std::get_if<GemmCall>(&table.like))
        table.of_role = by_role.count(gemm->dtype) > 0;
      std::string file = stem.empty() ? place.name : stem;
      if (files.count(file)) file += "_" + place.name;
      while (!files.insert(file).second) file += "_";
      table.file = file + ".csv";
      describe(table, *t.environment, t.borrowed);
      tables.push_back(std::move(table));
    }
    FitTable& table = tables[entry->second];
    table.rows.push_back({std::move(place.keys), seconds_of(*t.sample), t.sample->work});
  }
  for (auto& table : tables) sort_rows(table);
  return tables;
}

std::string FitTable::label() const {
  if (const auto* c = std::get_if<GemmCall>(&like)) {
    std::string text = kind == TableKind::batched_gemm ? "batched_gemm " : "gemm ";
    text += name_of(kDTypeNames, c->dtype);
    return of_role && kind == TableKind::gemm ? text + " " + std::string(name_of(kRoleNames, c->role)) : text;
  }
  if (const auto* c = std::get_if<AttentionCall>(&like))
    return "attention " + word(c->dtype) + (c->backward ? " backward" : " forward");
  if (const auto* c = std::get_if<MemoryCall>(&like))
    return std::string(name_of(c->kernel)) + " " + word(c->dtype);
  const auto& c = std::get<CollectiveCall>(like);
  return fmt::format("{} {}x{}", name_of(kOpNames, c.op), c.group.nodes, c.group.size / c.group.nodes);
}

std::string csv_of(const FitTable& table) {
  static constexpr const char* kHeaders[] = {"m,n,k,time_us", "batch,m,n,k,time_us", "rows,width,time_us",
                                             "sequence,batch,heads,kv_heads,head_dim,causal,time_us",
                                             "bytes,time_us"};
  std::string text = kHeaders[static_cast<int>(table.kind)];
  text += '\n';
  for (const auto& row : table.rows) {
    for (const double key : row.keys) fmt::format_to(std::back_inserter(text), "{},", key);
    fmt::format_to(std::back_inserter(text), "{:.10g}\n", row.seconds * 1e6);
  }
  return text;
}

}  // namespace rehearse::calibration
