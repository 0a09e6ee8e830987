// A child process for SimGrid: one engine a process, a clock that never goes back and callbacks that stay
// would let one run colour the next. In a child every run starts at date 0 with a fresh engine, and gives the
// same bytes.
#pragma once
#include <functional>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

// What `replay` returns in a forked child. Throws std::runtime_error with the text of an exception thrown
// there, or if the child dies.
Timeline run_in_child(const std::function<Timeline()>& replay);

}  // namespace rehearse
