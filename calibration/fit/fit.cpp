#include "calibration/fit/fit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/fit/constants.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/profile.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

double number_of(const Constants& constants, const std::string& path, Dimension dimension) {
  return parse_quantity(constants.value_of(path), dimension).value.value_or(0);
}

// A constant's number in SI units, whatever its dimension.
double si_of(const std::string& text) {
  for (const Dimension d :
       {Dimension::bytes, Dimension::seconds, Dimension::bytes_per_s, Dimension::flop_per_s})
    if (const auto parsed = parse_quantity(text, d); parsed.value) return *parsed.value;
  return parse_number(text).value.value_or(0);
}

// The best that was reached bounds a rate from below: it contradicts no higher one.
bool contradict(const std::string& path, const std::string& stated, const std::string& by_samples) {
  const double x = si_of(stated), y = si_of(by_samples);
  const bool bound = path == "device.hbm" || path == "device.nvlink" || path.starts_with("device.peak.");
  return !(bound && y < x) && std::abs(x - y) > 0.05 * std::max(std::abs(x), std::abs(y));
}

// NCCL's own algorithms serve a GPU of a known architecture.
bool beside_nccl(const Constants& constants, const NamedConstant& c) {
  return c.path.starts_with("algorithms.") && constants.find("device.architecture");
}

void add_from_samples(Constants& constants, const std::vector<NamedConstant>& found, Fit& fit) {
  for (const auto& c : found) {
    const bool again = std::any_of(fit.from_samples.begin(), fit.from_samples.end(),
                                   [&](const auto& f) { return f.path == c.path; });
    if (again || beside_nccl(constants, c)) continue;
    if (constants.add(c))
      fit.from_samples.push_back(c);
    else if (c.basis != Basis::guess && contradict(c.path, constants.value_of(c.path), c.value))
      fit.overruled.push_back(
          fmt::format("{}: {} stated, {} by the samples", c.path, constants.value_of(c.path), c.value));
  }
}

Constants constants_of(const Gathered& gathered, const FitOptions& options, Fit& fit) {
  Constants constants(options.constants, options.constants_file);
  add_from_samples(constants, device_constants(gathered.taken), fit);
  const bool reached = std::any_of(fit.from_samples.begin(), fit.from_samples.end(), [](const auto& c) {
    return c.path == "device.nvlink" && c.basis == Basis::fitted;
  });
  add_from_samples(
      constants,
      software_constants(gathered.taken, number_of(constants, "device.hbm", Dimension::bytes_per_s),
                         number_of(constants, "device.nvlink", Dimension::bytes_per_s), !reached),
      fit);
  for (const auto& c : default_constants())
    if (!beside_nccl(constants, c) && constants.add(c) && c.basis == Basis::guess) fit.guessed.push_back(c);
  bool has_peak = false;
  for (const auto& row : kDTypeNames)
    has_peak |= !constants.value_of("device.peak." + std::string(row.name)).empty();
  if (!has_peak) {
    fit.guessed.push_back({"device.peak.bf16", "1 TFLOP/s", Basis::guess, "not told by the samples"});
    constants.add(fit.guessed.back());
  }
  const NamedConstant odd{"device.odd_head", "0.1 TFLOP/s", Basis::guess, "not told by the samples"};
  if (constants.add(odd)) fit.guessed.push_back(odd);
  return constants;
}

std::string percent(const Accuracy& a) {
  return fmt::format("median {:.2g} %, p90 {:.2g} %, p99 {:.2g} %", 100 * a.median, 100 * a.p90, 100 * a.p99);
}

// Of a collective over nodes what joins them.
std::string nodes_of(const FitTable& table, const CollectiveCall& call) {
  if (call.group.nodes == 1) return "";
  std::string out = fmt::format("    nodes: {}\n    network: {}\n    node_network: {:.5g} GB/s\n",
                                call.group.nodes, table.network, table.node_network_bytes_per_s * 1e-9);
  if (table.network_latency_s > 0)
    out += fmt::format("    network_latency: {:.4g} us\n", table.network_latency_s * 1e6);
  return out;
}

// The entry of a table in the profile.
std::string entry_of(const FitTable& table, const TableFit* fit, const std::string& folder) {
  std::string out = fmt::format("  - table: {}/{}\n", folder, table.file);
  if (const auto* c = std::get_if<GemmCall>(&table.like)) {
    out += fmt::format("    dtype: {}\n", name_of(kDTypeNames, c->dtype));
    if (table.of_role && table.kind == TableKind::gemm)
      out += fmt::format("    role: {}\n", name_of(kRoleNames, c->role));
  }
  if (const auto* c = std::get_if<AttentionCall>(&table.like))
    out += fmt::format("    dtype: {}\n    direction: {}\n", name_of(kDTypeNames, c->dtype),
                       c->backward ? "backward" : "forward");
  if (const auto* c = std::get_if<MemoryCall>(&table.like))
    out += fmt::format("    kernel: {}\n    dtype: {}\n", name_of(c->kernel), name_of(kDTypeNames, c->dtype));
  if (const auto* c = std::get_if<CollectiveCall>(&table.like))
    out +=
        fmt::format("    op: {}\n    gpus: {}\n", name_of(kOpNames, c->op), c->group.size / c->group.nodes) +
        nodes_of(table, *c);
  std::string caveats = table.caveats;
  const auto add = [&](const std::string& what) { caveats += (caveats.empty() ? "" : "; ") + what; };
  if (fit && fit->thinned) add(fmt::format("{} more rows left out that these predict", fit->thinned));
  if (fit && fit->held_out.n > 0)
    add(fmt::format("error of {} rows{}, each kept out once: {}", fit->held_out.n,
                    fit->thinned ? ", those left out too" : "", percent(fit->held_out)));
  out += fmt::format("    basis: {}\n    source: {}\n    licence: {}\n",
                     table.basis == Basis::guess ? "guess" : "measured", yaml_quoted(table.source),
                     yaml_quoted(table.licence));
  return caveats.empty() ? out : out + fmt::format("    caveats: {}\n", yaml_quoted(caveats));
}

