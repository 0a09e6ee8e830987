// What the host backend does not run, and why.
#pragma once
#include <optional>
#include <string>

#include "calibration/work/work.hpp"

namespace rehearse::calibration::host {

// Nothing where `work` runs in a job of `ranks` ranks, `per_node` a node, with `cores` cores each.
std::optional<std::string> refusal(const Work& work, int ranks, int per_node, int cores);

}  // namespace rehearse::calibration::host
