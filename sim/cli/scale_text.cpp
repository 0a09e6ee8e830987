#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/text.hpp"
#include "sim/cli/scale.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

std::string recompute_text(const Recompute& recompute) {
  if (recompute.full_layers >= 0) return fmt::format("full of {} layers", recompute.full_layers);
  switch (recompute.kind) {
    case RecomputeKind::none:
      return "none";
    case RecomputeKind::selective:
      return "selective";
    case RecomputeKind::full:
      return "full";
  }
  return "";
}

std::string layout_text(const Scenario& s) {
  const LayoutSpec& l = s.layout;
  std::string text = fmt::format("tp {} pp {} dp {}", l.tp, l.pp, l.dp);
  if (l.cp > 1) text += fmt::format(" cp {}", l.cp);
  if (l.ep > 1) text += fmt::format(" ep {}", l.ep);
  if (l.pp > 1) text += " " + printable(s.schedule);
  if (l.chunks > 1) text += fmt::format(" x{}", l.chunks);
  text += fmt::format(" micro {}, recompute {}", s.batch.micro, recompute_text(s.recompute));
  if (l.zero > 0) text += fmt::format(", zero {}", l.zero);
  if (l.sequence_parallel) text += ", sp";
  return text;
}

std::string row_text(const ScaleResult& r) {
  if (!r.best) return fmt::format("{:>7}  {} [{}]\n", r.gpus, printable(r.why), r.code);
  const Candidate& c = *r.best;
  return fmt::format(
      "{:>7} {:>7} {:>9.3f} s {:>11.0f} {:>8.1f} {:>5.1f} % {:>5.1f} % {:>6.1f} % {:>6.1f} %  {}\n", r.gpus,
      r.scenario.batch.global, c.step_time_s, c.tokens_per_s, c.tokens_per_s_per_gpu, 100 * c.mfu,
      100 * r.efficiency, 100 * r.exposed, 100 * r.bubble, layout_text(r.scenario));
}

Json layout_json(const Scenario& s) {
  const LayoutSpec& l = s.layout;
  return {{"tp", l.tp},
          {"cp", l.cp},
          {"pp", l.pp},
          {"ep", l.ep},
          {"dp", l.dp},
          {"chunks", l.chunks},
          {"zero", l.zero},
          {"sequence_parallel", l.sequence_parallel},
          {"schedule", s.schedule},
          {"micro", s.batch.micro},
          {"recompute", recompute_text(s.recompute)}};
}

Json result_json(const ScaleResult& r) {
  Json json{{"scaling", r.weak ? "weak" : "strong"},
            {"gpus", r.gpus},
            {"points", r.points},
            {"rejected", r.rejected},
            {"unfit", r.unfit},
            {"simulated", r.simulated}};
  if (!r.best) {
    json.update({{"code", r.code}, {"message", r.why}});
    return json;
  }
  const Candidate& c = *r.best;
  json.update({{"batch", r.scenario.batch.global},
               {"step_time_s", c.step_time_s},
               {"tokens_per_s", c.tokens_per_s},
               {"tokens_per_s_per_gpu", c.tokens_per_s_per_gpu},
               {"mfu", c.mfu},
               {"efficiency", r.efficiency},
               {"exposed_fraction", r.exposed},
               {"bubble_fraction", r.bubble},
               {"peak_bytes", c.peak_bytes},
               {"layout", layout_json(r.scenario)},
               {"settings", r.settings}});
  return json;
}

}  // namespace

std::string scale_table(const std::string& name, const std::vector<ScaleResult>& results) {
  std::string text = printable(name) + "\n";
  for (const bool weak : {false, true}) {
    const bool any =
        std::any_of(results.begin(), results.end(), [&](const auto& r) { return r.weak == weak; });
    if (!any) continue;
    text +=
        weak ? "\nweak scaling: the batch in proportion to the GPUs\n" : "\nstrong scaling: the same batch\n";
    text += fmt::format("{:>7} {:>7} {:>11} {:>11} {:>8} {:>7} {:>7} {:>8} {:>8}  layout\n", "GPUs", "batch",
                        "step", "tokens/s", "a GPU", "MFU", "effic.", "exposed", "bubble");
    for (const auto& r : results)
      if (r.weak == weak) text += row_text(r);
  }
  return text;
}

std::string scale_json(const std::string& name, const std::vector<ScaleResult>& results) {
  Json json{{"schema", 1}, {"name", name}, {"scale", Json::array()}};
  for (const auto& r : results) json["scale"].push_back(result_json(r));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rehearse
