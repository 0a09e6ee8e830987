#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/place_in_text.hpp"
#include "sim/base/text.hpp"
#include "sim/study/best.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_score(Place place, const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{std::move(place), "", "E-SCORE-FILE", message, hint});
}

const char* const kNoScore = "this is not what rehearse score --json writes";
const char* const kMakesOne = "rehearse score TRUTH --json FILE makes one";

Json parsed(const std::string& file, const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    refuse_score(place_in_text(file, text, e.byte), kNoScore, kMakesOne);
  } catch (const Json::exception&) {
    refuse_score(place_in_text(file, text, 1), kNoScore, kMakesOne);
  }
}

// An error that rows stand behind.
std::optional<double> mape_of(const Json& family) {
  const auto rows = family.find("rows"), mape = family.find("mape");
  if (rows == family.end() || mape == family.end() || !rows->is_number() || !mape->is_number()) return {};
  const double value = mape->get<double>();
  return rows->get<double>() > 0 && value >= 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

KnownError read_known_error(const std::string& file, const std::string& text, const std::string& family) {
  const Json json = parsed(file, text);
  const Place whole = place_in_text(file, text, 1);
  if (!json.is_object() || !json.contains("families") || !json["families"].is_array() ||
      !json.contains("mean_of_families") || !json["mean_of_families"].is_number())
    refuse_score(whole, kNoScore, kMakesOne);
  std::vector<std::string> names;
  for (const Json& row : json["families"]) {
    if (!row.is_object() || !row.contains("family") || !row["family"].is_string())
      refuse_score(whole, kNoScore, kMakesOne);
    const auto mape = mape_of(row);
    if (!mape) continue;
    names.push_back(row["family"].get<std::string>());
    if (names.back() == family) return {*mape, printable(file) + ", family " + printable(family)};
  }
  if (names.empty())
    refuse_score(whole, "the score has no family with rows, so no error is known", kMakesOne);
  if (!family.empty()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    refuse_score(whole, "the score has no rows of a family " + quote(family), suggest(family, known));
  }
  return {json["mean_of_families"].get<double>(), printable(file) + ", mean of families"};
}

}  // namespace rehearse
