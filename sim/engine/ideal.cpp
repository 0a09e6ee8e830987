#include "sim/engine/engine.hpp"
#include "sim/engine/replay.hpp"

namespace rehearse {

Timeline run_ideal(const TaskGraph& graph) {
  Replay replay(graph, false);
  while (replay.next() < never()) replay.step();
  return replay.finish("ideal");
}

}  // namespace rehearse
