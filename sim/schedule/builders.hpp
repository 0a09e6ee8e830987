// The built-in builders; the shape has passed the checks of their rows in table.cpp. Peaks are of live chunk
// activations on a stage, from F to B or W. p stages s = 0 .. p - 1, m micro-batches, v chunks a stage.
#pragma once
#include "sim/schedule/schedule.hpp"

namespace rehearse {

// Huang et al. 2019, "GPipe": all forwards, then all backwards. Peak m.
Schedule build_gpipe(const PipelineShape& shape, const BuildOptions&);

// Narayanan et al. 2021, "Efficient large-scale language model training on GPU clusters", PipeDream-flush:
// stage s runs p - s - 1 forwards to warm up, then one forward and one backward in turn. Peak min(m, p - s).
Schedule build_one_f_one_b(const PipelineShape& shape, const BuildOptions&);

// The same paper's interleaved form, in the order of Megatron-LM and of PyTorch's Interleaved1F1B:
// (p - s - 1) x 2 + (v - 1) x p chunk forwards to warm up; chunks take turns every p micro-batches. Peak
// min(v m, 2 (p - s - 1) + (v - 1) p + 1).
Schedule build_interleaved(const PipelineShape& shape, const BuildOptions&);
// With the shorter warm-up of p - s - 1 + (v - 1) x p (as PyTorch's InterleavedZeroBubble): peak
// min(v m, v p - s), for more bubble.
Schedule build_interleaved_short(const PipelineShape& shape, const BuildOptions&);

// Lamy-Poirier 2022, "Breadth-first pipeline parallelism": all micro-batches through one chunk, then through
// the next. Peak v m.
Schedule build_looped_bfs(const PipelineShape& shape, const BuildOptions&);

// Qi et al. 2023, "Zero bubble pipeline parallelism", section 2: stage s warms up with p - s forwards (H1) or
// 2 (p - s) - 1 (H2) and runs its weight gradients s, or 2 s, micro-batches late. Peaks min(m, p) and
// min(m, 2 p - 1) on every stage. H2 is in the order of H1 where that is shorter at the given costs: it is
// where there are few micro-batches or W outlasts I.
Schedule build_zb_h1(const PipelineShape& shape, const BuildOptions&);
Schedule build_zb_h2(const PipelineShape& shape, const BuildOptions&);

// The same paper's section 3: a search at the given costs where a stage may hold p (1p) or 2 p (2p)
// activations; 2p considers what 1p finds. For 2p those that wait for W alone count at
// ScheduleCosts::weight_hold; for 1p they count whole, as the authors' rates and throughputs of 1p have it
// (those of ZB-H1).
Schedule build_zb_1p(const PipelineShape& shape, const BuildOptions& options);
Schedule build_zb_2p(const PipelineShape& shape, const BuildOptions& options);

// Qi et al. 2024, "Pipeline parallelism with controllable memory": chunks lie in a V, and the same building
// block repeats every six passes. Peaks, in chunks: 2 p (zb-v), 2 floor((p + 2) / 2) (half) and
// 2 floor((p + 4) / 3) (min), or less where m is small.
Schedule build_zb_v(const PipelineShape& shape, const BuildOptions& options);
Schedule build_zb_v_half(const PipelineShape& shape, const BuildOptions& options);
Schedule build_zb_v_min(const PipelineShape& shape, const BuildOptions& options);

// DeepSeek-AI 2024, "DeepSeek-V3 technical report", section 3.2.1: micro-batches enter at both ends, and each
// stage holds two stages' parameters. An overlapped forward and backward run one after the other here. Peak
// p + 1.
Schedule build_dualpipe(const PipelineShape& shape, const BuildOptions&);
// The same order on a V of 2 chunks a stage instead of two copies (Sea AI Lab 2025, "DualPipe could be better
// without the dual"; DeepSeek-AI's DualPipeV). Peak 2 p + 1 chunks.
Schedule build_dualpipe_v(const PipelineShape& shape, const BuildOptions&);

// The best of the built-in schedules and of list schedules at the given costs that keep to options.max_live,
// improved by moves on the critical path. The note says how far the result is from lower_bound().
Schedule build_auto(const PipelineShape& shape, const BuildOptions& options);

}  // namespace rehearse
