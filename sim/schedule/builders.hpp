// The built-in builders; the shape has passed the checks of their rows in table.cpp.
#pragma once
#include "sim/schedule/schedule.hpp"

namespace rehearse {

// Huang et al. 2019, "GPipe": all forwards, then all backwards.
Schedule build_gpipe(const PipelineShape& shape);

// Narayanan et al. 2021, "Efficient large-scale language model training on GPU clusters", PipeDream-flush:
// stage s runs p - s - 1 forwards to warm up, then one forward and one backward in turn.
Schedule build_one_f_one_b(const PipelineShape& shape);

// The same paper's interleaved form, in the order of Megatron-LM: (p - s - 1) x 2 + (v - 1) x p chunk
// forwards to warm up; chunks take turns every p micro-batches.
Schedule build_interleaved(const PipelineShape& shape);

}  // namespace rehearse
