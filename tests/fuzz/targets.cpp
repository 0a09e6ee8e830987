#include "tests/fuzz/targets.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/import/import.hpp"
#include "calibration/probes/probe.hpp"
#include "calibration/samples/sample.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/measured_collective.hpp"
#include "sim/io/model.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/io/profile.hpp"
#include "sim/io/request.hpp"
#include "sim/io/scenario.hpp"
#include "sim/io/topology.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/step/plan.hpp"
#include "sim/study/store.hpp"
#include "sim/study/study.hpp"
#include "sim/study/truth.hpp"

namespace rehearse::fuzz {

namespace fs = std::filesystem;

namespace {

std::string_view text_of(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string write_file(const Ground& ground, const std::string& name, std::string_view text) {
  std::string path = ground.scratch + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// What is said about bad input is UTF-8 and names a code, whatever the input was.
void check_words(const InputErrors& found) {
  if (found.errors.empty() || find_bad_utf8(found.what())) std::abort();
  for (const auto& error : found.errors)
    if (error.code.empty() || error.message.empty()) std::abort();
}

template <class Read>
void tolerate(Read read) {
  try {
    read();
  } catch (const InputErrors& found) {
    check_words(found);
  }
}

// A scenario that was accepted multiplies out.
void check_accepted(const Plan& plan) {
  const Scenario& s = plan.scenario;
  const int64_t ranks = int64_t(s.layout.tp) * s.layout.pp * s.layout.dp;
  if (ranks != s.cluster.gpus() || s.micro_batches() < 1 || s.batch.sequence < 1 || s.stack.name.empty())
    std::abort();
  if (plan.schedule.stages.size() != size_t(s.layout.pp)) std::abort();
}

std::string make_store(const Ground& ground) {
  const std::string path = ground.scratch + "/sound.sqlite";
  StoredPoint point{std::string(32, 'a'), {}, {}};
  point.point.settings = {"layout.tp=2"};
  point.outcome.figures.assign(figure_table().size(), 1.5);
  point.outcome.stage_peak_bytes = {1e9, 2e9};
  create_store(path, {{"study", "base.yaml", "base: base.yaml\n", {}, {"layout.tp"}}}, {point});
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void read_scenario_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "scenario.yaml", text_of(bytes, size));
  tolerate([&] { check_accepted(resolve(read_job(path, {}, {{ground.data}}))); });
}

void read_settings_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  std::vector<std::string> sets;
  for (const auto line : split(text_of(bytes, size), '\n'))
    if (!line.empty()) sets.emplace_back(line);
  tolerate([&] { check_accepted(resolve(read_job(ground.scratch + "/base.yaml", sets, {{ground.data}}))); });
}

void read_model_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "model.yaml", text_of(bytes, size));
  tolerate([&] { load_model(path); });
}

void read_topology_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "topology.yaml", text_of(bytes, size));
  tolerate([&] { load_topology(path); });
}

void read_profile_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "profile.yaml", text_of(bytes, size));
  write_file(ground, "table.csv",
             text_of(bytes, size));  // a profile may name it; then its own bytes are the table
  tolerate([&] { load_profile(path); });
}

void read_schedule_bytes(const uint8_t* bytes, size_t size, const Ground&) {
  for (const PipelineShape shape : {PipelineShape{2, 3, 1}, PipelineShape{2, 2, 2}})
    tolerate([&] { validate(from_csv(text_of(bytes, size), "fuzz.csv", shape)); });
}

void read_log_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const std::string_view text = text_of(bytes, size);
  const auto use = [](const NcclLog& log) {
    for (const auto& table : log.tables) {
      const LoggedGroup group = group_of(table, 0, 0);
      for (const auto& row : table.rows) contradiction(row, CollectiveOp::all_reduce, group.ranks);
    }
  };
  tolerate([&] { use(read_nccl_log(text, "fuzz.log")); });
  tolerate([&] { use(read_nccl_json(text, "fuzz.json")); });
  const auto path = write_file(ground, "fuzz.log", text);
  tolerate([&] { read_measured_collective(path, CollectiveOp::all_reduce, {}); });
}

void read_truth_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "truth.yaml", text_of(bytes, size));
  static const DataRoots shipped{{REHEARSE_SOURCE_DIR}};
  tolerate([&] {
    const TruthFile truth = load_truth(path, shipped);
    if (!truth.errors.empty()) throw InputErrors(truth.errors);
  });
}

void read_samples_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "samples.jsonl", text_of(bytes, size));
  tolerate([&] {
    for (const auto& sample : calibration::read_samples(path).samples) calibration::to_json_line(sample);
  });
}

void read_table_bytes(const uint8_t* bytes, size_t size, const Ground&) {
  static constexpr CsvColumn kColumns[] = {{"sequence"}, {"batch"}, {"causal", true}, {"time_us"}};
  for (const size_t keys : {size_t{1}, size_t{3}})
    tolerate([&] {
      Problems problems;
      parse_csv(text_of(bytes, size), "fuzz.csv", kColumns, keys, problems, [](const double* row) {
        if (!(row[0] > 0 && row[1] > 0 && row[3] > 0 && (row[2] == 0 || row[2] == 1))) std::abort();
      });
      problems.raise();
    });
}

void read_import_bytes(const uint8_t* bytes, size_t size, const Ground&) {
  calibration::ImportOptions options;
  options.gpu = "test-gpu";
  tolerate([&] {
    for (const auto& sample :
         calibration::import_text(std::string(text_of(bytes, size)), "fuzz.csv", options).samples)
      calibration::to_json_line(sample);
  });
}

void read_points_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "points.jsonl", text_of(bytes, size));
  tolerate([&] {
    for (const auto& point : calibration::read_points(path)) calibration::to_json_line(point);
  });
}

void read_study_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  const auto path = write_file(ground, "study.yaml", text_of(bytes, size));
  tolerate([&] {
    const Study study = read_study(path, {}, {{ground.data}});
    if (study.base.empty() || study.name.empty() || study.points.empty()) std::abort();
  });
}

// A sound store of this version, in which each run of the bytes (2 of offset, 1 of length, what is written
// there) spoils a place.
void read_store_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  static const std::string sound = make_store(ground);
  std::string spoilt = sound;
  for (size_t at = 0; at + 3 < size;) {
    const size_t to = (bytes[at] << 8 | bytes[at + 1]) % spoilt.size();
    const size_t length = std::min({size_t{bytes[at + 2]} + 1, size - at - 3, spoilt.size() - to});
    spoilt.replace(to, length, text_of(bytes + at + 3, length));
    at += 3 + length;
  }
  const auto path = write_file(ground, "store.sqlite", spoilt);
  tolerate([&] {
    const Store store(path, Store::Mode::read);
    store.outcomes();
    store.points();
    store.studies();
  });
}

void read_request_bytes(const uint8_t* bytes, size_t size, const Ground& ground) {
  for (const auto line : split(text_of(bytes, size), '\n'))
    tolerate([&] {
      ScenarioFiles files;
      check_accepted(resolve(read_job(read_request(std::string(line)), {{ground.data}}, files)));
    });
}

Ground make_ground() {
  std::string pattern = (fs::temp_directory_path() / "rehearse-fuzz-XXXXXX").string();
  if (!mkdtemp(pattern.data())) std::abort();
  const std::string source = REHEARSE_SOURCE_DIR;
  fs::copy_file(source + "/tests/fuzz/base.yaml", pattern + "/base.yaml");
  return {pattern, source + "/tests/input/data"};
}

}  // namespace rehearse::fuzz
