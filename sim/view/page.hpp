// Results as one self-contained HTML page: values -> payload (JSON) -> page. The page itself is made at build
// time from sim/view/page/ and embedded in the program.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/account/report.hpp"

namespace rehearse {

// One action or task of a stage, or one transfer that it took part in.
struct PageSpan {
  char kind = ' ';  // F B I W; O for what else ran: the optimizer, gathers
  int name = 0;     // index into PageTimeline::names
  int chunk = -1, micro = -1;
  double start_s = 0, end_s = 0;
};
struct PageStage {
  std::vector<PageSpan> runs, transfers;  // in order of start; a transfer has kind t, c, p, e or d, its axis
};
// The step as the stages of the first replica saw it.
struct PageTimeline {
  std::vector<std::string> names;
  std::vector<PageStage> stages;
  int64_t transfers_left_out = 0;  // all, where they are more than a page should hold
};
PageTimeline page_timeline(const TaskGraph& graph, const Timeline& timeline, const Schedule& schedule);

// What a run was asked for, in words: {"model", "gpt3-175b (174.6 B parameters)"} ...
std::vector<std::pair<std::string, std::string>> page_setup(const Scenario& scenario, int ranks);

// Parts of a payload as JSON. `source` is the name on the command line.
std::string page_run(const std::string& source, const std::string& scenario_text,
                     const std::vector<std::string>& sets, const Scenario& scenario, const Report& report,
                     const PageTimeline& timeline);

// A result that was kept as JSON, told by its keys; throws InputErrors (E-REPORT-JSON) where the page could
// not show it.
struct PagePart {
  enum class Kind { run, sensitivity, score } kind = Kind::run;
  std::string json;
};
PagePart page_part(const std::string& source, const std::string& text);

// A column of a table of layouts. One of the lists is filled, a row each.
struct PageColumn {
  std::string name;  // key of the scenario, or path of a figure in the report's JSON
  std::vector<std::string> texts;
  std::vector<double> numbers;  // NaN where not known
};
struct PageSweep {
  std::string name, source;
  double capacity_bytes = 0;         // of a GPU, 0 where not known
  std::vector<std::string> verdict;  // a row each
  std::vector<std::string> code;     // why rejected or failed
  std::vector<PageColumn> settings, figures;
};
// Six significant digits; columns with few different values as an index into them.
std::string page_sweep(const PageSweep& sweep);

struct Page {
  std::string title, version;
  std::vector<std::string> runs, sweeps, sensitivities, scores;  // parts
};
// The payload, free of '<' so that it can stand in a script element.
std::string page_payload(const Page& page);

// The page as built, empty where this build has none.
std::string_view page_template();
// Throws std::logic_error where the template has no place for a payload.
std::string fill_page(std::string_view page, const std::string& payload);

}  // namespace rehearse
