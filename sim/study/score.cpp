#include "sim/study/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/statistics/bivariate_statistics.hpp>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "sim/base/statistics.hpp"

namespace rehearse {

namespace {

constexpr size_t kLeastSweep = 5;

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) rank[order[k]] = double(i + j - 1) / 2;
    i = j;
  }
  return rank;
}

// What choosing the row predicted fastest costs against the one measured fastest.
double regret(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const auto chosen = size_t(std::min_element(predicted.begin(), predicted.end()) - predicted.begin());
  return measured[chosen] / *std::min_element(measured.begin(), measured.end()) - 1;
}

void score_sweeps(FamilyScore& family, const std::vector<const ScoredRow*>& rows) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> sweeps;
  for (const auto* row : rows) {
    sweeps[row->sweep].first.push_back(row->predicted_s);
    sweeps[row->sweep].second.push_back(row->measured_s);
  }
  std::vector<double> correlations, regrets;
  for (const auto& [key, times] : sweeps) {
    if (times.first.size() < kLeastSweep) continue;
    if (const auto rho = spearman(times.first, times.second)) correlations.push_back(*rho);
    regrets.push_back(regret(times.first, times.second));
  }
  if (!correlations.empty()) family.spearman = mean(correlations);
  if (!regrets.empty()) family.regret = mean(regrets);
}

FamilyScore score_family(const std::string& name, const std::vector<const ScoredRow*>& rows, int skipped) {
  FamilyScore family{
      .family = name, .rows = int(rows.size()), .skipped = skipped, .spearman = {}, .regret = {}};
  if (rows.empty()) return family;
  std::vector<double> errors, absolute;
  for (const auto* row : rows) errors.push_back(row->error()), absolute.push_back(std::abs(row->error()));
  std::sort(absolute.begin(), absolute.end());
  family.mape = mean(absolute);
  family.bias = mean(errors);
  family.median = quantile(absolute, 0.5);
  family.p90 = quantile(absolute, 0.9);
  score_sweeps(family, rows);
  return family;
}

nlohmann::ordered_json optional_number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = ranks(a), y = ranks(b);
  const double rho = boost::math::statistics::correlation_coefficient(x, y);
  return std::isnan(rho) ? std::nullopt : std::optional(rho);  // where one of them is constant
}

Score score_rows(std::vector<ScoredRow> rows, int tier_c, int other_kind) {
  Score score{.families = {}, .tier_c = tier_c, .other_kind = other_kind, .rows = std::move(rows)};
  std::map<std::string, std::pair<std::vector<const ScoredRow*>, int>> families;
  for (const auto& row : score.rows) {
    score.refused += row.refused;
    if (row.refused) continue;
    auto& [scored, skipped] = families[row.family];
    if (row.skipped.empty())
      scored.push_back(&row);
    else
      ++skipped;
  }
  std::vector<double> mapes;
  for (const auto& [name, members] : families) {
    score.families.push_back(score_family(name, members.first, members.second));
    if (!members.first.empty()) mapes.push_back(score.families.back().mape);
  }
  score.mean_of_families = mean(mapes);
  return score;
}

bool Score::any() const {
  return std::any_of(families.begin(), families.end(), [](const auto& f) { return f.rows > 0; });
}

std::string to_json(const Score& score) {
  nlohmann::ordered_json json;
  json["families"] = nlohmann::ordered_json::array();
  for (const auto& f : score.families)
    json["families"].push_back({{"family", f.family},
                                {"rows", f.rows},
                                {"skipped", f.skipped},
                                {"mape", f.mape},
                                {"bias", f.bias},
                                {"median", f.median},
                                {"p90", f.p90},
                                {"spearman", optional_number(f.spearman)},
                                {"regret", optional_number(f.regret)}});
  json["mean_of_families"] =
      score.any() ? nlohmann::ordered_json(score.mean_of_families) : nlohmann::ordered_json();
  json["not_scored"] = {
      {"tier_c", score.tier_c}, {"other_kind", score.other_kind}, {"refused", score.refused}};
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& r : score.rows) {
    nlohmann::ordered_json row{{"id", r.id}, {"family", r.family}};
    if (r.skipped.empty()) {
      row.update({{"predicted_s", r.predicted_s},
                  {"measured_s", r.measured_s},
                  {"error", r.error()},
                  {"fits", r.fits}});
    } else {
      row.update({{"predicted_s", nullptr},
                  {"measured_s", r.measured_s},
                  {"error", nullptr},
                  {"skipped", r.skipped}});
      if (r.refused) row["refused"] = r.skipped.substr(0, r.skipped.find(':'));
    }
    json["rows"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

std::string to_table(const Score& score) {
  std::string text = fmt::format("{:<20} {:>5} {:>8} {:>7} {:>7} {:>7} {:>7} {:>9} {:>7}\n", "family", "rows",
                                 "skipped", "mape", "bias", "median", "p90", "spearman", "regret");
  auto to = std::back_inserter(text);
  const auto shown = [](const std::optional<double>& v, bool percent) {
    return !v ? std::string("-") : percent ? fmt::format("{:.1f}%", *v * 100) : fmt::format("{:.3f}", *v);
  };
  for (const auto& f : score.families) {
    if (f.rows == 0) {
      fmt::format_to(to, "{:<20} {:>5} {:>8}\n", f.family, f.rows, f.skipped);
      continue;
    }
    fmt::format_to(to, "{:<20} {:>5} {:>8} {:>6.1f}% {:>+6.1f}% {:>6.1f}% {:>6.1f}% {:>9} {:>7}\n", f.family,
                   f.rows, f.skipped, f.mape * 100, f.bias * 100, f.median * 100, f.p90 * 100,
                   shown(f.spearman, false), shown(f.regret, true));
  }
  text += score.any() ? fmt::format("mean of families {:.2f}%", score.mean_of_families * 100)
                      : std::string("nothing was scored");
  fmt::format_to(to, "; not scored: {} of tier C, {} that are no step times{}\n", score.tier_c,
                 score.other_kind, score.refused ? fmt::format(", {} with errors", score.refused) : "");
  std::map<std::string, int> reasons;
  for (const auto& row : score.rows)
    if (!row.skipped.empty()) ++reasons[row.skipped];
  if (!reasons.empty()) text += "skipped:\n";
  for (const auto& [reason, count] : reasons) fmt::format_to(to, "{:>6}  {}\n", count, reason);
  return text;
}

}  // namespace rehearse
