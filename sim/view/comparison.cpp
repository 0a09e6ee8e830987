#include "sim/view/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/account/names.hpp"

namespace rehearse {

using Json = nlohmann::ordered_json;

namespace {

struct Line {
  std::string what, unit;
  std::vector<double> values;  // one a run
};

Line line(std::span<const ComparedRun> runs, std::string what, std::string unit,
          const std::function<double(const Report&)>& of) {
  Line made{std::move(what), std::move(unit), {}};
  for (const auto& run : runs) made.values.push_back(of(*run.report));
  return made;
}

std::vector<Line> summary_lines(std::span<const ComparedRun> runs) {
  return {
      line(runs, "step", "s", [](const Report& r) { return r.step_time_s; }),
      line(runs, "tokens/s/GPU", "", [](const Report& r) { return r.tokens_per_s_per_gpu; }),
      line(runs, "MFU", "%", [](const Report& r) { return 100 * r.mfu; }),
      line(runs, "HFU", "%", [](const Report& r) { return 100 * r.hfu; }),
      line(runs, "GPUs", "", [](const Report& r) { return double(r.ranks); }),
      line(runs, "idle share of the pipeline", "%",
           [](const Report& r) { return 100 * r.pipeline.bubble_fraction; }),
  };
}

std::vector<Line> account_lines(std::span<const ComparedRun> runs) {
  std::vector<Line> lines;
  for (size_t part = 0; part < kParts; ++part)
    lines.push_back(
        line(runs, std::string(kPartNames[part]), "s", [part](const Report& r) { return r.account[part]; }));
  return lines;
}

const MemoryParts& fullest(const Report& r) {
  static const MemoryParts none;
  const auto less = [](const StageMemory& a, const StageMemory& b) {
    return a.peak.total() < b.peak.total();
  };
  const auto at = std::max_element(r.memory.stages.begin(), r.memory.stages.end(), less);
  return at == r.memory.stages.end() ? none : at->peak;
}

std::vector<Line> memory_lines(std::span<const ComparedRun> runs) {
  static constexpr Named<double MemoryParts::*> kMemory[] = {
      {"weights", "", &MemoryParts::weights},     {"gradients", "", &MemoryParts::gradients},
      {"optimizer", "", &MemoryParts::optimizer}, {"activations", "", &MemoryParts::activations},
      {"logits", "", &MemoryParts::logits},       {"buffers", "", &MemoryParts::buffers},
      {"framework", "", &MemoryParts::framework},
  };
  std::vector<Line> lines{
      line(runs, "peak", "GiB", [](const Report& r) { return r.memory.peak_bytes / kGibi; })};
  for (const auto& row : kMemory)
    lines.push_back(line(runs, std::string(row.name), "GiB",
                         [part = row.value](const Report& r) { return fullest(r).*part / kGibi; }));
  return lines;
}

// Bytes sent and exposed time of each purpose that any run has.
std::vector<Line> ledger_lines(std::span<const ComparedRun> runs) {
  std::map<std::pair<int, std::string>, bool> purposes;
  for (const auto& run : runs)
    for (const auto& row : run.report->ledger) purposes[{int(row.axis), row.what}] = true;
  std::vector<Line> lines;
  const auto sum = [&](const std::pair<int, std::string>& key, double LedgerRow::*column, double unit) {
    return [=](const Report& r) {
      double total = 0;
      for (const auto& row : r.ledger)
        if (int(row.axis) == key.first && row.what == key.second) total += row.*column / unit;
      return total;
    };
  };
  for (const auto& [key, any] : purposes) {
    const std::string name = fmt::format("{} {}", axis_name(Axis(key.first)), key.second);
    lines.push_back(line(runs, name + " sent", "GB", sum(key, &LedgerRow::bytes_sent_per_rank, 1e9)));
    lines.push_back(line(runs, name + " exposed", "s", sum(key, &LedgerRow::exposed_s, 1)));
  }
  return lines;
}

std::string difference(double value, double first) {
  const double by = value - first;
  if (std::abs(by) <= 1e-9 * std::abs(first)) return "=";  // summed in another order
  const std::string relative = first != 0 ? fmt::format(" {:+.1f} %", 100 * by / first) : "";
  return fmt::format("{:+.4g}{}", by, relative);
}

std::string block(std::string_view title, const std::vector<Line>& lines, TableStyle style) {
  std::string text = style.colour ? fmt::format("\n\x1b[1m{}\x1b[0m\n", title) : fmt::format("\n{}\n", title);
  for (const auto& l : lines) {
    if (std::all_of(l.values.begin(), l.values.end(), [](double v) { return v == 0; })) continue;
    text += fmt::format("  {:<30} {:>4}", l.what, l.unit);
    for (size_t i = 0; i < l.values.size(); ++i)
      text += fmt::format(" {:>10.4g}", l.values[i]) +
              (i > 0 ? fmt::format(" {:<20}", difference(l.values[i], l.values[0])) : "");
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string to_comparison_table(std::span<const ComparedRun> runs, TableStyle style) {
  std::string text;
  for (size_t i = 0; i < runs.size(); ++i)
    text += fmt::format("{}: {}{}\n", char('A' + i % 26), runs[i].label,
                        runs[i].report->memory.fits ? "" : " (DOES NOT FIT)");
  text += fmt::format("\n  {:<35} {:>10}", "", "A");
  for (size_t i = 1; i < runs.size(); ++i)
    text += fmt::format(" {:>10} {:<20}", char('A' + i % 26), fmt::format("{} - A", char('A' + i % 26)));
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  text += block("summary", summary_lines(runs), style);
  text += block("where the step goes (mean over ranks)", account_lines(runs), style);
  text += block("memory of the fullest stage", memory_lines(runs), style);
  text += block("traffic a rank and step", ledger_lines(runs), style);
  return text;
}

std::string to_comparison_json(std::span<const ComparedRun> runs) {
  Json compared = Json::array(), differences = Json::array();
  for (const auto& run : runs) {
    Json entry = {{"label", run.label}};
    entry.update(Json::parse(to_json(*run.report, *run.scenario)));
    compared.push_back(std::move(entry));
    if (&run == &runs.front()) continue;
    const Report &r = *run.report, &first = *runs.front().report;
    Json by = {{"label", run.label},
               {"step_time_s", r.step_time_s - first.step_time_s},
               {"mfu", r.mfu - first.mfu},
               {"peak_bytes", r.memory.peak_bytes - first.memory.peak_bytes}};
    for (size_t part = 0; part < kParts; ++part)
      by["account_s"][std::string(kPartNames[part])] = r.account[part] - first.account[part];
    by["account_s"]["total"] = r.step_time_s - first.step_time_s;
    differences.push_back(std::move(by));
  }
  return Json{{"schema", 1}, {"compared", std::move(compared)}, {"differences", std::move(differences)}}.dump(
             2) +
         "\n";
}

}  // namespace rehearse
