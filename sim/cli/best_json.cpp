#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/best.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

Json figures_json(const Candidate& c, const BestAnswer& a) {
  Json json{{"step_time_s", c.step_time_s},
            {"tokens_per_s", c.tokens_per_s},
            {"tokens_per_s_per_gpu", c.tokens_per_s_per_gpu},
            {"mfu", c.mfu},
            {"peak_bytes", c.peak_bytes},
            {"gpus", c.gpus}};
  const Expense e = expense_of(c, a.rates);
  if (a.rates.dollars_per_gpu_hour > 0) {
    json["dollars_per_step"] = e.dollars_per_step;
    json["dollars_per_1e9_tokens"] = e.dollars_per_1e9_tokens;
  }
  if (a.rates.watts_per_gpu > 0) {
    json["joules_per_step"] = e.joules_per_step;
    json["joules_per_1e9_tokens"] = e.joules_per_1e9_tokens;
  }
  for (size_t part = 0; part < kParts; ++part)
    json["account_s"][std::string(kPartNames[part])] = c.account[part];
  return json;
}

// The point at a place of the ranking.
Json point_json(size_t at, const BestAnswer& a, const Study& study) {
  const Candidate& c = a.simulated[at];
  Json json{{"rank", at + 1}, {"settings", study.points[c.index].settings}};
  json.update(figures_json(c, a));
  return json;
}

Json reason_json(const Candidate& c, const Candidate& other, const BestAnswer& a) {
  const Reason reason = reason_of(c, other, a.goal);
  Json parts = Json::object();
  for (const auto& part : reason.parts) parts[std::string(part.part)] = part.amount;
  return {{"unit", reason.per_tokens ? "GPU-s per 1e6 tokens" : "s"},
          {"parts", std::move(parts)},
          {"total", reason.total},
          {"text", reason_text(reason)}};
}

Json top_json(const BestAnswer& a, const Study& study) {
  Json top = Json::array();
  for (size_t i = 0; i < std::min(a.top, a.simulated.size()); ++i) {
    Json entry = point_json(i, a, study);
    const Candidate& c = a.simulated[i];
    const double value = goal_value(c, a.goal, a.rates);
    if (i + 1 < a.simulated.size()) {
      const Candidate& next = a.simulated[i + 1];
      entry["lead"] = goal_value(next, a.goal, a.rates) / value - 1;
      entry["beats_next"] = reason_json(c, next, a);
    }
    entry["within_error_of_first"] =
        a.error ? Json(within_error(value, goal_value(a.simulated.front(), a.goal, a.rates), *a.error))
                : Json(nullptr);
    top.push_back(std::move(entry));
  }
  return top;
}

Json placed_json(const PlacedLayout& p, const BestAnswer& a) {
  Json json{
      {"layout", p.label}, {"settings", p.settings}, {"verdict", name_of(kVerdicts, p.outcome.verdict)}};
  if (p.outcome.verdict == Verdict::unfit) {
    json["peak_bytes"] = figure_of(p.outcome, "memory.peak_bytes");
    json["capacity_bytes"] = figure_of(p.outcome, "memory.capacity_bytes");
  }
  if (!p.outcome.code.empty()) json.update({{"code", p.outcome.code}, {"message", p.outcome.message}});
  if (!p.candidate) return json;
  json.update({{"rank", p.rank}, {"of", a.simulated.size()}});
  json.update(figures_json(*p.candidate, a));
  if (a.simulated.empty()) return json;
  const Candidate& best = a.simulated.front();
  json["behind"] = goal_value(*p.candidate, a.goal, a.rates) / goal_value(best, a.goal, a.rates) - 1;
  json["against_best"] = reason_json(*p.candidate, best, a);
  return json;
}

}  // namespace

std::string best_json(const BestAnswer& a, const Study& study) {
  Json json{{"schema", 1},
            {"study", study.name},
            {"store", a.store},
            {"points", a.points},
            {"missing", a.missing},
            {"rejected", a.rejected},
            {"unfit", a.unfit},
            {"over_memory", a.over_memory},
            {"simulated", a.simulated.size()},
            {"rejected_by_code", Json::object()},
            {"by", name_of(kGoals, a.goal)}};
  for (const auto& [code, count] : a.rejected_by_code) json["rejected_by_code"][code] = count;
  if (a.missing > 0) json["sweep_command"] = a.sweep_command;
  json["error"] = a.error ? Json{{"fraction", a.error->fraction},
                                 {"source", a.error->source},
                                 {"cannot_be_told_apart", a.alike}}
                          : Json(nullptr);
  json["best"] = top_json(a, study);
  json["front"] = Json::array();
  for (const size_t at : a.front) json["front"].push_back(point_json(at, a, study));
  json["ranked"] = Json::array();
  for (const auto& placed : a.placed) json["ranked"].push_back(placed_json(placed, a));
  json["yaml"] = a.yaml.empty() ? Json(nullptr) : Json(a.yaml);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rehearse
