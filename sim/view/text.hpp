// What a report looks like: JSON, tables for the terminal, CSV.
#pragma once
#include "sim/account/sayings.hpp"

namespace rehearse {

// The contract's objects, pretty-printed, keys in its order. Throw std::logic_error naming the key of a
// number that is not finite; text that is not UTF-8 has its bad bytes replaced.
std::string to_json(const Report& report, const Scenario& scenario);
std::string to_ledger_json(const Report& report, const Scenario& scenario,
                           const std::vector<Saying>& sayings);

struct TableStyle {
  bool unicode = false;  // bars of block characters
  bool colour = false;   // ANSI
};
// For the terminal.
std::string to_table(const Report& report, const Scenario& scenario, TableStyle style = {});
std::string to_ledger_table(const Report& report, const Scenario& scenario,
                            const std::vector<Saying>& sayings, TableStyle style = {});

// A row a link: link, class, how many alike, capacity, bytes, busy, mean and peak share, traffic by axis and
// purpose ("dp gradients x16: 1.2e9; ...").
std::string to_csv(const std::vector<LinkLoad>& loads, double step_s);

}  // namespace rehearse
