#include "sim/io/request.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/text.hpp"

namespace rehearse {

using Json = nlohmann::ordered_json;

namespace {

[[noreturn]] void refuse_request(const std::string& key, const std::string& message,
                                 const std::string& hint) {
  throw InputErrors(InputError{{}, key, "E-BATCH-LINE", message, hint});
}

std::vector<std::string> sets_of(const Json& request) {
  std::vector<std::string> sets;
  if (!request.contains("set")) return sets;
  const std::string hint = R"(as in "set": ["layout.tp=4"])";
  if (!request["set"].is_array()) refuse_request("set", "set is no list of KEY.PATH=VALUE", hint);
  for (const auto& set : request["set"]) {
    if (!set.is_string())
      refuse_request("set", "set holds " + set.dump() + ", which is no KEY.PATH=VALUE", hint);
    sets.push_back(set.get<std::string>());
  }
  return sets;
}

// Deep nesting would exhaust the stack of whatever walks it; scenarios have but some levels.
bool too_deep(const std::string& line) {
  int depth = 0;
  bool text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (text && c == '\\') ++i;
    if (c == '"') text = !text;
    if (text) continue;
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (depth > 64) return true;
  }
  return false;
}

// Refuses a key that stands twice in one object: which of the two was meant, nobody knows.
class OnceEachKey {
 public:
  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      refuse_request(printable(parsed.get<std::string>()),
                     "the key " + quote(parsed.get<std::string>()) + " stands twice in one object",
                     "leave one of them out");
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

void check_keys(const Json& request) {
  static constexpr std::string_view keys[] = {"id", "scenario", "set"};
  for (const auto& [key, value] : request.items())
    if (std::find(std::begin(keys), std::end(keys), key) == std::end(keys))
      throw InputErrors(
          InputError{{}, key, "E-KEY-UNKNOWN", "unknown key " + quote(key), suggest(key, keys)});
  if (!request.contains("scenario"))
    throw InputErrors(InputError{{}, "scenario", "E-KEY-MISSING", "the key 'scenario' is missing", ""});
}

// A quantity has its unit, and so is text in JSON; in YAML it stands without quotes.
bool is_quantity(const std::string& text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fine = [&](char c) { return digit(c) || letter(c) || c == '.' || c == ' ' || c == '/'; };
  return text.size() > 1 && digit(text.front()) && letter(text.back()) &&
         std::all_of(text.begin(), text.end(), fine);
}

std::string yaml_of(const Json& json) {
  if (json.is_string() && is_quantity(json.get<std::string>())) return json.get<std::string>();
  if (!json.is_structured()) return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += text.empty() ? "" : ", ";
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += yaml_of(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string path_of(const Json& scenario) {
  auto path = scenario.get<std::string>();
  if (path == "-") refuse_request("scenario", "standard input holds the requests", "");
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (std::any_of(path.begin(), path.end(), control))
    refuse_request("scenario", "scenario holds a control character, which no path has", "");
  return path;
}

}  // namespace

Json read_request(const std::string& line) {
  if (too_deep(line)) refuse_request("", "this is nested more than 64 levels deep", "one object a line");
  Json request;
  try {
    request = Json::parse(line, OnceEachKey());
  } catch (const Json::exception& e) {
    refuse_request("", printable(std::string("this is no JSON: ") + e.what()), "one object a line");
  }
  if (!request.is_object())
    refuse_request("", "a request is an object", R"({"id": 1, "scenario": "7b-8xa100-dp"})");
  if (request.contains("id") && request["id"].is_number_float())
    refuse_request("id", "the id is no integer of 64 bits, and would not come back as it was",
                   R"(write it as text: "id": "...")");
  return request;
}

Job read_job(const Json& request, const DataRoots& roots, ScenarioFiles& files) {
  static constexpr const char* kInline = "<request>";
  check_keys(request);
  const auto sets = sets_of(request);
  const Json& scenario = request["scenario"];
  const bool text = scenario.is_string() && scenario.get<std::string>().find('\n') != std::string::npos;
  if (!scenario.is_object() && !scenario.is_string())
    refuse_request("scenario", "scenario is neither a name, a path, YAML text nor an object", "");
  if (scenario.is_string() && !text)
    return read_job(resolve_scenario(path_of(scenario), roots), sets, roots, files);
  files.hold(kInline, text ? scenario.get<std::string>() : yaml_of(scenario));
  return read_job(kInline, sets, roots, files);
}

}  // namespace rehearse
