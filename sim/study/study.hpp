// Studies: a base scenario, and the points around it that are to be priced.
#pragma once
#include <string>
#include <vector>

#include "sim/io/paths.hpp"

namespace rehearse {

// One variation of the base: settings KEY.PATH=VALUE as of --set, applied in order after the study's own.
struct Point {
  std::vector<std::string> settings;
};
// What a point sets KEY to, the last one where it sets it twice; empty where it does not.
std::string value_of(const Point& point, const std::string& key);

struct Study {
  std::string file;               // as given on the command line
  std::string name;               // the file's stem where it gives none
  std::string base;               // path of the base scenario
  std::vector<std::string> sets;  // of the study and of the command line; for every point
  std::vector<std::string> axes;  // keys that differ between points, in order: columns of a table
  std::vector<Point> points;      // no two alike, in the order of the axes, the last varying fastest
  // For cost and energy: 0 where not given.
  double dollars_per_gpu_hour = 0, watts_per_gpu = 0;
};

// Reads a study with its axes, or its search, unrolled. The base scenario must load. Throws InputErrors, all
// that was found at once.
Study read_study(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots);

}  // namespace rehearse
