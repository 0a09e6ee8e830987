// The costs of a pipeline, given on the command line.
#pragma once
#include <string>

#include "sim/graph/lower.hpp"

namespace rehearse {

// Reads "F=1,B=2,W=0,c=0": seconds per micro-batch and stage (StageCosts in graph/lower.hpp). F and B must be
// given; W and c are 0 where they are not. Throws InputErrors, all that was found at once: E-COSTS-KEY for an
// unknown, doubled or missing key, E-COSTS-VALUE for what is no number from 0 up, or where no compute is
// left. The place of an error is "--costs TEXT".
StageCosts parse_costs(const std::string& text);

}  // namespace rehearse
