// Which keys a row of measured steps may have, and what values; strict, as the readings of truth.cpp presume
// it.
#pragma once
#include "sim/io/reader.hpp"

namespace rehearse {

// Notes each key that no row has (E-KEY-UNKNOWN, with the nearest), values of another kind or out of bounds,
// and keys that are missing. What lies under `measured`, `derived`, `peer_predictions` and the texts beside
// them is not looked into.
void check_truth_row(const DocNode& row, const std::string& path, Problems& problems);

}  // namespace rehearse
