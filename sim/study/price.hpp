// One point of a study, from settings to figures.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/account/report.hpp"
#include "sim/base/names.hpp"
#include "sim/engine/engine.hpp"
#include "sim/study/study.hpp"

namespace rehearse {

enum class Verdict : uint8_t {
  rejected,   // what the settings ask for is refused
  unfit,      // needs more memory than there is; priced for memory only
  simulated,  // and fits
  failed,     // the process that priced it died, or took too long
};
inline constexpr Named<Verdict> kVerdicts[] = {
    {"rejected", "refused with a code", Verdict::rejected},
    {"unfit", "does not fit in memory", Verdict::unfit},
    {"simulated", "fits, and its step was simulated", Verdict::simulated},
    {"failed", "its process died or took too long", Verdict::failed},
};

struct Outcome {
  Verdict verdict = Verdict::rejected;
  std::string code, message;    // rejected, failed: why; the first error of several
  std::vector<double> figures;  // one a row of figure_table(); NaN where not known (unfit: all but memory)
  std::vector<double> stage_peak_bytes;  // a pipeline stage each; rejected, failed: none
};

// Figures of a report by their path in its JSON: "step_time_s", "account_s.exposed_tp",
// "ledger.tp.bytes_sent_per_rank" (summed over the rows of an axis). SI units, fractions.
using Figure = double (*)(const Report&);
std::span<const Named<Figure>> figure_table();

// Prices points of one study. What their scenarios share (files, tables of the profile) is read once and
// kept.
class Pricer {
 public:
  Pricer(const Study& study, const DataRoots& roots, const Named<Engine>& engine);
  ~Pricer();
  // A function of the point alone: the same figures in whatever order, in whatever process. Throws nothing
  // that comes of the settings.
  Outcome price(const Point& point);
  // 32 hexadecimal digits over all that the outcome follows from: every file that the point reads, the
  // settings, the engine's name. The same for settings in the same order only.
  std::string digest(const Point& point);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rehearse
