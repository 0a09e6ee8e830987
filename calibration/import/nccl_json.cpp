// What nccl-tests writes with -J FILE (its versions 1 and 2).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/import/parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/nccl_log.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {
namespace {

using Json = nlohmann::json;

struct Place {
  const std::string& text;
  const std::string& file;

  [[noreturn]] void refuse(const std::string& path, std::string code, std::string message,
                           std::string hint = {}) const {
    importing::refuse(file, {std::string_view(text).substr(0, text.find('\n')), 1}, 1, std::move(code),
                      path + ": " + std::move(message), std::move(hint));
  }
  const Json& at(const Json& object, const char* key, const std::string& path, const char* code) const {
    if (!object.is_object() || !object.contains(key)) refuse(path, code, std::string("has no ") + key);
    return object[key];
  }
  double number(const Json& object, const char* key, const std::string& path) const {
    const Json& value = at(object, key, path, "E-IMPORT-ROW");
    if (!value.is_number() || value.get<double>() < 0)
      refuse(path + "." + key, "E-IMPORT-ROW", "is no number");
    return value.get<double>();
  }
};

int integer(const Json& object, const char* key, int fallback) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer()) return fallback;
  return static_cast<int>(std::clamp(object[key].get<double>(), -1.0, kMostRanks));
}
std::string word(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : "";
}

// A process lists the first of its GPUs, nThread x nGpus of them are its own. Ranks by host.
std::map<std::string, int> hosts_of(const Json& config, const Place& place, const ImportOptions& options,
                                    Environment& environment) {
  const double each = 1.0 * integer(config, "nthreads", 1) * integer(config, "ngpus", 1);
  const Json devices = config.contains("devices") ? config["devices"] : Json::array();
  if (each < 1 || each * static_cast<double>(devices.size()) > kMostRanks)
    place.refuse("config", "E-IMPORT-RANKS", "nthreads x ngpus is no number of GPUs");
  std::map<std::string, int> hosts;
  std::set<int> ranks_seen;
  std::optional<std::string> gpu;
  for (const auto& d : devices) {
    hosts[word(d, "hostname")] += static_cast<int>(each);
    if (!ranks_seen.insert(integer(d, "rank", -1)).second)
      place.refuse("config.devices", "E-IMPORT-RANKS", "a rank stands twice",
                   "nccl-tests was built without MPI=1");
    if (!gpu) gpu = word(d, "device_info");
    if (options.gpu.empty() && word(d, "device_info") != *gpu)
      place.refuse("config.devices", "E-IMPORT-RANKS",
                   "ranks are on " + quote(*gpu) + " and on " + quote(word(d, "device_info")),
                   "say --gpu NAME if that is one kind of device");
  }
  if (environment.device.empty()) environment.device = gpu.value_or("");
  return hosts;
}

Job job_of(const Json& json, const Place& place, const ImportOptions& options, Environment& environment) {
  const Json& config = place.at(json, "config", "the file", "E-IMPORT-HEADER");
  const auto hosts = hosts_of(config, place, options, environment);
  int ranks = 0, nodes = static_cast<int>(hosts.size());
  for (const auto& [host, count] : hosts) ranks += count;
  if (options.ranks)
    ranks = options.ranks, nodes = std::max(1, options.nodes);
  else if (options.nodes)
    nodes = options.nodes;
  if (ranks == 0)
    place.refuse("config.devices", "E-IMPORT-RANKS", "the file lists no ranks",
                 "say --ranks N and --nodes N");
  if (ranks == 1)
    place.refuse("config.devices", "E-IMPORT-ONE-RANK", "a collective of one rank moves nothing");
  if (ranks % nodes) place.refuse("config.devices", "E-IMPORT-RANKS", "ranks do not divide over nodes");
  for (const auto& [host, count] : hosts)
    if (!options.ranks && !options.nodes && count != ranks / nodes)
      place.refuse("config.devices", "E-IMPORT-RANKS", "nodes have different numbers of ranks");
  auto op = options.op;
  if (!op && json.contains("args") && json["args"].is_array() && !json["args"].empty() &&
      json["args"][0].is_string())
    op = op_in(json["args"][0].get<std::string>());
  if (!op) op = op_in(place.file);
  if (!op)
    place.refuse("args", "E-IMPORT-OP", "neither the command nor the file name says which collective this is",
                 "say --op all_reduce");
  environment.ranks = ranks;
  environment.ranks_per_node = ranks / nodes;
  return {*op, nodes, ranks / nodes};
}

