// A JSON object read key by key: every key must be read, every value must be of its kind.
#pragma once
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

#include "sim/base/names.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {

// What a value should have been; the reader of the line adds the place.
class JsonProblem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object.is_object()) throw JsonProblem(name_ + " must be an object");
  }

  const nlohmann::json* find(const std::string& key) {
    seen_.insert(key);
    const auto at = object_.find(key);
    return at == object_.end() ? nullptr : &*at;
  }
  const nlohmann::json& require(const std::string& key) {
    const auto* value = find(key);
    if (!value) throw JsonProblem(name_ + " has no " + quote(key));
    return *value;
  }

  std::string text(const std::string& key) { return text_of(require(key), key); }
  std::string text(const std::string& key, const std::string& fallback) {
    const auto* value = find(key);
    return value ? text_of(*value, key) : fallback;
  }
  // From `least` up.
  double number(const std::string& key, double least) { return number_of(require(key), key, least); }
  double number(const std::string& key, double least, double fallback) {
    const auto* value = find(key);
    return value ? number_of(*value, key, least) : fallback;
  }
  // Whole, from `least` to 2^53.
  double count(const std::string& key, double least) { return whole(number(key, least), key); }
  double count(const std::string& key, double least, double fallback) {
    return whole(number(key, least, fallback), key);
  }
  int integer(const std::string& key, int least, int fallback) {
    const double value = count(key, least, fallback);
    if (value > 1 << 30) throw JsonProblem(name_ + "." + key + " is too large");
    return static_cast<int>(value);
  }
  bool flag(const std::string& key, bool fallback) {
    const auto* value = find(key);
    if (!value) return fallback;
    if (!value->is_boolean()) throw JsonProblem(name_ + "." + key + " must be true or false");
    return value->get<bool>();
  }
  template <class T, size_t N>
  T word(const std::string& key, const Named<T> (&table)[N]) {
    const std::string name = text(key);
    if (const auto* row = find_named(table, name)) return row->value;
    throw JsonProblem(name_ + "." + key + " cannot be " + quote(name));
  }
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!seen_.count(key)) throw JsonProblem(name_ + " has an unknown key " + quote(key));
  }

 private:
  std::string text_of(const nlohmann::json& value, const std::string& key) const {
    if (!value.is_string()) throw JsonProblem(name_ + "." + key + " must be a string");
    return value.get<std::string>();
  }
  double number_of(const nlohmann::json& value, const std::string& key, double least) const {
    if (!value.is_number()) throw JsonProblem(name_ + "." + key + " must be a number");
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < least)
      throw JsonProblem(name_ + "." + key + " must be at least " + std::to_string(least));
    return number;
  }
  double whole(double value, const std::string& key) const {
    if (value != std::floor(value) || value > 9007199254740992.0)
      throw JsonProblem(name_ + "." + key + " must be a whole number");
    return value;
  }

  const nlohmann::json& object_;
  std::string name_;
  std::set<std::string> seen_;
};

}  // namespace rehearse::calibration
