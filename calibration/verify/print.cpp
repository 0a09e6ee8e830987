#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/measure/measure.hpp"
#include "calibration/verify/verify.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {

namespace {

std::string ratio(double simulated, double measured) {
  return measured > 0 && simulated > 0 ? fmt::format("{:+.1f} %", 100 * (simulated / measured - 1)) : "-";
}

std::vector<std::tuple<std::string, double, double>> joined(const Verification& v) {
  const std::map<std::string, double> simulated(v.simulated_account.begin(), v.simulated_account.end()),
      measured(v.measured_account.begin(), v.measured_account.end());
  std::set<std::string> names;
  for (const auto& [name, s] : simulated) names.insert(name);
  for (const auto& [name, s] : measured) names.insert(name);
  std::vector<std::tuple<std::string, double, double>> rows;
  for (const auto& name : names) {
    const auto value = [&](const auto& in) { return in.count(name) ? in.at(name) : 0.0; };
    if (value(simulated) > 0 || value(measured) > 0)
      rows.emplace_back(name, value(simulated), value(measured));
  }
  return rows;
}

}  // namespace

std::string table_of(const Verification& v) {
  std::string out;
  auto to = std::back_inserter(out);
  const Quantiles q = quantiles(v.steps);
  fmt::format_to(to, "{}: {} rank{} of {} ({})\n\n", v.scenario, v.ranks, v.ranks == 1 ? "" : "s", v.backend,
                 v.device);
  fmt::format_to(to, "step: simulated {:.3f} ms, measured {:.3f} ms ({} runs, {:.3f} to {:.3f}): {}\n\n",
                 1e3 * v.simulated_step, 1e3 * q.median, v.steps.size(),
                 1e3 * *std::min_element(v.steps.begin(), v.steps.end()),
                 1e3 * *std::max_element(v.steps.begin(), v.steps.end()), ratio(v.simulated_step, q.median));
  fmt::format_to(to, "where the step goes, mean over ranks (stages: transfers and bubble)\n");
  fmt::format_to(to, "  {:<26} {:>12} {:>12} {:>10}\n", "part", "simulated ms", "measured ms", "error");
  for (const auto& [name, simulated, measured] : joined(v))
    fmt::format_to(to, "  {:<26} {:>12.3f} {:>12.3f} {:>10}\n", name, 1e3 * simulated, 1e3 * measured,
                   ratio(simulated, measured));
  fmt::format_to(to, "\nby call, mean over ranks\n  {:<26} {:>12} {:>12} {:>10} {:>9}\n", "call",
                 "simulated ms", "measured ms", "error", "calls");
  for (const auto& op : v.ops)
    fmt::format_to(to, "  {:<26} {:>12.3f} {:>12.3f} {:>10} {:>9.4g}\n", op.name, 1e3 * op.simulated,
                   1e3 * op.measured, ratio(op.simulated, op.measured), op.calls);
  return out;
}

std::string json_of(const Verification& v) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["scenario"] = v.scenario;
  j["backend"] = v.backend;
  j["device"] = v.device;
  j["ranks"] = v.ranks;
  const Quantiles q = quantiles(v.steps);
  j["step"] = {{"simulated_s", v.simulated_step},
               {"measured_s", q.median},
               {"error", v.error()},
               {"p10_s", q.p10},
               {"p90_s", q.p90},
               {"runs_s", v.steps}};
  for (const auto& [name, simulated, measured] : joined(v))
    j["account"].push_back({{"part", name}, {"simulated_s", simulated}, {"measured_s", measured}});
  for (const auto& op : v.ops)
    j["ops"].push_back(
        {{"name", op.name}, {"calls", op.calls}, {"simulated_s", op.simulated}, {"measured_s", op.measured}});
  return j.dump(2) + "\n";
}

}  // namespace rehearse::calibration