std::string yaml_of(const Constants& constants, const std::vector<FitTable>& tables,
                    const std::vector<TableFit>& fits, const std::string& name) {
  std::string out =
      "# Made by rehearse-calibrate fit. Every number: what it rests on (measured, fitted, datasheet, guess) "
      "and where it\n"
      "# comes from. Of several collectives of one operation and group the first leads, the next serves "
      "larger sizes.\n"
      "name: " +
      name + "\n\n" + constants.yaml();
  static constexpr std::pair<const char*, TableKind> kKinds[] = {{"gemm", TableKind::gemm},
                                                                 {"batched_gemm", TableKind::batched_gemm},
                                                                 {"memory", TableKind::memory},
                                                                 {"attention", TableKind::attention},
                                                                 {"collectives", TableKind::collective}};
  for (const auto& [key, kind] : kKinds) {
    bool first = true;
    for (size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].kind != kind) continue;
      if (first) out += fmt::format("\n{}:\n", key);
      first = false;
      out += entry_of(tables[i], fits.empty() ? nullptr : &fits[i], name);
    }
  }
  return out;
}

// The profile as the simulator reads it, through a folder of its own.
std::shared_ptr<const DeviceProfile> read_back(const std::string& yaml, const std::vector<FitTable>& tables,
                                               const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("rehearse-fit-{}", getpid());
  fs::create_directories(folder / name);
  struct Removed {
    fs::path folder;
    ~Removed() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  } removed{folder};
  std::ofstream(folder / (name + ".yaml"), std::ios::binary) << yaml;
  for (const auto& table : tables)
    std::ofstream(folder / name / table.file, std::ios::binary) << csv_of(table);
  return load_profile((folder / (name + ".yaml")).string());
}

void find_outliers(Fit& fit) {
  for (const auto& table : fit.fits)
    for (const auto& point : table.points) {
      const double off = std::abs(std::log(point.fitted / point.measured));
      if (off > std::log(1.3) && off > 12 * table.held_out.median)
        fit.outliers.push_back({table.file, point});
    }
  std::stable_sort(fit.outliers.begin(), fit.outliers.end(), [](const Outlier& a, const Outlier& b) {
    return std::abs(std::log(a.point.fitted / a.point.measured)) >
           std::abs(std::log(b.point.fitted / b.point.measured));
  });
}

std::string reasons_of(const std::vector<std::pair<std::string, int>>& left_out) {
  std::string text;
  for (const auto& [why, count] : left_out)
    text += (text.empty() ? ": " : "; ") + std::to_string(count) + " " + why;
  return text;
}

// A profile without what was imported to be in it would be one of guesses.
void refuse_without_collectives(const std::vector<std::pair<std::string, int>>& dropped,
                                const std::vector<FitTable>& tables) {
  const bool has_any = std::any_of(tables.begin(), tables.end(),
                                   [](const FitTable& table) { return table.kind == TableKind::collective; });
  if (dropped.empty() || has_any) return;
  throw InputErrors(InputError{{},
                               "",
                               "E-FIT-EMPTY",
                               "no collective takes part in the fit" + reasons_of(dropped),
                               "import them again with --network and --node-network, as in --network ib-ndr "
                               "--node-network '400 GB/s'"});
}

}  // namespace

Fit fit_profile(const std::vector<FitInput>& inputs, const FitOptions& options) {
  Fit fit;
  const Gathered gathered = gather(inputs);
  fit.left_out = gathered.left_out;
  fit.samples = gathered.taken.size();
  if (gathered.taken.empty())
    throw InputErrors(InputError{{},
                                 "",
                                 "E-FIT-EMPTY",
                                 "no sample takes part in the fit" + reasons_of(fit.left_out),
                                 "measure again, or import other figures"});
  fit.without_table = without_table(gathered.taken);
  auto tables = tables_of(gathered.taken);
  refuse_without_collectives(fit.without_table, tables);
  const Constants constants = constants_of(gathered, options, fit);
  const auto profile = read_back(yaml_of(constants, tables, {}, options.name), tables, options.name);
  fit.fits = hold_out(*profile, tables);
  for (size_t i = 0; i < tables.size() && options.thin > 0; ++i) {
    fit.fits[i].thinned = thin(*profile, tables[i], options.thin);
    fit.fits[i].rows = tables[i].rows.size();
  }
  find_outliers(fit);
  fit.yaml = yaml_of(constants, tables, fit.fits, options.name);
  for (const auto& table : tables) fit.tables[table.file] = csv_of(table);
  return fit;
}

}  // namespace rehearse::calibration
