// rehearse batch: JSON lines in, JSON lines out, for other programs that drive this one.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/base/text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_line(const std::string& key, const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, key, "E-BATCH-LINE", message, hint});
}

std::vector<std::string> sets_of(const Json& request) {
  std::vector<std::string> sets;
  if (!request.contains("set")) return sets;
  const std::string hint = R"(as in "set": ["layout.tp=4"])";
  if (!request["set"].is_array()) refuse_line("set", "set is no list of KEY.PATH=VALUE", hint);
  for (const auto& set : request["set"]) {
    if (!set.is_string())
      refuse_line("set", "set holds " + set.dump() + ", which is no KEY.PATH=VALUE", hint);
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
      refuse_line(printable(parsed.get<std::string>()),
                  "the key " + quote(parsed.get<std::string>()) + " stands twice in one object",
                  "leave one of them out");
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

Json parse(const std::string& line) {
  if (too_deep(line)) refuse_line("", "this is nested more than 64 levels deep", "one object a line");
  Json request;
  try {
    request = Json::parse(line, OnceEachKey());
  } catch (const Json::exception& e) {
    refuse_line("", printable(std::string("this is no JSON: ") + e.what()), "one object a line");
  }
  if (!request.is_object())
    refuse_line("", "a request is an object", R"({"id": 1, "scenario": "7b-8xa100-dp"})");
  return request;
}

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

// False at the end of the requests.
bool next_line(std::string& line) {
  constexpr size_t kLongest = size_t{64} << 20;
  line.clear();
  for (int c = 0; (c = std::getchar()) != EOF && c != '\n';) {
    if (line.size() == kLongest)
      refuse_line("", "a line is longer than 64 MiB", "one object a line; a long scenario has a file");
    line += static_cast<char>(c);
  }
  return !line.empty() || std::feof(stdin) == 0;
}

class Batch {
 public:
  Batch(const StepOptions& engine, const DataRoots& roots) : engine_(engine), roots_(roots) {}

  // The answer to one line.
  Json answer(const std::string& line) {
    Json answer{{"id", nullptr}};
    try {
      const Json request = parse(line);
      if (request.contains("id")) answer["id"] = request["id"];
      check_keys(request);
      const auto sets = sets_of(request);
      const Plan plan = load(request["scenario"], sets);
      const auto began = std::chrono::steady_clock::now();
      Step step = simulate(plan, engine_);
      step.report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      answer.update(Json::parse(to_json(step.report, plan.scenario)));
    } catch (const InputErrors& found) {
      for (const auto& e : found.errors)
        answer["error"].push_back({{"code", e.code},
                                   {"message", e.message},
                                   {"key", e.key_path},
                                   {"file", e.place.file},
                                   {"line", e.place.line},
                                   {"column", e.place.column},
                                   {"hint", e.hint}});
    } catch (const std::exception& e) {
      answer["error"].push_back({{"code", "E-POINT-INTERNAL"}, {"message", e.what()}});
    }
    return answer;
  }

 private:
  Plan load(const Json& scenario, const std::vector<std::string>& sets) {
    static constexpr const char* kInline = "<request>";
    const bool text = scenario.is_string() && scenario.get<std::string>().find('\n') != std::string::npos;
    if (!scenario.is_object() && !scenario.is_string())
      refuse_line("scenario", "scenario is neither a name, a path, YAML text nor an object", "");
    if (scenario.is_string() && !text)
      return resolve(read_job(resolve_scenario(path_of(scenario), roots_), sets, roots_, files_));
    files_.hold(kInline, text ? scenario.get<std::string>() : yaml_of(scenario));
    return resolve(read_job(kInline, sets, roots_, files_));
  }
  static std::string path_of(const Json& scenario) {
    const auto path = scenario.get<std::string>();
    if (path == "-") refuse_line("scenario", "standard input holds the requests", "");
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (std::any_of(path.begin(), path.end(), control))
      refuse_line("scenario", "scenario holds a control character, which no path has", "");
    return path;
  }

  StepOptions engine_;
  const DataRoots& roots_;
  ScenarioFiles files_;
};

}  // namespace

int command_batch(const Invocation& invocation, std::ostream& out) {
  EngineOptions engine;
  boost::program_options::options_description options("batch");
  add_engine_options(options, engine);
  const CommandHelp help{
      "batch", "",
      "Answers requests of one JSON object a line: {\"id\": ..., \"scenario\": a name, path, YAML text or "
      "object,\n"
      "\"set\": [\"KEY.PATH=VALUE\", ...]} with one line each, in order: the JSON of rehearse run with the "
      "id, or\n"
      "{\"id\": ..., \"error\": [{code, message, key, file, line, column, hint}]}. A file is read once.",
      0, 0};
  if (!parse_words(invocation.words, help, options, out)) return kDone;
  Batch batch(step_options(engine), invocation.roots);
  for (std::string line; next_line(line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = batch.answer(line).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    // At once: a client may wait for it before it asks more.
    write_stdout(answer);
  }
  return kDone;
}

}  // namespace rehearse
