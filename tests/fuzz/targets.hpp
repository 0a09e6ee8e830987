// What is fuzzed: each target feeds one reader with bytes and lets only InputErrors through.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace rehearse::fuzz {

// Folders that hold files which the text under test may name.
struct Ground {
  std::string scratch;  // writable, for readers that take a path
  std::string data;     // topologies/, calibration/profiles/, scenarios/
};

using Target = void (*)(const uint8_t* bytes, size_t size, const Ground& ground);

void read_scenario_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_settings_bytes(const uint8_t* bytes, size_t size, const Ground& ground);  // one --set a line
void read_model_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_topology_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_profile_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_schedule_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_log_bytes(const uint8_t* bytes, size_t size, const Ground& ground);  // of nccl-tests, text and JSON
void read_truth_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_samples_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_table_bytes(const uint8_t* bytes, size_t size, const Ground& ground);   // a profile's CSV
void read_import_bytes(const uint8_t* bytes, size_t size, const Ground& ground);  // CSV of others' samples
void read_points_bytes(const uint8_t* bytes, size_t size, const Ground& ground);  // of a calibration plan
void read_study_bytes(const uint8_t* bytes, size_t size, const Ground& ground);
void read_store_bytes(const uint8_t* bytes, size_t size,
                      const Ground& ground);  // what overwrites a sound one
void read_request_bytes(const uint8_t* bytes, size_t size, const Ground& ground);  // a line of `batch`

struct Named {
  const char* name;  // also of its corpus
  Target run;
};
inline constexpr Named kTargets[] = {
    {"scenario", read_scenario_bytes}, {"settings", read_settings_bytes}, {"model", read_model_bytes},
    {"topology", read_topology_bytes}, {"profile", read_profile_bytes},   {"schedule", read_schedule_bytes},
    {"log", read_log_bytes},           {"truth", read_truth_bytes},       {"samples", read_samples_bytes},
    {"table", read_table_bytes},       {"store", read_store_bytes},       {"request", read_request_bytes},
    {"import", read_import_bytes},     {"points", read_points_bytes},     {"study", read_study_bytes},
};

// A ground in a fresh temporary folder over the data of the input tests.
Ground make_ground();

}  // namespace rehearse::fuzz
