// The options of commands that simulate.
#pragma once
#include <boost/program_options/options_description.hpp>

#include "sim/step/step.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

struct EngineOptions {
  std::string engine = "simgrid";
  std::string fold = "auto";
};
void add_engine_options(boost::program_options::options_description& options, EngineOptions& values);

// By name; throws InputErrors (E-CLI) with the valid names.
Engine engine_by_name(const std::string& name);
Named<Engine> engine_row(const std::string& name);
bool fold_by_name(const std::string& name);

// Throws as the functions above.
StepOptions step_options(const EngineOptions& options);

// How stdout can be drawn on.
TableStyle table_style();

}  // namespace rehearse
