// Parts of run_point, for probes that time in another way.
#pragma once
#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

// Operands and the check of the result around `body`, which times; what fails is said in the sample.
Sample attempt(Bench& bench, const Work& work, void (*body)(Bench&, const Work&, OperandSets&, Sample&));

// Puts a measurement into the sample.
void take(Sample& sample, const Measurement& measurement);

// Health, flags and the verdict.
void conclude(Sample& sample, Bench& bench, const Health& before, const Health& after);

// "2026-03-01T12:00:00Z"
std::string utc_now();

}  // namespace rehearse::calibration
