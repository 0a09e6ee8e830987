// Writes pages of made-up results for the browser test, and what the test must find in them beside them.
// usage: make_page KIND OUT.html   KIND: sweep (20,000 layouts), hostile (names that try to be markup)
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <random>
#include <string>

#include "sim/view/page.hpp"
#include "tests/support/skip.hpp"

namespace {

using rehearse::Page;
using rehearse::PageSweep;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kRows = 20'000;

struct Made {  // a layout and its figures out of thin air, plausible enough to look at
  int tp, pp, micro, chunks, zero;
  const char *recompute, *schedule;
  double step, peak, parts[rehearse::kParts];
};

Made make(int row, std::mt19937& random) {
  const auto noise = [&] { return double(random() % 1'000'000) / 1e6; };
  static const char* const recompute[] = {"none", "selective", "full"};
  static const char* const schedule[] = {"1f1b", "interleaved", "zb-h1", "gpipe"};
  Made m{.tp = 1 << row % 4, .pp = 1 << row / 4 % 6, .micro = 1 << row / 24 % 4, .chunks = 1 + row / 96 % 4};
  m.zero = row / 384 % 2;
  m.recompute = recompute[row / 768 % 3];
  m.schedule = schedule[row / 2304 % 4];
  const double again = row / 768 % 3 == 2 ? 1.3 : 1.02;
  const double compute = 18 / (1 + 0.08 * std::log2(m.micro)) * (1 + 0.1 * noise());
  const double values[rehearse::kParts] = {compute,
                                           compute * (again - 1),
                                           0.6 * m.tp * (0.7 + noise()),
                                           0,
                                           0,
                                           0.1 * m.pp * noise() * m.chunks,
                                           3.0 / m.pp * noise(),
                                           compute * (m.pp - 1) / (48.0 * m.chunks) * m.micro,
                                           0.1,
                                           0.02};
  for (int i = 0; i < rehearse::kParts; ++i) m.step += m.parts[i] = values[i];
  m.peak =
      (4 + 2200.0 / (m.tp * m.pp) / (m.zero ? 3 : 1) + 30.0 * m.micro / again / m.tp + 2 * noise()) * 1.074e9;
  return m;
}

PageSweep sweep() {
  PageSweep s{
      .name = "synthetic", .source = "made up for a test, not simulated", .capacity_bytes = 80 * 1.074e9};
  const std::vector<std::string> settings = {"layout.tp",   "layout.pp", "batch.micro", "layout.chunks",
                                             "layout.zero", "recompute", "schedule",    "model"};
  for (const auto& name : settings) s.settings.push_back({name, {}, {}});
  std::vector<std::string> figures = {"step_time_s", "tokens_per_s",    "tokens_per_s_per_gpu", "mfu",
                                      "hfu",         "bubble_fraction", "memory.peak_bytes"};
  for (auto part : rehearse::kPartNames) figures.push_back("account_s." + std::string(part));
  for (const char* axis : {"tp", "cp", "pp", "ep", "dp"})
    for (const char* figure : {"bytes_sent_per_rank", "calls_per_step", "exposed_s", "busy_s"})
      figures.push_back("ledger." + std::string(axis) + "." + figure);
  for (const auto& name : figures) s.figures.push_back({name, {}, {}});

  std::mt19937 random(7);
  for (int row = 0; row < kRows; ++row) {
    const Made m = make(row, random);
    const bool rejected = m.schedule == std::string("interleaved") && m.chunks == 1;
    const bool unfit = !rejected && m.peak > s.capacity_bytes;
    const std::string texts[] = {std::to_string(m.tp),
                                 std::to_string(m.pp),
                                 std::to_string(m.micro),
                                 std::to_string(m.chunks),
                                 std::to_string(m.zero),
                                 m.recompute,
                                 m.schedule,
                                 "gpt3-175b"};
    for (size_t i = 0; i < std::size(texts); ++i) s.settings[i].texts.push_back(texts[i]);
    std::vector<double> numbers = {m.step,      3e6 / m.step,        3e3 / m.step, 10 / m.step,
                                   12 / m.step, m.parts[7] / m.step, m.peak};
    for (double part : m.parts) numbers.push_back(part);
    while (numbers.size() < figures.size()) numbers.push_back(m.step * 1e9 * double(numbers.size()) / m.tp);
    for (size_t i = 0; i < numbers.size(); ++i)
      s.figures[i].numbers.push_back(rejected || (unfit && i != 6) ? kNone : numbers[i]);
    s.verdict.emplace_back(rejected ? "rejected" : unfit ? "unfit" : "simulated");
    s.code.emplace_back(rejected ? "E-SCHEDULE-CHUNKS" : "");
  }
  return s;
}

const std::string kHostile =
    "</script><script>document.title='taken'</script>\"'&<img src=x onerror=alert(1)> \xe6\xad\xa9 {a|b}";

PageSweep hostile() {
  return {.name = kHostile,
          .source = kHostile,
          .verdict = {"simulated", "rejected"},
          .code = {"", kHostile},
          .settings = {{kHostile, {kHostile, "plain"}, {}}},
          .figures = {{"step_time_s", {}, {1.5, kNone}}, {"memory.peak_bytes", {}, {2e9, kNone}}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_page sweep|hostile OUT.html\n";
    return 2;
  }
  if (rehearse::page_template().empty()) {
    std::cout << rehearse::test::no_page() << '\n';
    return 77;
  }
  const bool big = std::string(argv[1]) == "sweep";
  const Page page{.title = big ? "" : kHostile,
                  .version = "test",
                  .sweeps = {rehearse::page_sweep(big ? sweep() : hostile())}};
  std::ofstream(argv[2], std::ios::binary)
      << rehearse::fill_page(rehearse::page_template(), rehearse::page_payload(page));
  return 0;
}
