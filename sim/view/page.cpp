#include "sim/view/page.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/base/place_in_text.hpp"
#include "sim/base/text.hpp"

namespace rehearse {

using Json = nlohmann::ordered_json;

namespace {

std::string compact(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void join(std::string& text, std::string_view key, const std::vector<std::string>& parts) {
  text += ",\"" + std::string(key) + "\":[";
  for (size_t i = 0; i < parts.size(); ++i) text += (i ? "," : "") + parts[i];
  text += "]";
}

// The keys that the page reads, by the type that it reads them as.
void require_run(const Json& report) {
  for (const char* key : {"step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu",
                          "mfu", "hfu", "bubble_fraction"})
    (void)report.at(key).get<double>();
  (void)report.at("name").get<std::string>();
  for (auto part : kPartNames) (void)report.at("account_s").at(std::string(part)).get<double>();
  const Json& memory = report.at("memory");
  (void)memory.at("fits").get<bool>();
  for (const char* key : {"capacity_bytes", "peak_bytes"}) (void)memory.at(key).get<double>();
  for (const Json& stage : memory.at("stages")) {
    (void)stage.at("stage").get<int>();
    for (const char* part :
         {"weights", "gradients", "optimizer", "activations", "logits", "buffers", "framework"})
      (void)stage.at("parts").at(part).get<double>();
  }
  for (const Json& row : report.at("ledger")) {
    for (const char* key : {"axis", "what", "collective"}) (void)row.at(key).get<std::string>();
    for (const char* key : {"group_size", "ranks", "calls_per_step", "bytes_per_call", "bytes_sent_per_rank",
                            "closed_form_bytes_per_rank", "exposed_s", "memory_factor"})
      (void)row.at(key).get<double>();
  }
  (void)report.at("pipeline").at("peak_live").get<std::vector<int>>();
  (void)report.at("engine").at("name").get<std::string>();
  for (const char* list : {"constants", "tables", "warnings"})
    if (!report.at("provenance").at(list).is_array()) throw std::invalid_argument(list);
}

void require_sensitivity(const Json& result) {
  for (const Json& row : result.at("sensitivity")) {
    (void)row.at("knob").get<std::string>();
    if (row.contains("refused")) continue;
    for (const char* key : {"factor", "step_time_s"}) (void)row.at(key).get<double>();
  }
}

void require_score(const Json& result) {
  if (const Json& mean = result.at("mean_of_families"); !mean.is_null()) (void)mean.get<double>();
  for (const Json& row : result.at("families")) {
    (void)row.at("family").get<std::string>();
    for (const char* key : {"rows", "mape", "bias", "p90"}) (void)row.at(key).get<double>();
  }
}

[[noreturn]] void refuse(const std::string& source, Place place, const std::string& why) {
  throw InputErrors(InputError{std::move(place), "", "E-REPORT-JSON", quote(source) + " " + why,
                               "what run, sensitivity and score write with --json can be shown"});
}

Json column_json(const PageColumn& column) {
  Json json{{"name", column.name}};
  if (!column.texts.empty()) {
    std::map<std::string, int> index;
    Json values = Json::array(), at = Json::array();
    for (const auto& text : column.texts) {
      const auto [found, fresh] = index.try_emplace(text, int(index.size()));
      if (fresh) values.push_back(text);
      at.push_back(found->second);
    }
    json["values"] = values, json["at"] = at;
    return json;
  }
  Json numbers = Json::array();
  for (double x : column.numbers) {
    if (!std::isfinite(x)) {
      numbers.push_back(nullptr);
      continue;
    }
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", x);
    const double rounded = std::strtod(digits, nullptr);
    if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15)
      numbers.push_back(int64_t(rounded));
    else
      numbers.push_back(rounded);
  }
  json["numbers"] = numbers;
  return json;
}

}  // namespace

PagePart page_part(const std::string& source, const std::string& text) {
  const Place whole = place_in_text(source, text, 1);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    refuse(source, place_in_text(source, text, e.byte), "is no JSON object");
  } catch (const Json::exception&) {
    refuse(source, whole, "holds a number that is out of range");
  }
  if (!json.is_object()) refuse(source, whole, "is no JSON object");
  PagePart part;
  try {
    if (json.contains("sensitivity")) {
      part.kind = PagePart::Kind::sensitivity;
      require_sensitivity(json);
      Json kept{{"source", source}};
      kept.update(json);
      auto& rows = kept["sensitivity"];
      rows.erase(
          std::remove_if(rows.begin(), rows.end(), [](const Json& row) { return row.contains("refused"); }),
          rows.end());
      part.json = compact(kept);
    } else if (json.contains("families")) {
      part.kind = PagePart::Kind::score;
      require_score(json);
      part.json = compact({{"source", source},
                           {"families", json["families"]},
                           {"mean_of_families", json["mean_of_families"]}});
    } else {
      require_run(json);
      part.json = compact({{"source", source}, {"report", json}});
    }
  } catch (const std::exception& e) {
    refuse(source, whole, std::string("is not a result that can be shown: ") + e.what());
  }
  return part;
}

std::string page_sweep(const PageSweep& sweep) {
  Json settings = Json::array(), figures = Json::array();
  for (const auto& column : sweep.settings) settings.push_back(column_json(column));
  for (const auto& column : sweep.figures) figures.push_back(column_json(column));
  return compact({{"name", sweep.name},
                  {"source", sweep.source},
                  {"rows", sweep.verdict.size()},
                  {"capacity_bytes", sweep.capacity_bytes},
                  {"verdict", column_json({"verdict", sweep.verdict, {}})},
                  {"code", column_json({"code", sweep.code, {}})},
                  {"settings", settings},
                  {"figures", figures}});
}

std::string page_payload(const Page& page) {
  std::string text = "{\"page\":1,\"title\":" + compact(page.title) + ",\"version\":" + compact(page.version);
  join(text, "runs", page.runs);
  join(text, "sweeps", page.sweeps);
  join(text, "sensitivities", page.sensitivities);
  join(text, "scores", page.scores);
  text += "}";
  std::string safe;  // '<' stands in strings alone
  safe.reserve(text.size());
  for (char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string fill_page(std::string_view page, const std::string& payload) {
  constexpr std::string_view place = "@PAYLOAD@";
  const size_t at = page.find(place);
  if (at == std::string_view::npos) throw std::logic_error("page: the template has no " + std::string(place));
  return std::string(page.substr(0, at)) + payload + std::string(page.substr(at + place.size()));
}

}  // namespace rehearse
