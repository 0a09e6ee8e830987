// What is said about a scenario on other numbers of GPUs.
#pragma once
#include <string>
#include <vector>

#include "sim/study/scale.hpp"

namespace rehearse {

std::string scale_table(const std::string& name, const std::vector<ScaleResult>& results);
std::string scale_json(const std::string& name, const std::vector<ScaleResult>& results);

}  // namespace rehearse
