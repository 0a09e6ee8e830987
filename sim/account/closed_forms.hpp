// What each row of the ledger must come to, from the scenario alone; nothing here looks at a task.
#pragma once
#include <vector>

#include "sim/account/report.hpp"

namespace rehearse {

// Bytes that a rank sends in a step for `row` (axis, what, collective and group size are read), mean over the
// ranks that take part; 0 where the scenario asks for no such traffic.
double closed_form_bytes(const Scenario& scenario, const LedgerRow& row);

// Model state (weights, gradients, optimizer) of a rank, mean over the stages, bytes.
double model_state_bytes(const Scenario& scenario);
// The same scenario with one axis of size 1.
Scenario without_axis(Scenario scenario, Axis axis);
// Model state with the axis over model state without it.
double memory_factor(const Scenario& scenario, Axis axis);

void fill_closed_forms(const Scenario& scenario, std::vector<LedgerRow>& rows);

}  // namespace rehearse
