#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sim/account/constants.hpp"
#include "sim/account/names.hpp"
#include "sim/plan/model_math.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

using Json = nlohmann::ordered_json;

namespace {

// Names the first number that JSON cannot hold; nlohmann would write null for it.
void refuse_non_finite(const Json& node, const std::string& path) {
  if (node.is_number_float() && !std::isfinite(node.get<double>()))
    throw std::logic_error("report: " + path + " is not a finite number");
  const std::string below = path.empty() ? "" : path + ".";
  if (node.is_object())
    for (const auto& [key, value] : node.items()) refuse_non_finite(value, below + key);
  if (node.is_array())
    for (size_t i = 0; i < node.size(); ++i) refuse_non_finite(node[i], path + "[" + std::to_string(i) + "]");
}

std::string print(const Json& node) {
  refuse_non_finite(node, "");
  return node.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json account_json(const Report& r) {
  Json j = Json::object();
  for (int part = 0; part < kParts; ++part) j[std::string(kPartNames[part])] = r.account[part];
  j["total"] = r.step_time_s;
  return j;
}

Json rests_on_json(const Report& r) {
  Json j = Json::object();
  for (const auto& basis : kBasisNames) j[std::string(basis.name)] = r.rests_on.by_basis[size_t(basis.value)];
  j["bubble"] = r.account[size_t(Part::bubble)];
  j["outside"] = r.rests_on.outside;
  return j;
}

Json pipeline_json(const PipelineFigures& p) {
  Json json{{"makespan_s", p.makespan_s},
            {"bubble_fraction", p.bubble_fraction},
            {"idle_over_ideal", p.idle_over_ideal},
            {"peak_live", p.peak_live}};
  if (!p.note.empty()) json["note"] = p.note;
  return json;
}

Json memory_json(const MemoryReport& m) {
  Json stages = Json::array();
  for (const auto& s : m.stages)
    stages.push_back({{"stage", s.stage.value},
                      {"peak_bytes", s.peak.total()},
                      {"parts",
                       {{"weights", s.peak.weights},
                        {"gradients", s.peak.gradients},
                        {"optimizer", s.peak.optimizer},
                        {"activations", s.peak.activations},
                        {"logits", s.peak.logits},
                        {"buffers", s.peak.buffers},
                        {"framework", s.peak.framework}}},
                      {"peak_time_s", s.peak_time_s}});
  return {{"fits", m.fits},
          {"capacity_bytes", m.capacity_bytes},
          {"peak_bytes", m.peak_bytes},
          {"stages", stages}};
}

Json runs_as_json(const std::vector<CallsAlike>& ways) {
  Json list = Json::array();
  for (const auto& w : ways)
    list.push_back({{"algorithm", name_of(w.algorithm)},
                    {"protocol", name_of(w.protocol)},
                    {"calls_per_step", w.calls_per_step},
                    {"basis", basis_name(w.basis)},
                    {"outside", w.outside}});
  return list;
}

Json ledger_json(const std::vector<LedgerRow>& rows) {
  Json list = Json::array();
  for (const auto& r : rows)
    list.push_back({{"axis", axis_name(r.axis)},
                    {"what", r.what},
                    {"collective", collective_name(r.collective)},
                    {"group_size", r.group_size},
                    {"ranks", r.ranks},
                    {"calls_per_step", r.calls_per_step},
                    {"bytes_per_call", r.bytes_per_call},
                    {"bytes_sent_per_rank", r.bytes_sent_per_rank},
                    {"closed_form_bytes_per_rank", r.closed_form_bytes_per_rank},
                    {"exposed_s", r.exposed_s},
                    {"memory_factor", r.memory_factor},
                    {"busy_s", r.busy_s},
                    {"runs_as", runs_as_json(r.runs_as)}});
  return list;
}

Json engine_json(const Report& r) {
  Json j = {{"name", r.engine},           {"ranks", r.ranks},   {"simulated_ranks", r.simulated_ranks},
            {"tasks", r.tasks},           {"events", r.events}, {"flows", r.flows},
            {"link_flows", r.link_flows}, {"wall_s", r.wall_s}};
  if (!r.fold_note.empty()) j["fold_note"] = r.fold_note;
  return j;
}

Json critical_json(const std::vector<CriticalStep>& path) {
  Json list = Json::array();
  for (const auto& s : path)
    list.push_back({{"what", s.what}, {"seconds", s.seconds}, {"count", s.count}, {"slowed_s", s.slowed_s}});
  return list;
}

Json links_json(const Report& r) {
  Json classes = Json::array(), most = Json::array();
  for (const auto& c : r.link_classes)
    classes.push_back({{"class", c.link_class},
                       {"links", c.links},
                       {"used", c.used},
                       {"capacity_bytes_per_s", c.capacity_bytes_per_s},
                       {"mean_bytes", c.mean_bytes},
                       {"largest_bytes", c.largest_bytes},
                       {"busy_share", c.busy_share},
                       {"mean_share", c.mean_share},
                       {"peak_share", c.peak_share ? Json(*c.peak_share) : Json()}});
  for (const auto& l : r.most_loaded) {
    Json traffic = Json::array();
    for (const auto& t : l.traffic)
      traffic.push_back(
          {{"axis", axis_name(t.axis)}, {"what", t.what}, {"group_size", t.group_size}, {"bytes", t.bytes}});
    most.push_back({{"link", l.link},
                    {"class", l.link_class},
                    {"links", l.links},
                    {"capacity_bytes_per_s", l.capacity_bytes_per_s},
                    {"bytes", l.bytes},
                    {"busy_s", l.busy_s},
                    {"mean_share", l.mean_share},
                    {"peak_share", l.peak_share ? Json(*l.peak_share) : Json()},
                    {"traffic", traffic}});
  }
  return {{"classes", classes}, {"most_loaded", most}};
}

Json provenance_json(const Report& r, const Scenario& s) {
  Json constants = Json::array(), tables = Json::array(), warnings = Json::array();
  for (const auto& c : constants_of(s))
    constants.push_back(
        {{"name", c.name}, {"value", c.value}, {"basis", basis_name(c.basis)}, {"source", c.source}});
  for (const auto& t : tables_of(*s.profile))
    tables.push_back({{"what", t.what},
                      {"tables", t.tables},
                      {"rows", t.rows},
                      {"basis", basis_name(t.basis)},
                      {"source", t.source},
                      {"licence", t.licence}});
  for (const auto& w : r.warnings) warnings.push_back({{"code", w.code}, {"message", w.message}});
  return {{"profile", s.profile->name},
          {"profile_file", s.profile->file},
          {"digest", s.profile->digest},
          {"stack", s.stack.name},
          {"scenario", s.file},
          {"constants", constants},
          {"tables", tables},
          {"warnings", warnings}};
}

}  // namespace

std::string to_json(const Report& r, const Scenario& s) {
  return print({{"schema", 1},
                {"name", r.name},
                {"step_time_s", r.step_time_s},
                {"tokens_per_s", r.tokens_per_s},
                {"tokens_per_s_per_gpu", r.tokens_per_s_per_gpu},
                {"model_tflops_per_gpu", r.model_tflops_per_gpu},
                {"mfu", r.mfu},
                {"hfu", r.hfu},
                {"bubble_fraction", r.bubble_fraction},
                {"account_s", account_json(r)},
                {"rests_on_s", rests_on_json(r)},
                {"pipeline", pipeline_json(r.pipeline)},
                {"memory", memory_json(r.memory)},
                {"ledger", ledger_json(r.ledger)},
                {"critical_path", critical_json(r.critical)},
                {"links", links_json(r)},
                {"engine", engine_json(r)},
                {"provenance", provenance_json(r, s)}});
}

std::string to_ledger_json(const Report& r, const Scenario& s, const std::vector<Saying>& list) {
  Json said = Json::array();
  for (const auto& x : list)
    said.push_back(
        {{"saying", x.saying}, {"verdict", x.verdict}, {"value", x.value}, {"unit", x.unit}, {"why", x.why}});
  return print({{"parameters", total_parameters(s.model, padded_vocab(s.model, s.layout.tp))},
                {"bytes_per_parameter", bytes_per_parameter(s)},
                {"ledger", ledger_json(r.ledger)},
                {"sayings", said}});
}

}  // namespace rehearse
