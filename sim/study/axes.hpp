// How the points of a study vary; internal to sim/study.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/reader.hpp"
#include "sim/io/scenario.hpp"

namespace rehearse {

// Keys that vary together, and their values as --set takes them: rows[i][k] of keys[k]. No two rows alike.
struct AxisGroup {
  std::vector<std::string> keys;
  std::vector<Mark> marks;  // of the keys
  std::vector<std::vector<std::string>> rows;
};

// The base with the study's settings, as read: what counts are divided and conditions compared with.
class StudyBase {
 public:
  explicit StudyBase(ReadScenario read);
  const Scenario& scenario() const { return read_.scenario; }
  int64_t gpus() const { return scenario().cluster.gpus(); }
  bool given(const std::string& key) const { return value(key).has_value(); }
  // Of "gpus", "layers", "heads", "hidden", or a key that the base gives, as text.
  std::optional<std::string> value(const std::string& name) const;

 private:
  ReadScenario read_;
  DocNode cluster_;  // with the keys of its topology
};

// A node as one setting takes it: a scalar, or a mapping or list in braces.
std::string flow_text(const DocNode& node);

// The values of one axis: a list, {from, to, step|times, unit}, {divisors: N}, {divisors_of: NAME}. Without
// any where a problem was noted (E-STUDY-AXIS and those of the reader).
std::vector<std::string> read_axis_values(const DocNode& node, const std::string& key, const StudyBase& base,
                                          Problems& problems);
std::vector<int64_t> divisors(int64_t n);

// `axes:`, in order.
std::vector<AxisGroup> read_axes(const DocNode& node, const StudyBase& base, Problems& problems);

// Takes the values of all keys of one point, in order.
using EmitRow = std::function<void(const std::vector<std::string>&)>;

// `search:`; keys of the points, and their enumeration.
struct LayoutSearch {
  std::vector<std::string> keys;
  std::vector<std::string> sets;  // for all points, besides those of the study
  std::function<void(const EmitRow&)> each;
};
std::optional<LayoutSearch> read_search(const DocNode& node, const StudyBase& base, Problems& problems);

}  // namespace rehearse
