#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/csv.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/sweep.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBest = 5;

size_t place_of(std::string_view figure) {
  const auto table = figure_table();
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == figure) return i;
  return table.size();
}

double figure_of(const Outcome& outcome, size_t place) {
  return place < outcome.figures.size() ? outcome.figures[place] : std::nan("");
}

std::string settings_text(const Point& point) {
  std::string text;
  for (const auto& setting : point.settings) text += (text.empty() ? "" : " ") + setting;
  return printable(text);
}

void count(const SweepItem& item, SweepSummary& summary, size_t shared) {
  const Outcome& outcome = item.outcome;
  if (!item.reused) ++summary.priced;
  if (outcome.verdict == Verdict::unfit) {
    ++summary.unfit;
  } else if (outcome.verdict != Verdict::simulated) {
    ++summary.rejected;
    if (outcome.verdict == Verdict::failed) ++summary.failed;
    ++summary.rejected_by_code[outcome.code];
    summary.examples.try_emplace(outcome.code, item.index);
  } else if (item.reused) {
    ++summary.reused;
  } else {
    ++summary.simulated;
    ++summary.engines[figure_of(outcome, shared) > 0 ? "simgrid" : "timers only"];
  }
}

double rate(size_t count, double seconds) { return seconds > 0 ? double(count) / seconds : 0; }

}  // namespace

SweepSummary summarize(const std::vector<SweepItem>& items) {
  SweepSummary summary;
  const size_t shared = place_of("engine.shared_flows"), step = place_of("step_time_s");
  summary.points = items.size();
  for (const auto& item : items) {
    if (!item.known) {
      ++summary.left;
      continue;
    }
    count(item, summary, shared);
    if (item.outcome.verdict == Verdict::simulated) summary.best.push_back(&item);
  }
  const auto kept = summary.best.begin() + ptrdiff_t(std::min(kBest, summary.best.size()));
  std::partial_sort(summary.best.begin(), kept, summary.best.end(), [&](const auto* a, const auto* b) {
    const double x = figure_of(a->outcome, step), y = figure_of(b->outcome, step);
    return x != y ? x < y : a->index < b->index;
  });
  summary.best.erase(kept, summary.best.end());
  return summary;
}

std::string default_store(const Study& study) { return study.name + ".sqlite"; }

std::string sweep_table(const SweepSummary& s, const Study& study, const std::string& store) {
  std::string text = fmt::format("{}: {} points in {}\n", printable(study.name), s.points, store);
  const auto row = [&](const char* what, size_t count, const std::string& note) {
    if (count > 0) text += fmt::format("{:>8} {:<10}{}\n", count, what, note.empty() ? "" : "  " + note);
  };
  std::string engines;
  for (const auto& [name, count] : s.engines)
    engines += fmt::format("{}{} {}", engines.empty() ? "" : ", ", count,
                           name == "simgrid" ? "with flows that met (SimGrid)" : "on timers alone");
  row("simulated", s.simulated, engines);
  row("reused", s.reused, "simulated before");
  row("unfit", s.unfit, "priced for memory alone");
  row("rejected", s.rejected,
      s.failed > 0 ? fmt::format("{} of them failed, and are tried again by the next sweep", s.failed) : "");
  row("left", s.left, "");
  for (const auto& [code, count] : s.rejected_by_code)
    text += fmt::format("{:>10} {:<20} {}\n", count, code, settings_text(study.points[s.examples.at(code)]));
  if (s.priced > 0)
    text += fmt::format("{} points in {:.1f} s: {:.3g} a second, {:.3g} simulated a second\n", s.priced,
                        s.pricing_s, rate(s.priced, s.pricing_s), rate(s.simulated, s.pricing_s));
  if (!s.best.empty()) text += fmt::format("{:>10} {:>7} {:>9}  fastest\n", "step", "MFU", "peak");
  const size_t step = place_of("step_time_s"), mfu = place_of("mfu"), peak = place_of("memory.peak_bytes");
  for (const auto* item : s.best)
    text += fmt::format("{:>8.3f} s {:>5.1f} % {:>5.1f} GiB  {}\n", figure_of(item->outcome, step),
                        100 * figure_of(item->outcome, mfu), figure_of(item->outcome, peak) / 0x1p30,
                        settings_text(study.points[item->index]));
  if (s.interrupted) text += "interrupted; the same command goes on where it stopped\n";
  return text;
}

std::string sweep_json(const SweepSummary& s, const Study& study, const std::string& store) {
  Json json{{"study", study.name},
            {"store", store},
            {"points", s.points},
            {"rejected", s.rejected},
            {"unfit", s.unfit},
            {"reused", s.reused},
            {"simulated", s.simulated},
            {"wall_s", s.wall_s},
            {"left", s.left},
            {"failed", s.failed},
            {"priced", s.priced},
            {"points_per_s", rate(s.priced, s.pricing_s)},
            {"simulated_per_s", rate(s.simulated, s.pricing_s)}};
  json["rejected_by_code"] = Json::object();
  for (const auto& [code, count] : s.rejected_by_code) json["rejected_by_code"][code] = count;
  json["engines"] = {{"simgrid", 0}, {"timers only", 0}};
  for (const auto& [name, count] : s.engines) json["engines"][name] = count;
  json["fastest"] = Json::array();
  const size_t step = place_of("step_time_s");
  for (const auto* item : s.best)
    json["fastest"].push_back({{"settings", study.points[item->index].settings},
                               {"step_time_s", figure_of(item->outcome, step)},
                               {"digest", item->digest}});
  json["interrupted"] = s.interrupted;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_csv(const std::vector<SweepItem>& items, const Study& study) {
  std::string text = "digest";
  for (const auto& axis : study.axes) text += "," + csv_cell(axis);
  text += ",verdict,code,message";
  for (const auto& row : figure_table()) text.append(",").append(row.name);
  text += ",stage_peak_bytes\n";
  for (const auto& item : items) {
    if (!item.known) continue;
    text += item.digest;
    for (const auto& axis : study.axes) text += "," + csv_cell(value_of(study.points[item.index], axis));
    text.append(",").append(name_of(kVerdicts, item.outcome.verdict));
    text += "," + csv_cell(item.outcome.code) + "," + csv_cell(item.outcome.message);
    for (size_t i = 0; i < figure_table().size(); ++i) {
      const double figure = figure_of(item.outcome, i);
      text += std::isfinite(figure) ? fmt::format(",{}", figure) : ",";
    }
    std::string peaks;
    for (const double peak : item.outcome.stage_peak_bytes)
      peaks += fmt::format("{}{}", peaks.empty() ? "" : " ", peak);
    text += "," + peaks + "\n";
  }
  return text;
}

}  // namespace rehearse
