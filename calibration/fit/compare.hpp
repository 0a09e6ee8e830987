// How two profiles, or two runs of the harness, differ.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "calibration/samples/sample.hpp"

namespace rehearse::calibration {

// Time of each point, and the word under which it is counted ("gemm bf16", "all_reduce").
struct Timed {
  std::string group;
  double seconds = 0;
};
using TimedPoints = std::map<std::string, Timed>;

// Of the samples that are ok; of a point that several environments measured the first.
TimedPoints points_of(const SampleFile& samples);
// Of the rows of a profile's tables.
TimedPoints points_of(const DeviceProfile& profile);

struct Ratio {
  std::string point;
  double first = 0, second = 0;  // s
};
struct Comparison {
  struct Group {
    std::string name;
    int both = 0;
    double p10 = 0, median = 0, p90 = 0;  // of second / first
  };
  std::vector<Group> groups;
  std::vector<Ratio> largest;  // by |log ratio|, at most 20
  size_t only_first = 0, only_second = 0;
};
Comparison compare(const TimedPoints& first, const TimedPoints& second);

}  // namespace rehearse::calibration
