#include "sim/engine/engine.hpp"

namespace rehearse {

std::span<const Named<Engine>> engine_table() {
  static constexpr Named<Engine> kEngines[] = {
      {"simgrid", "flows share links max-min fairly (SimGrid)", run_simgrid},
      {"ideal", "every flow has its links to itself", run_ideal},
  };
  return kEngines;
}

}  // namespace rehearse
