#include "sim/view/trace.hpp"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>

#include "sim/base/file.hpp"
#include "sim/view/trace_format.hpp"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kManyEvents = 500'000;
constexpr int64_t kManyBytes = 100'000'000;

InputErrors refuse(const std::string& path, std::string code, std::string message, std::string hint) {
  Place place;
  place.file = "--trace " + path;
  return InputErrors(InputError{std::move(place), "", std::move(code), std::move(message), std::move(hint)});
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A file that is gzipped when its name says so. zlib writes neither name nor time into the head.
class Sink {
 public:
  explicit Sink(const std::string& path) : path_(path) {
    as_trace([&] { output_.emplace(path); });
    const int copy = fcntl(output_->descriptor(), F_DUPFD_CLOEXEC, 3);
    if (copy >= 0) file_ = gzdopen(copy, ends_with(path, ".gz") ? "wb6" : "wbT");
    if (file_ == nullptr) fail();
    gzbuffer(file_, 1 << 18);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() {
    if (file_ != nullptr) gzclose(file_);
  }
  // Hands over what was written so far and empties the text.
  void take(TraceText& text) {
    bytes_ += static_cast<int64_t>(text.size());
    const auto size = static_cast<unsigned>(text.size());
    if (size > 0 && gzwrite(file_, text.data(), size) <= 0) fail();
    text.clear();
  }
  void close() {
    gzFile file = file_;
    file_ = nullptr;
    if (gzclose(file) != Z_OK) fail();
    as_trace([&] { output_->commit(); });
  }
  int64_t bytes() const { return bytes_; }

 private:
  // What cannot be written is said of the option.
  void as_trace(const std::function<void()>& step) const {
    try {
      step();
    } catch (const InputErrors& found) {
      if (found.errors[0].code != "E-FILE-WRITE") throw;
      throw refuse(path_, "E-TRACE-PATH", found.errors[0].message, "");
    }
  }
  [[noreturn]] void fail() const {
    throw refuse(path_, "E-TRACE-PATH", std::string("the file cannot be written: ") + std::strerror(errno),
                 "");
  }
  std::string path_;
  std::optional<OutputFile> output_;
  gzFile file_ = nullptr;
  int64_t bytes_ = 0;
};

std::vector<RankId> chosen_ranks(const TaskGraph& graph, const TraceOptions& options) {
  std::vector<RankId> ranks = options.ranks;
  if (ranks.empty()) {
    const std::vector<UnitSlices> slices = slices_of_units(graph);
    for (size_t u = 0; u < slices.size(); ++u) {
      const std::vector<RankId>& of_unit = graph.units[u].ranks;
      if (slices[u].empty()) ranks.push_back(of_unit.at(0));
      for (const auto& [place, peers] : slices[u]) ranks.push_back(of_unit.at(static_cast<size_t>(place)));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// The events of several ranks in one order of time.
class MergedEvents {
 public:
  MergedEvents(const TraceInput& in, const TraceForm& form, const TraceIndex& index,
               std::span<const RankId> ranks)
      : ranks_(ranks), heads_(Later{this}) {
    sources_.reserve(ranks.size());
    current_.reserve(ranks.size());
    for (size_t i = 0; i < ranks.size(); ++i) {
      sources_.emplace_back(in, form, index, ranks[i], i);
      current_.emplace_back();
    }
    for (size_t i = 0; i < ranks.size(); ++i) advance(i);
  }
  bool next(TraceEvent& event, RankId& rank) {
    if (heads_.empty()) return false;
    const size_t source = heads_.top();
    heads_.pop();
    event = current_[source];
    rank = ranks_[source];
    advance(source);
    return true;
  }
  int64_t left_out() const {
    int64_t sum = 0;
    for (const RankEvents& source : sources_) sum += source.left_out();
    return sum;
  }
  int64_t arrows_left_out() const {
    int64_t sum = 0;
    for (const RankEvents& source : sources_) sum += source.arrows_left_out();
    return sum;
  }

 private:
  struct Later {
    const MergedEvents* all;
    bool operator()(size_t a, size_t b) const {
      return trace_before(all->current_[b], all->ranks_[b].value, all->current_[a], all->ranks_[a].value);
    }
  };
  void advance(size_t source) {
    if (sources_[source].next(current_[source])) heads_.push(source);
  }
  std::span<const RankId> ranks_;
  std::vector<RankEvents> sources_;
  std::vector<TraceEvent> current_;  // the next event of each source
  std::priority_queue<size_t, std::vector<size_t>, Later> heads_;
};

class FileWriter {
 public:
  FileWriter(const TraceInput& in, const TraceForm& form, std::vector<RankId> ranks)
      : in_(in), form_(form), ranks_(std::move(ranks)), index_(in, form, ranks_) {}

  TraceSize write(const std::string& path) {
    count_left_out();
    Sink sink(path);
    head();
    for (size_t i = 0; i < ranks_.size(); ++i) metadata(ranks_[i], i);
    MergedEvents events(in_, form_, index_, ranks_);
    TraceEvent event;
    RankId rank;
    while (events.next(event, rank)) {
      one(event, rank);
      if (text_.size() > 1 << 16) sink.take(text_);
    }
    step_end();
    sink.take(text_);
    sink.close();
    size_.files = 1;
    size_.bytes = size_.largest_bytes = sink.bytes();
    size_.largest_events = size_.events;
    return size_;
  }

 private:
  template <class... A>
  void add(fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(args)...);
  }

  // What is left out stands in the head of the file, so it must be known before the first event is written.
  void count_left_out() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      RankEvents events(in_, form_, index_, ranks_[i], i);
      TraceEvent event;
      while (events.next(event)) {
      }
      size_.left_out += events.left_out();
      size_.arrows_left_out += events.arrows_left_out();
    }
  }

  void head() {
    add("{{");
    // First, and with a blank after each colon: HTA reads the rank from the text.
    if (form_.per_rank)
      add("\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n",
          ranks_[0].value, in_.layout.ranks());
    add("\"displayTimeUnit\": \"ns\",\n\"otherData\": {{\"tool\": \"rehearse\", \"schema\": 1, "
        "\"scenario\": ");
    append_string(text_, in_.scenario.name);
    add(", \"detail\": \"{}\", \"ranks\": {}, \"left_out_below_grid\": {}, \"arrows_left_out_below_grid\": "
        "{}}},\n",
        form_.detail == TraceDetail::kernel ? "kernel" : "chunk", in_.layout.ranks(), size_.left_out,
        size_.arrows_left_out);
    add("\"traceEvents\": [\n");
  }

  void begin_event() {
    if (size_.events++ > 0) add(",\n");
  }

  void meta(std::string_view kind, RankId rank, int lane) {
    begin_event();
    add(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":)", kind, rank.value + 1, lane);
  }

  void metadata(RankId rank, size_t i) {
    const Coordinates at = in_.layout.coordinates(rank);
    const LayoutSpec& spec = in_.layout.spec();
    meta("process_name", rank, 0);
    add(R"x({{"name":"rank {} (pp{} dp{} tp{}{})"}}}})x", rank.value, at.pp, at.dp, at.tp,
        spec.cp > 1 ? fmt::format(" cp{}", at.cp) : "");
    meta("process_sort_index", rank, 0);
    add(R"({{"sort_index":{}}}}})", rank.value);
    if (const int alike = index_.alike[i]; alike > 1) {
      meta("process_labels", rank, 0);
      add(R"({{"labels":"one of {} alike"}}}})", alike);
    }
    for (int lane = 1; lane <= 8; ++lane) {
      if ((index_.lanes_of_unit[index_.unit[i]] >> lane & 1) == 0) continue;
      meta("thread_name", rank, lane);
      add(R"({{"name":"{}"}}}})", lane_name(lane));
      meta("thread_sort_index", rank, lane);
      add(R"({{"sort_index":{}}}}})", lane);
    }
  }

  void one(const TraceEvent& event, RankId rank) {
    TraceLine line;
    line.rank = rank;
    if (event.phase == TracePhase::slice) {
      line.expanded = event.op < 0 && index_.expands(in_.graph.tasks[event.task]);
      if (!line.expanded) line.correlation = ++correlations_;
    }
    if (event.phase == TracePhase::arrow_start || event.phase == TracePhase::arrow_end)
      line.arrow = arrow(event, rank);
    begin_event();
    append_event(text_, in_, form_, event, line);
  }

  // A start comes before its end, so only arrows under way are remembered.
  int64_t arrow(const TraceEvent& event, RankId rank) {
    const bool starts = event.phase == TracePhase::arrow_start;
    const Task& task = in_.graph.tasks[event.task];
    const RankId receiver = starts ? peer_of(in_.graph, in_.layout, task, event.position, rank) : rank;
    const std::pair key{event.task, receiver.value};
    if (starts) return under_way_[key] = ++arrows_;
    const auto at = under_way_.find(key);
    const int64_t id = at->second;
    under_way_.erase(at);
    return id;
  }

  void step_end() {
    begin_event();
    add(R"({{"ph":"i","s":"{}","name":"step end","pid":{},"tid":1,"ts":)", form_.per_rank ? "p" : "g",
        ranks_[0].value + 1);
    append_time(text_, form_, form_.point(in_.timeline.step));
    add("}}\n]}}\n");
  }

  const TraceInput& in_;
  TraceForm form_;
  std::vector<RankId> ranks_;
  TraceIndex index_;
  TraceText text_;
  TraceSize size_;
  int64_t correlations_ = 0, arrows_ = 0;
  std::map<std::pair<int32_t, int32_t>, int64_t> under_way_;  // (task, receiver) -> id
};

std::string rank_file(RankId rank) { return fmt::format("rank{}.pt.trace.json.gz", rank.value); }

void check_dir(const std::string& dir, const std::vector<RankId>& ranks) {
  std::error_code failed;
  fs::create_directories(dir, failed);
  if (failed || !fs::is_directory(dir, failed))
    throw refuse(dir, "E-TRACE-PATH", "the directory cannot be made: " + failed.message(), "");
  std::vector<std::string> own;
  own.reserve(ranks.size());
  for (RankId rank : ranks) own.push_back(rank_file(rank));
  std::sort(own.begin(), own.end());
  for (auto entry = fs::directory_iterator(dir, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!ends_with(name, ".json") && !ends_with(name, ".gz")) continue;
    if (!std::binary_search(own.begin(), own.end(), name))
      throw refuse(dir, "E-TRACE-DIR",
                   fmt::format("the directory holds {}, which HTA would read as a rank", name),
                   "remove it, or name another directory");
  }
  if (failed) throw refuse(dir, "E-TRACE-PATH", "the directory cannot be read: " + failed.message(), "");
}

}  // namespace

TraceSize write_trace_file(const std::string& path, const Scenario& scenario, const ParallelLayout& layout,
                           const TaskGraph& graph, const Timeline& timeline, const MemoryReport& memory,
                           const TraceOptions& options) {
  if (!ends_with(path, ".json") && !ends_with(path, ".json.gz"))
    throw refuse(path, "E-TRACE-PATH", "the name ends in neither .json nor .json.gz",
                 "a name that ends in / is a directory that takes one file a rank");
  const TraceInput in{scenario, layout, graph, timeline, memory};
  return FileWriter(in, TraceForm{false, options.detail}, chosen_ranks(graph, options)).write(path);
}

TraceSize write_trace_dir(const std::string& dir, const Scenario& scenario, const ParallelLayout& layout,
                          const TaskGraph& graph, const Timeline& timeline, const MemoryReport& memory,
                          const TraceOptions& options) {
  const TraceInput in{scenario, layout, graph, timeline, memory};
  const std::vector<RankId> ranks = chosen_ranks(graph, options);
  for (RankId rank : ranks) unit_of_rank(graph, layout, rank);  // before anything is written
  check_dir(dir, ranks);
  TraceSize sum;
  for (RankId rank : ranks) {
    const TraceSize one =
        FileWriter(in, TraceForm{true, options.detail}, {rank}).write(fs::path(dir) / rank_file(rank));
    sum.files += 1;
    sum.events += one.events;
    sum.bytes += one.bytes;
    sum.largest_events = std::max(sum.largest_events, one.events);
    sum.largest_bytes = std::max(sum.largest_bytes, one.bytes);
    sum.left_out += one.left_out;
    sum.arrows_left_out += one.arrows_left_out;
  }
  return sum;
}

std::vector<Warning> trace_warnings(const TraceSize& size, const TraceOptions& options) {
  if (size.largest_events <= kManyEvents && size.largest_bytes <= kManyBytes) return {};
  std::string narrow = "--trace-ranks with fewer ranks";
  if (options.detail == TraceDetail::kernel) narrow += " or --trace-detail chunk";
  return {{"W-TRACE-SIZE",
           fmt::format("a timeline file holds {} events in {:.0f} MB of JSON; viewers are slow or fail "
                       "above {} events or {} MB: narrow it by {}",
                       size.largest_events, static_cast<double>(size.largest_bytes) / 1e6, kManyEvents,
                       kManyBytes / 1'000'000, narrow)}};
}

}  // namespace rehearse
