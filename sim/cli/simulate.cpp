#include "sim/cli/simulate.hpp"

#include <unistd.h>

#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>

#include "sim/base/text.hpp"

namespace rehearse {

void add_engine_options(boost::program_options::options_description& options, EngineOptions& values) {
  namespace po = boost::program_options;
  options.add_options()("engine", po::value(&values.engine)->value_name("NAME"),
                        "simgrid (flows share links, the default) or ideal (no contention)")(
      "fold", po::value(&values.fold)->value_name("auto|off"),
      "simulate alike ranks once (auto) or every rank (off)");
}

Engine engine_by_name(const std::string& name) { return engine_row(name).value; }

Named<Engine> engine_row(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& row : engine_table()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw InputErrors(
      InputError{{}, "--engine", "E-CLI", "unknown engine " + quote(name), suggest(name, names)});
}

bool fold_by_name(const std::string& name) {
  if (name == "auto") return true;
  if (name == "off") return false;
  static constexpr std::string_view names[] = {"auto", "off"};
  throw InputErrors(InputError{
      {}, "--fold", "E-CLI", "--fold takes auto or off, not " + quote(name), suggest(name, names)});
}

StepOptions step_options(const EngineOptions& options) {
  return {.engine = engine_by_name(options.engine), .lower = {.fold = fold_by_name(options.fold)}};
}

TableStyle table_style() {
  const bool tty = isatty(STDOUT_FILENO) == 1;
  return {.unicode = tty, .colour = tty && !std::getenv("NO_COLOR")};
}

}  // namespace rehearse
