// The machine as the host backend finds it. A rank is one core: kernels run on one thread.
#pragma once
#include <cstddef>

#include "calibration/backends/ranks.hpp"
#include "calibration/samples/sample.hpp"

namespace rehearse::calibration::host {

// Cores that this rank may use: those it is bound to, at most its share of the node.
int cores_of_rank(const Ranks& ranks);

// Core clock in MHz, from a chain of multiplications of known latency (3 cycles on every x86-64 core with
// AVX): what /proc and sysfs show of a virtual machine is a constant. The fastest of several trials, 0.3 ms
// in all. 0 on other machines.
double core_clock_mhz();

// Bytes that can still be allocated without swapping; 0 where /proc does not say.
double memory_available();

// Everything of the environment that the machine and the libraries say. Limits: peak = FLOPs that a core can
// issue in a cycle x clock + 10 %; memory and links: the fastest copy seen in any cache + 50 %. Bounds that
// honest samples do not reach, not estimates.
Environment describe(const Ranks& ranks);

}  // namespace rehearse::calibration::host