NcclRow row_of(const Json& result, const std::string& path, const Place& place) {
  NcclRow row;
  row.bytes = place.number(result, "size", path);
  row.count = place.number(result, "count", path);
  if (!is_count(row.bytes) || !is_count(row.count))
    place.refuse(path, "E-IMPORT-ROW", "size and count must be whole numbers up to 2^53");
  row.type = word(result, "type");
  for (const char* half : {"out_of_place", "in_place"}) {
    if (!result.contains(half) || result[half].is_null()) continue;
    const std::string within = path + "." + half;
    const Json& body = result[half];
    if (body.is_object() && body.contains("cpu_time"))
      place.refuse(within, "E-IMPORT-HEADER", "holds times of the CPU", "run nccl-tests without -C");
    NcclRow::Half h{place.number(body, "time", within),
                    place.number(body, "alg_bw", within),
                    place.number(body, "bus_bw", within),
                    0,
                    1e-6,
                    1e-6};
    if (body.contains("nwrong") && body["nwrong"].is_number()) h.wrong = body["nwrong"].get<double>();
    row.halves.push_back(h);
  }
  if (row.halves.empty()) place.refuse(path, "E-IMPORT-ROW", "holds no time");
  return row;
}

// The count of what the file's end says is wrong; 0: nothing.
double wrong_in(const Json& json, const char* key) {
  const bool stated = json.contains(key) && json[key].is_object() && json[key].contains("count");
  const Json count = stated ? json[key]["count"] : Json(0);
  return count.is_number() ? count.get<double>() : 0;
}

void facts_of(const Json& json, Environment& environment) {
  const int code = integer(json, "nccl_version", 0);
  if (environment.collectives_library.empty() && code > 0)
    environment.collectives_library =
        fmt::format("NCCL {}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  environment.started = word(json, "start_time");
  if (!json.contains("env") || !json["env"].is_array()) return;
  for (const auto& entry : json["env"]) {
    if (!entry.is_string()) continue;
    const std::string text = entry.get<std::string>();
    const size_t equals = text.find('=');
    if (text.starts_with("NCCL_") && equals != std::string::npos)
      environment.variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

}  // namespace

void read_nccl_json(const std::string& text, const std::string& file, const ImportOptions& options,
                    Imported& out) {
  const Place place{text, file};
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t at = std::min(error.byte ? error.byte - 1 : 0, text.size());
    const std::string_view before(text.data(), at);
    const int line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    refuse(file, {std::string_view(text).substr(start, text.find('\n', start) - start), line},
           static_cast<int>(at - start) + 1, "E-IMPORT-ROW", "not whole JSON: the file is cut or broken");
  }
  const Json& results = place.at(json, "results", "the file", "E-IMPORT-HEADER");
  if (!results.is_array() || results.empty()) place.refuse("results", "E-IMPORT-ROW", "holds no rows");
  facts_of(json, out.environment);
  const Job job = job_of(json, place, options, out.environment);
  const double ranks = job.nodes * job.per_node;
  bool rows_tell = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string path = fmt::format("results[{}]", i);
    const NcclRow row = row_of(results[i], path, place);
    if (row.bytes == 0) {
      out.notes.push_back(path + ": 0 bytes, left out");
      continue;
    }
    const auto dtype = nccl_type(row.type);
    if (!dtype)
      place.refuse(path, "E-IMPORT-ROW", "a type that the simulator does not know: " + quote(row.type));
    const double width = rehearse::bytes_of(*dtype);
    if (row.count * width != row.bytes && row.count * width * ranks != row.bytes)
      place.refuse(path, "E-IMPORT-ROW", "the size is not count x the width of the type");
    for (const auto& half : row.halves) rows_tell |= half.wrong > 0;
    if (const auto found = contradiction(row, job.op, static_cast<int>(ranks)))
      place.refuse(path, found->code, found->message);
    out.samples.push_back(sample_of(row, job, options.dtype.value_or(*dtype)));
  }
  for (const char* key : {"out_of_bounds", "bitwise_mismatches"})
    if (const double wrong = wrong_in(json, key); wrong > 0)
      reject_wrong(out, rows_tell, fmt::format("the file says {} of {}", key, wrong));
}

}  // namespace rehearse::calibration::importing
