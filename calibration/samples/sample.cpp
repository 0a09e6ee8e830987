#include "calibration/samples/sample.hpp"

#include <algorithm>

#include "calibration/samples/json.hpp"
#include "calibration/samples/work_json.hpp"
#include "sim/base/file.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

using Json = nlohmann::ordered_json;

constexpr Named<Status> kStatuses[] = {{"ok", "", Status::ok},
                                       {"unfit", "", Status::unfit},
                                       {"rejected", "", Status::rejected},
                                       {"failed", "", Status::failed}};

// Bytes that are no UTF-8 (of a driver, a path) are replaced, so that a line can always be written.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json write(const Quantiles& q) {
  return {{"median", q.median}, {"mad", q.mad}, {"p10", q.p10}, {"p90", q.p90}, {"n", q.n}};
}

Quantiles quantiles_from(JsonFields& fields, const std::string& key) {
  Quantiles q;
  const auto* object = fields.find(key);
  if (!object) return q;
  JsonFields f(*object, key);
  q.median = f.number("median", 0);
  q.mad = f.number("mad", 0, 0);
  q.p10 = f.number("p10", 0, q.median);
  q.p90 = f.number("p90", 0, q.median);
  q.n = f.integer("n", 1, 1);
  f.finish();
  if (q.p10 > q.median || q.p90 < q.median) throw JsonProblem(key + " is out of order");
  return q;
}

// What a line leaves out is 0 or empty.
template <class T>
void put(Json& json, const char* key, const T& value, const T& unless = {}) {
  if (!(value == unless)) json[key] = value;
}

// A field of the limits and its key.
constexpr Named<double Limits::*> kLimits[] = {{"memory_bytes_per_s", "", &Limits::memory_bytes_per_s},
                                               {"link_bytes_per_s", "", &Limits::link_bytes_per_s},
                                               {"network_bytes_per_s", "", &Limits::network_bytes_per_s},
                                               {"memory_bytes", "", &Limits::memory_bytes},
                                               {"l2_bytes", "", &Limits::l2_bytes},
                                               {"sms", "", &Limits::sms},
                                               {"clock_mhz", "", &Limits::clock_mhz}};
constexpr Named<std::string Environment::*> kTexts[] = {
    {"backend", "", &Environment::backend},
    {"device", "", &Environment::device},
    {"driver", "", &Environment::driver},
    {"toolkit", "", &Environment::toolkit},
    {"collectives_library", "", &Environment::collectives_library},
    {"topology", "", &Environment::topology},
    {"command", "", &Environment::command},
    {"started", "", &Environment::started},
    {"source", "", &Environment::source},
    {"licence", "", &Environment::licence},
    {"caveats", "", &Environment::caveats},
    {"network", "", &Environment::network}};

Json write_rest(const Environment& e) {
  Json json = Json::object();
  for (const auto& row : kTexts) put(json, std::string(row.name).c_str(), e.*row.value);
  if (!e.variables.empty()) json["variables"] = e.variables;
  json["ranks"] = e.ranks;
  json["ranks_per_node"] = e.ranks_per_node;
  put(json, "node_network_bytes_per_s", e.node_network_bytes_per_s);
  put(json, "network_latency_s", e.network_latency_s);
  Json limits = Json::object(), peaks = Json::object();
  for (const auto& [dtype, flops] : e.limits.peak_flops)
    peaks[std::string(name_of(kDTypeNames, dtype))] = flops;
  if (!peaks.empty()) limits["peak_flops"] = peaks;
  for (const auto& row : kLimits) put(limits, std::string(row.name).c_str(), e.limits.*row.value);
  if (!limits.empty()) json["limits"] = limits;
  return json;
}

Limits limits_from(const nlohmann::json& object) {
  Limits limits;
  JsonFields f(object, "limits");
  if (const auto* peaks = f.find("peak_flops")) {
    JsonFields types(*peaks, "limits.peak_flops");
    for (const auto& row : kDTypeNames)
      if (const double flops = types.number(std::string(row.name), 0, 0); flops > 0)
        limits.peak_flops.emplace_back(row.value, flops);
    types.finish();
  }
  for (const auto& row : kLimits) limits.*row.value = f.number(std::string(row.name), 0, 0);
  f.finish();
  return limits;
}

Environment environment_from(const nlohmann::json& object) {
  Environment e;
  JsonFields f(object, "environment");
  f.text("record");
  e.id = f.text("id");
  for (const auto& row : kTexts) e.*row.value = f.text(std::string(row.name), "");
  if (const auto* variables = f.find("variables")) {
    if (!variables->is_object()) throw JsonProblem("environment.variables must be an object");
    JsonFields names(*variables, "environment.variables");
    for (const auto& [key, value] : variables->items()) e.variables[key] = names.text(key);
  }
  e.ranks = f.integer("ranks", 1, 1);
  e.ranks_per_node = f.integer("ranks_per_node", 1, 1);
  e.node_network_bytes_per_s = f.number("node_network_bytes_per_s", 0, 0);
  e.network_latency_s = f.number("network_latency_s", 0, 0);
  if (const auto* limits = f.find("limits")) e.limits = limits_from(*limits);
  f.finish();
  return e;
}

