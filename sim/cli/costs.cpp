#include "sim/cli/costs.hpp"

#include <array>

#include "sim/base/text.hpp"

namespace rehearse {

namespace {

constexpr Named<double StageCosts::*> kCosts[] = {
    {"F", "forward", &StageCosts::forward},
    {"B", "backward, or the input gradient alone where W is not 0", &StageCosts::backward},
    {"W", "weight gradient", &StageCosts::weight},
    {"c", "transfer to a neighbouring stage", &StageCosts::transfer},
};
constexpr const char* kForm = "seconds per micro-batch and stage, like F=1,B=2,W=0,c=0";

constexpr double kLargestCost = 1e12;  // s; sums of a schedule stay exact enough to be compared

struct CostsReader {
  std::string text;
  StageCosts costs{0, 0, 0, 0};
  std::array<bool, std::size(kCosts)> given{};
  std::vector<InputError> errors;

  void error(size_t offset, const char* code, std::string message, std::string hint) {
    errors.push_back(
        {{"--costs " + text, 1, int(offset) + 1, text}, "", code, std::move(message), std::move(hint)});
  }
};

void read_cost(CostsReader& reader, std::string_view item) {
  const auto offset = size_t(item.data() - reader.text.data());
  const size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const auto* row = find_named(kCosts, key);
  if (row == nullptr) {
    reader.error(offset, "E-COSTS-KEY", key.empty() ? "a cost is missing" : quote(key) + " is no cost",
                 kForm);
    return;
  }
  bool& given = reader.given[size_t(row - kCosts)];
  if (given) reader.error(offset, "E-COSTS-KEY", quote(key) + " is given twice", "");
  given = true;
  if (equals == std::string_view::npos) {
    reader.error(offset, "E-COSTS-VALUE", quote(key) + " has no value", kForm);
    return;
  }
  const auto number = parse_number(item.substr(equals + 1));
  if (!number.value)
    reader.error(offset + equals + 1, "E-COSTS-VALUE", number.problem,
                 number.hint.empty() ? kForm : number.hint);
  else if (*number.value < 0 || *number.value > kLargestCost)
    reader.error(offset + equals + 1, "E-COSTS-VALUE", "a cost lies between 0 and 1e12 seconds", "");
  else
    reader.costs.*(row->value) = *number.value;
}

}  // namespace

StageCosts parse_costs(const std::string& text) {
  CostsReader reader{text, {0, 0, 0, 0}, {}, {}};
  for (const std::string_view item : split(reader.text, ',')) read_cost(reader, item);
  for (size_t k : {0, 1})
    if (reader.errors.empty() && !reader.given[k])
      reader.error(0, "E-COSTS-KEY",
                   "'" + std::string(kCosts[k].name) + "' (" + std::string(kCosts[k].help) + ") is missing",
                   kForm);
  const StageCosts& c = reader.costs;
  if (reader.errors.empty() && !(c.forward + c.backward + c.weight > 0))
    reader.error(0, "E-COSTS-VALUE", "F, B and W are all 0",
                 "a step without compute has no bubble to speak of");
  if (!reader.errors.empty()) throw InputErrors(std::move(reader.errors));
  return reader.costs;
}

}  // namespace rehearse
