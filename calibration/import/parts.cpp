#include "calibration/import/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration::importing {

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({line, ++number});
    at = end + 1;
  }
  return lines;
}

void refuse(const std::string& file, const Line& line, int column, std::string code, std::string message,
            std::string hint) {
  throw InputErrors({{shown_path(file), line.number, column, printable(line.text.substr(0, 200))},
                     "",
                     std::move(code),
                     std::move(message),
                     std::move(hint)});
}

bool read_number(std::string_view text, double& out) {
  if (text.empty() || text.find_first_not_of("0123456789.e+-E") != std::string_view::npos) return false;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && stop == text.data() + text.size() && std::isfinite(out) && out >= 0;
}

bool is_count(double value) { return value == std::floor(value) && value <= 9007199254740992.0; }

Environment environment_of(const std::string& file, const ImportOptions& options) {
  Environment e;
  e.backend = "import";
  e.device = options.gpu;
  e.driver = options.driver;
  e.toolkit = options.toolkit;
  e.collectives_library = options.library;
  e.topology = options.topology;
  e.command = "import " + std::filesystem::path(file).filename().string();
  e.source = options.source.empty() ? std::filesystem::path(file).filename().string() : options.source;
  e.licence = options.licence;
  e.caveats = options.caveats;
  e.limits = options.limits;
  e.network = options.network;
  e.node_network_bytes_per_s = options.node_network_bytes_per_s;
  e.network_latency_s = options.network_latency_s;
  return e;
}

}  // namespace rehearse::calibration::importing
