#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "calibration/fit/fit.hpp"

namespace rehearse::calibration {
namespace {

constexpr double kSize = 480, kMargin = 56;
constexpr size_t kMostPoints = 3000;

std::string shown(double seconds) {
  return seconds >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} us", seconds * 1e6);
}

}  // namespace

std::string svg_of(const TableFit& fit) {
  double least = 1e300, most = 0;
  for (const auto& p : fit.points) {
    least = std::min({least, p.measured, p.fitted});
    most = std::max({most, p.measured, p.fitted});
  }
  if (fit.points.empty()) least = 1e-6, most = 1;
  const double low = std::floor(std::log10(least)), high = std::max(low + 1, std::ceil(std::log10(most)));
  const auto at = [&](double seconds) { return (std::log10(seconds) - low) / (high - low) * kSize; };
  std::string out;
  auto to = std::back_inserter(out);
  const double whole = kSize + 2 * kMargin;
  fmt::format_to(to,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"{0}\" height=\"{0}\" fill=\"white\"/>\n"
                 "<text x=\"{1}\" y=\"20\">{2} ({3}): {4} rows kept out, median {5:.2g} %, p90 {6:.2g} %, "
                 "p99 {7:.2g} %</text>\n",
                 whole, kMargin, fit.label, fit.file, fit.held_out.n, 100 * fit.held_out.median,
                 100 * fit.held_out.p90, 100 * fit.held_out.p99);
  fmt::format_to(to, "<g transform=\"translate({0},{1}) scale(1,-1)\" fill=\"none\" stroke=\"#ccc\">\n",
                 kMargin, kMargin + kSize);
  for (int decade = int(low); decade <= int(high); ++decade)
    fmt::format_to(to, "<path d=\"M{0:.1f} 0V{1} M0 {0:.1f}H{1}\"/>\n", at(std::pow(10, decade)), kSize);
  fmt::format_to(to, "<path d=\"M0 0L{0} {0}\" stroke=\"#888\"/>\n</g>\n", kSize);
  for (int decade = int(low); decade <= int(high); ++decade)
    fmt::format_to(to,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n<text x=\"{:.1f}\" "
                   "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   kMargin + at(std::pow(10, decade)), kMargin + kSize + 16, shown(std::pow(10, decade)),
                   kMargin - 4, kMargin + kSize - at(std::pow(10, decade)) + 4, shown(std::pow(10, decade)));
  fmt::format_to(to,
                 "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured; upwards: fitted without "
                 "it</text>\n<g fill=\"#1f6fb4\" fill-opacity=\"0.5\">\n",
                 whole / 2, whole - 8);
  const size_t step = fit.points.size() / kMostPoints + 1;
  for (size_t i = 0; i < fit.points.size(); i += step)
    fmt::format_to(to, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.5\"/>\n",
                   kMargin + at(fit.points[i].measured), kMargin + kSize - at(fit.points[i].fitted));
  return out + "</g>\n</svg>\n";
}

}  // namespace rehearse::calibration
