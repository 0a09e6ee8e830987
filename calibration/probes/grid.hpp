// Grids of shapes that training falls into, as far as a machine runs each in reasonable time.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "calibration/probes/probe.hpp"

namespace rehearse::calibration {

// A size and what it is worth.
struct Size {
  int64_t size;
  double worth;
};

// Sizes from `least` to `most`: every other power of 2 is worth most, then the others, then halfway between;
// the middle of the range more than its ends.
std::vector<Size> sizes(int64_t least, int64_t most);

// Whether the device is as slow as a CPU, so that shapes of small models are taken.
bool is_small(const Wanted& wanted);

// About how long a call takes, s: FLOPs and bytes at usual shares of the limits; where these are not known,
// as on a small CPU.
double estimated(const Work& work, const Wanted& wanted);

// Adds the point where the device knows its type, its operands fit and a call does not last too long.
void add(std::vector<Point>& points, const Wanted& wanted, const Work& work, double worth);

// The `most` best, by worth, each once; the i-th of them gets share / (i + 1): so much of the time of a
// budget goes to the probe, whatever the length of its list.
std::vector<Point> ranked(std::vector<Point> points, double share, size_t most = 4000);

// The group as it lies on nodes of `per_node` ranks.
Group group_of(int size, int stride, bool concurrent, int per_node);

// Types in which a device trains, best first: 16 bit where it knows one.
DType main_type(const Wanted& wanted);

}  // namespace rehearse::calibration
