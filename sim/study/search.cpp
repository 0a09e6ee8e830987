#include <algorithm>
#include <array>

#include "sim/schedule/schedule.hpp"
#include "sim/study/axes.hpp"

namespace rehearse {

namespace {

// What a layout is chosen from; empty lists are filled from the model and the cluster, layout by layout.
struct Choices {
  std::vector<std::string> schedules{"1f1b", "interleaved", "zb-h1", "zb-v"};
  std::vector<std::string> recompute{"none", "selective", "full"};
  std::vector<std::string> sequence_parallel{"false", "true"};
  std::vector<int64_t> tp, pp, chunks, micro{1, 2, 4, 8}, zero{0, 1};
};

void read_counts(MapReader& reader, const char* key, const StudyBase& base, std::vector<int64_t>& counts) {
  const DocNode* node = reader.find(key);
  if (!node) return;
  const std::string path = reader.path_of(key);
  counts.clear();
  for (const auto& text : read_axis_values(*node, path, base, reader.problems())) {
    const auto parsed = parse_int(text);
    if (parsed.value && *parsed.value >= 0 && *parsed.value <= 1'000'000'000)
      counts.push_back(*parsed.value);
    else
      return reader.problem(node->mark, key, "E-STUDY-AXIS", path + ": " + quote(text) + " is not a count");
  }
}

void read_words(MapReader& reader, const char* key, const StudyBase& base, std::vector<std::string>& words) {
  if (const DocNode* node = reader.find(key))
    words = read_axis_values(*node, reader.path_of(key), base, reader.problems());
}

void check_schedules(MapReader& reader, const std::vector<std::string>& schedules) {
  for (const auto& name : schedules)
    if (!name.ends_with(".csv") && !find_schedule(name))
      reader.problem(reader.node().find("schedules")->mark, "schedules", "E-SCHEDULE-NAME",
                     "no schedule is called " + quote(name), suggest(name, [] {
                       std::vector<std::string_view> names;
                       for (const auto& row : schedule_table()) names.push_back(row.name);
                       return names;
                     }()));
}

template <class T>
void drop_repeats(std::vector<T>& values) {
  std::vector<T> kept;
  for (auto& value : values)
    if (std::find(kept.begin(), kept.end(), value) == kept.end()) kept.push_back(std::move(value));
  values = std::move(kept);
}

Choices read_choices(const DocNode& node, const StudyBase& base, Problems& problems) {
  Choices choices;
  MapReader reader(node, "search.layout", problems);
  read_counts(reader, "tp", base, choices.tp);
  read_counts(reader, "pp", base, choices.pp);
  read_counts(reader, "chunks", base, choices.chunks);
  read_counts(reader, "micro", base, choices.micro);
  read_counts(reader, "zero", base, choices.zero);
  read_words(reader, "schedules", base, choices.schedules);
  read_words(reader, "recompute", base, choices.recompute);
  read_words(reader, "sequence_parallel", base, choices.sequence_parallel);
  reader.finish();
  check_schedules(reader, choices.schedules);
  for (auto* counts : {&choices.tp, &choices.pp, &choices.chunks, &choices.micro, &choices.zero})
    drop_repeats(*counts);
  for (auto* words : {&choices.schedules, &choices.recompute, &choices.sequence_parallel})
    drop_repeats(*words);
  return choices;
}

class Enumeration {
 public:
  Enumeration(Choices choices, const Scenario& base, int64_t gpus)
      : c_(std::move(choices)),
        gpus_(gpus / std::max(1, base.layout.cp)),
        layers_(base.model.layers),
        base_chunks_(base.layout.chunks) {
    const int64_t widest = std::min<int64_t>(base.model.heads, 2 * base.cluster.gpus_per_domain());
    for (int64_t t = 1; c_.tp.empty() && t <= widest; ++t)
      if (gpus_ % t == 0 && (base.model.heads % t == 0 || (t & (t - 1)) == 0)) defaults_.push_back(t);
    if (c_.tp.empty()) c_.tp = defaults_;
  }

  void each(const EmitRow& emit) const {
    for (const int64_t tp : c_.tp)
      for (const int64_t pp : c_.pp.empty() ? stages(tp) : c_.pp)
        if (tp > 0 && pp > 0 && gpus_ % (tp * pp) == 0) of_layout(tp, pp, emit);
  }

 private:
  std::vector<int64_t> stages(int64_t tp) const {
    std::vector<int64_t> counts;
    for (const int64_t pp : tp > 0 && gpus_ % tp == 0 ? divisors(gpus_ / tp) : std::vector<int64_t>{})
      if (pp <= layers_) counts.push_back(pp);
    return counts;
  }

  std::vector<int64_t> chunks_of(const std::string& schedule, int64_t pp) const {
    const auto* row = find_schedule(schedule);
    if (!row) return c_.chunks.empty() ? std::vector<int64_t>{base_chunks_} : c_.chunks;
    const ScheduleKind& kind = row->value;
    if (kind.min_chunks == kind.max_chunks) return {kind.min_chunks};
    const bool even = layers_ % pp == 0;  // else refused, whatever the chunks
    auto counts = !c_.chunks.empty() ? c_.chunks
                  : even             ? divisors(layers_ / pp)
                                     : std::vector<int64_t>{kind.min_chunks};
    const auto unfit = [&](int64_t v) { return v < kind.min_chunks || v > kind.max_chunks; };
    counts.erase(std::remove_if(counts.begin(), counts.end(), unfit), counts.end());
    return counts;
  }

  void of_layout(int64_t tp, int64_t pp, const EmitRow& emit) const {
    const int64_t dp = gpus_ / (tp * pp);
    for (const auto& schedule : c_.schedules) {
      const auto* row = find_schedule(schedule);
      // Without a pipeline schedules do not differ: one of them will do.
      if (pp == 1 && row && row->value.min_chunks > 1) continue;
      for (const int64_t chunks : pp == 1 ? std::vector<int64_t>{1} : chunks_of(schedule, pp))
        rest({std::to_string(tp), std::to_string(pp), std::to_string(dp), schedule, std::to_string(chunks)},
             emit);
      if (pp == 1) break;
    }
  }

  // `sizes`: tp, pp, dp, schedule, chunks.
  void rest(const std::array<std::string, 5>& sizes, const EmitRow& emit) const {
    for (const int64_t micro : c_.micro)
      for (const auto& recompute : c_.recompute)
        for (const int64_t zero : c_.zero) {
          for (const auto& sequence_parallel : c_.sequence_parallel) {
            if (sizes[0] == "1" && sequence_parallel == "true" && c_.sequence_parallel.size() > 1) continue;
            emit({sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], std::to_string(micro), recompute,
                  std::to_string(zero), sequence_parallel});
          }
          if (sizes[2] == "1") break;  // nobody to share an optimizer with
        }
  }

  Choices c_;
  int64_t gpus_, layers_, base_chunks_;
  std::vector<int64_t> defaults_;
};

}  // namespace

std::optional<LayoutSearch> read_search(const DocNode& node, const StudyBase& base, Problems& problems) {
  Choices choices;
  if (node.kind == NodeKind::map) {
    MapReader reader(node, "search", problems);
    if (const DocNode* layout = reader.require("layout")) choices = read_choices(*layout, base, problems);
    reader.finish();
  } else {
    const std::vector<std::string_view> names{"layout"};
    if (read_choice(node, "search", problems, names) < 0) return {};
  }
  LayoutSearch search;
  search.keys = {"layout.tp", "layout.pp",     "layout.dp",
                 "schedule",  "layout.chunks", "batch.micro",
                 "recompute", "layout.zero",   "layout.sequence_parallel"};
  for (const char* key : {"layout.stage_layers", "layout.placement", "max_live"})
    if (base.given(key)) search.sets.push_back(std::string(key) + "=null");
  const Enumeration enumeration(std::move(choices), base.scenario(), base.gpus());
  search.each = [enumeration](const EmitRow& emit) { enumeration.each(emit); };
  return search;
}

}  // namespace rehearse
