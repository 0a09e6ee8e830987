// What viewers were seen to choke on, as rules over the text of a Chrome trace. A finding is the name of a
// rule; the comment at each says which tool loses what.
#pragma once
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace rehearse::test {

struct TraceLintOptions {
  std::optional<double> step_us;  // the end that some slice must reach
};

// The text of a file, gzipped or not.
inline std::string read_trace(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return text;
}

class TraceLint {
 public:
  using Json = nlohmann::json;
  TraceLint(const std::string& text, const TraceLintOptions& options) : text_(text), options_(options) {}

  // Rule -> how often it was broken; empty for a trace that all tools read.
  std::map<std::string, int> run() {
    const Json doc = Json::parse(text_, nullptr, false);
    if (!doc.is_object() || !doc.contains("traceEvents") || !doc["traceEvents"].is_array()) {
      fault("document");
      return faults_;
    }
    head(doc);
    for (const Json& e : doc["traceEvents"]) event(e);
    for (auto& [lane, slices] : lanes_) nesting(lane, slices);
    for (const auto& [key, ends] : flows_) flow(ends);
    for (const auto& [lane, kinds] : named_)
      check(kinds.size() == 2, "names");          // a name comes with its place
    check(steps_.size() <= 1, "profiler steps");  // HTA keeps only kernels with a CPU launch
    check(!step_ends_.empty(), "step end");
    if (options_.step_us) check(last_end_ == *options_.step_us, "last end");
    for (double ts : step_ends_)
      check(last_end_ <= ts && (!options_.step_us || ts == *options_.step_us), "step end");
    return faults_;
  }

 private:
  using Lane = std::pair<int64_t, int64_t>;
  struct Slice {
    double ts, dur;
    size_t n;
  };
  struct FlowEnd {
    double ts;
    size_t n;
    bool starts;
    Lane lane;
  };

  void fault(const std::string& rule) { ++faults_[rule]; }
  void check(bool good, const char* rule) {
    if (!good) fault(rule);
  }
  static bool number(const Json& e, const char* key) { return e.contains(key) && e[key].is_number(); }
  static bool on_grid(double us) { return std::floor(us * 8) == us * 8; }
  static bool starts_with(const std::string& s, const char* start) { return s.rfind(start, 0) == 0; }

  void head(const Json& doc) {
    ns_ = doc.value("displayTimeUnit", "") == "ns";
    check(ns_, "display unit");  // another: catapult stacks what touches, or refuses
    check(text_.size() <= 100'000'000 && doc["traceEvents"].size() <= 500'000, "size");
    check(doc.contains("otherData") && doc["otherData"].contains("left_out_below_grid"), "left out");
    per_rank_ = doc.contains("distributedInfo");
    if (!per_rank_) return;
    // HTA takes the first such text for the rank, and only with a blank after the colon.
    std::smatch found;
    const bool matched = std::regex_search(text_, found, std::regex("\"rank\":\\s+(\\d+)"));
    check(matched && doc["distributedInfo"].value("rank", -1) == std::stoi(found[1]), "rank");
    check(text_.find("\"distributedInfo\"") < text_.find("\"traceEvents\""), "rank");
  }

  void event(const Json& e) {
    ++n_;
    for (const char* key : {"pid", "tid"}) {
      if (!e.contains(key) || !e[key].is_number_integer()) return fault("integer ids");  // speedscope fails
    }
    check(e["pid"] > 0, "pid 0");  // Perfetto's idle process
    const Lane lane{e["pid"], e["tid"]};
    const std::string ph = e.value("ph", ""), name = e.value("name", "");
    if (!number(e, "ts")) return fault("time");
    if (ph == "M") return meta(lane, name);
    const double ts = e["ts"];
    check(ts >= 0 && ts < 1e12, "time");  // an epoch loses digits in catapult
    check(on_grid(ts) && (!per_rank_ || e["ts"].is_number_integer()), "grid");
    check(ts >= last_ts_, "order");
    last_ts_ = ts;
    if (e.contains("cname")) check(cnames().count(e["cname"]) == 1, "cname");  // aborts catapult's import
    if (ph == "X") slice(e, lane, name, ts);
    if (ph == "s" || ph == "f") flow_end(e, lane, name, ts);
    if (ph == "C") counter(e, lane, name);
    if (ph == "i" && name == "step end") step_ends_.push_back(ts);
    check(ph == "X" || ph == "s" || ph == "f" || ph == "C" || ph == "i", "phase");
  }

  void meta(const Lane& lane, const std::string& name) {
    if (starts_with(name, "process_") && name != "process_labels") named_[{lane.first, 0}].insert(name);
    if (starts_with(name, "thread_")) named_[lane].insert(name);
  }

  void slice(const Json& e, const Lane& lane, const std::string& name, double ts) {
    if (!number(e, "dur")) return fault("duration");
    const double dur = e["dur"];
    check(dur > 0, "duration");  // speedscope never closes it
    check(on_grid(dur) && (!per_rank_ || e["dur"].is_number_integer()), "grid");
    check(!name.empty() && !e.value("cat", "").empty(), "cat");  // HTA drops it
    check(lane.second > 0, "tid 0");  // Perfetto merges it with the lane of the pid's number
    check(named_.count(lane) == 1 && named_.count({lane.first, 0}) == 1, "names");
    const Json args = e.value("args", Json::object());
    const bool kernel = e.value("cat", "") == "kernel";
    check(!e.contains("args") || !args.empty(), "empty args");
    if (!kernel || !per_rank_) check(!args.contains("stream"), "stream");  // HTA counts it as compute
    if (kernel && per_rank_) hta_kernel(args, name, lane);
    if (starts_with(name, "ProfilerStep")) steps_.insert(name);
    last_end_ = std::max(last_end_, ts + dur);
    lanes_[lane].push_back({ts, dur, n_});
  }

  void hta_kernel(const Json& args, const std::string& name, const Lane& lane) {
    check(args.contains("stream") && args["stream"] == lane.second, "stream");  // else HTA does not see it
    check(args.contains("device") && args["device"].is_number_integer(), "stream");
    check(args.contains("correlation") && args["correlation"].is_number_integer() &&
              correlations_.insert(args["correlation"].get<int64_t>()).second,
          "correlation");
    // HTA tells kinds by the name.
    const bool communicates = starts_with(name, "nccl");
    check(communicates == (lane.second > 1), "kind by name");
    for (const char* other :
         {"Memcpy", "Memset", "dma", "Sync", "LaunchKernel", "Stream Wait Event", "ncclKernel"})
      check(name.find(other) == std::string::npos, "kind by name");
  }

  void flow_end(const Json& e, const Lane& lane, const std::string& name, double ts) {
    check(!per_rank_, "flow in a rank's file");
    if (!e.contains("id") || !e["id"].is_number_integer() || e["id"] < 0 || e["id"] >= int64_t{1} << 53)
      return fault("flow id");  // doubles in catapult, hexadecimal strings in Perfetto
    const bool starts = e["ph"] == "s";
    check(starts || e.value("bp", "") == "e", "flow bp");  // else it binds to the next slice
    flows_[{e.value("cat", ""), name, e["id"]}].push_back({ts, n_, starts, lane});
  }

  void counter(const Json& e, const Lane& lane, const std::string& name) {
    std::set<std::string> series;
    const Json args = e.value("args", Json::object());
    for (const auto& [key, value] : args.items()) {
      series.insert(key);
      check(value.is_number(), "counter value");
    }
    check(counters_.emplace(std::pair{lane.first, name}, series).first->second == series, "counter series");
  }

  void nesting(const Lane& lane, std::vector<Slice>& slices) {
    const auto before = [](const Slice& a, const Slice& b) {
      return std::tuple(a.ts, -a.dur, a.n) < std::tuple(b.ts, -b.dur, b.n);
    };
    check(std::is_sorted(slices.begin(), slices.end(), before),
          "lane order");  // Perfetto wants parents first
    std::sort(slices.begin(), slices.end(), before);
    std::vector<double> open;
    for (const Slice& s : slices) {
      while (!open.empty() && open.back() <= s.ts) open.pop_back();
      if (open.empty()) outer_[lane].push_back(s);
      check(open.empty() || s.ts + s.dur <= open.back(), "overlap");  // dropped, misfiled or drawn over
      open.push_back(s.ts + s.dur);
    }
  }

  bool inside_a_slice(const FlowEnd& end) {
    const auto& tops = outer_[end.lane];
    const auto after = std::lower_bound(tops.begin(), tops.end(), end.ts,
                                        [](const Slice& s, double ts) { return s.ts < ts; });
    return after != tops.begin() && end.ts < (after - 1)->ts + (after - 1)->dur;
  }

  void flow(const std::vector<FlowEnd>& ends) {
    const auto starts = std::count_if(ends.begin(), ends.end(), [](const FlowEnd& e) { return e.starts; });
    if (starts != 1 || ends.size() != 2) return fault("flow pair");
    for (const FlowEnd& end : ends) check(inside_a_slice(end), "flow unbound");
    // Events come in order of time, so the file's order says both; catapult drops an end before its start.
    check(ends[0].starts, "flow backwards");
  }

  static const std::set<std::string>& cnames() {
    static const std::set<std::string> names{"thread_state_uninterruptible",
                                             "thread_state_iowait",
                                             "thread_state_running",
                                             "thread_state_runnable",
                                             "thread_state_sleeping",
                                             "thread_state_unknown",
                                             "background_memory_dump",
                                             "light_memory_dump",
                                             "detailed_memory_dump",
                                             "vsync_highlight_color",
                                             "generic_work",
                                             "good",
                                             "bad",
                                             "terrible",
                                             "black",
                                             "grey",
                                             "white",
                                             "yellow",
                                             "olive",
                                             "rail_response",
                                             "rail_animation",
                                             "rail_idle",
                                             "rail_load",
                                             "startup",
                                             "heap_dump_stack_frame",
                                             "heap_dump_object_type",
                                             "heap_dump_child_node_arrow",
                                             "cq_build_running",
                                             "cq_build_passed",
                                             "cq_build_failed",
                                             "cq_build_abandoned",
                                             "cq_build_attempt_runnig",
                                             "cq_build_attempt_passed",
                                             "cq_build_attempt_failed"};
    return names;
  }

  const std::string& text_;
  TraceLintOptions options_;
  bool ns_ = false, per_rank_ = false;
  size_t n_ = 0;
  double last_ts_ = 0, last_end_ = 0;
  std::map<std::string, int> faults_;
  std::map<Lane, std::set<std::string>> named_;
  std::map<Lane, std::vector<Slice>> lanes_, outer_;
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<FlowEnd>> flows_;
  std::map<std::pair<int64_t, std::string>, std::set<std::string>> counters_;
  std::set<int64_t> correlations_;
  std::set<std::string> steps_;
  std::vector<double> step_ends_;
};

inline std::map<std::string, int> lint_trace(const std::string& text, const TraceLintOptions& options = {}) {
  return TraceLint(text, options).run();
}

}  // namespace rehearse::test