Sample sample_from(const nlohmann::json& object) {
  Sample s;
  JsonFields f(object, "sample");
  f.text("record");
  s.probe = f.text("probe");
  s.work = work_from(f.require("work"));
  s.environment = f.text("environment");
  s.status = f.word("status", kStatuses);
  s.code = f.text("code", "");
  s.reason = f.text("reason", "");
  s.device = quantiles_from(f, "device");
  s.host = quantiles_from(f, "host");
  s.rank_min = f.number("rank_min", 0, 0);
  s.rank_max = f.number("rank_max", 0, 0);
  s.repeats = f.integer("repeats", 1, 1);
  s.warmups = f.integer("warmups", 0, 0);
  s.clock_before_mhz = f.number("clock_before_mhz", 0, 0);
  s.clock_after_mhz = f.number("clock_after_mhz", 0, 0);
  if (const auto* flags = f.find("flags")) {
    if (!flags->is_array()) throw JsonProblem("sample.flags must be a list");
    for (const auto& flag : *flags) {
      if (!flag.is_string()) throw JsonProblem("sample.flags must hold strings");
      s.flags.push_back(flag.get<std::string>());
    }
  }
  s.when = f.text("when", "");
  s.alone = f.number("alone", 0, 0);
  s.beside = f.number("beside", 0, 0);
  s.collective_alone = f.number("collective_alone", 0, 0);
  s.collective_beside = f.number("collective_beside", 0, 0);
  f.finish();
  if (s.status == Status::ok && s.device.n == 0 && s.host.n == 0 && s.alone == 0)
    throw JsonProblem("sample is ok but holds no time");
  return s;
}

[[noreturn]] void refuse(const std::string& path, int line, int column, const std::string& text,
                         std::string message, std::string hint = {}) {
  throw InputErrors({{shown_path(path), line, column, printable(text.substr(0, 160))},
                     "",
                     "E-SAMPLE",
                     std::move(message),
                     std::move(hint)});
}

// Where the same point stands before: a device that was measured again, or one imported file.
std::string place_of_point(const Environment& e, const Sample& s) {
  return (e.backend == "import" ? e.id : e.backend + "|" + e.device) + "|" + point_of(s.work);
}

class LineReader {
 public:
  explicit LineReader(std::string path) : path_(std::move(path)) {}

  void read(const std::string& text, int line) {
    nlohmann::json json;
    try {
      json = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) {
      refuse(path_, line, static_cast<int>(std::max<size_t>(error.byte, 1)), text, "the line is not JSON");
    } catch (const nlohmann::json::exception&) {
      refuse(path_, line, 1, text, "a number in it is too large");
    }
    try {
      take(json, text, line);
    } catch (const JsonProblem& problem) {
      refuse(path_, line, 1, text, problem.what());
    }
  }
  SampleFile file;

 private:
  void take(const nlohmann::json& json, const std::string& text, int line) {
    const auto kind = json.is_object() ? json.find("record") : json.end();
    const auto is = [&](const char* record) { return kind != json.end() && *kind == record; };
    if (is("environment")) {
      Environment e = environment_from(json);
      std::string id = e.id;
      file.environments.insert_or_assign(std::move(id), std::move(e));
    } else if (is("sample")) {
      Sample s = sample_from(json);
      const auto at = file.environments.find(s.environment);
      if (at == file.environments.end())
        refuse(path_, line, 1, text,
               "the sample's environment " + quote(s.environment) + " stands nowhere above");
      const auto [first, fresh] = points_.emplace(place_of_point(at->second, s), line);
      if (!fresh)
        refuse(path_, line, 1, text,
               "the point " + quote(point_of(s.work)) + " stands already in line " +
                   std::to_string(first->second));
      file.samples.push_back(std::move(s));
    } else {
      throw JsonProblem("the line is neither an environment nor a sample");
    }
  }

  std::string path_;
  std::map<std::string, int> points_;
};

}  // namespace

std::string to_json_line(const Sample& s) {
  Json json{{"record", "sample"},
            {"probe", s.probe},
            {"work", to_json(s.work)},
            {"environment", s.environment},
            {"status", name_of(kStatuses, s.status)}};
  put(json, "code", s.code);
  put(json, "reason", s.reason);
  if (s.device.n) json["device"] = write(s.device);
  if (s.host.n) json["host"] = write(s.host);
  put(json, "rank_min", s.rank_min);
  put(json, "rank_max", s.rank_max);
  put(json, "repeats", s.repeats, 1);
  put(json, "warmups", s.warmups);
  put(json, "clock_before_mhz", s.clock_before_mhz);
  put(json, "clock_after_mhz", s.clock_after_mhz);
  if (!s.flags.empty()) json["flags"] = s.flags;
  put(json, "when", s.when);
  put(json, "alone", s.alone);
  put(json, "beside", s.beside);
  put(json, "collective_alone", s.collective_alone);
  put(json, "collective_beside", s.collective_beside);
  return dump(json);
}

std::string to_json_line(const Environment& e) {
  Json json{{"record", "environment"}, {"id", e.id}};
  json.update(write_rest(e));
  return dump(json);
}

std::string digest_of(const Environment& e) {
  uint64_t state = 0xcbf29ce484222325u;  // FNV-1a
  for (const char byte : dump(write_rest(e))) state = (state ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[state >> shift & 15];
  return text;
}

SampleFile read_samples(const std::string& path) {
  const std::string text = read_file(path, {}, size_t{1} << 28);
  LineReader reader(path);
  int line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    reader.read(text.substr(at, end - at), ++line);
    at = end + 1;
  }
  return std::move(reader.file);
}

}  // namespace rehearse::calibration
