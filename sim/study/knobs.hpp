// What a scenario is sensitive to: single quantities of hardware and work, scaled.
#pragma once
#include <span>

#include "sim/base/names.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

// Scales one quantity by a factor. Where a count would not stay whole: InputErrors (E-KNOB-WHOLE).
using Knob = void (*)(Scenario& scenario, double factor);

// nvlink, nic: rates of the links; what a table measured above its smallest size scales with nvlink.
// latency: of links, NICs and collective algorithms, the smallest size of a table included.
// hbm: memory bandwidth, and tables of memory-bound passes; GEMM and attention tables keep their times.
// flops: peaks, and times of the GEMM and attention tables, though not below the kernel floor.
// launch: kernel floor and host time a kernel.
// batch: sequences a step; sequence: tokens a sequence; gpus: nodes and data-parallel replicas.
std::span<const Named<Knob>> knob_table();

}  // namespace rehearse
