// rehearse check: reads, cross-checks, prints the plan.
#include <fmt/format.h>

#include <boost/program_options/options_description.hpp>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.hpp"
#include "sim/plan/layout.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

struct AxisPlan {
  Axis axis;
  std::string name;
  int size, groups;
  GroupShape shape;  // of the group of rank 0
};

std::vector<AxisPlan> axes_of(const Scenario& s, const ParallelLayout& layout, const Fabric& fabric) {
  std::vector<AxisPlan> axes;
  for (const Axis axis : s.layout.order) {
    const int size = layout.size(axis);
    if (size == 1) continue;
    axes.push_back({axis, std::string(name_of(kAxisNames, axis)), size, layout.ranks() / size,
                    shape_of(layout.group(RankId(0), axis), layout, fabric)});
  }
  return axes;
}

Json to_json(const Plan& plan, const std::vector<AxisPlan>& axes, const std::vector<ChunkPlan>& chunks) {
  const Scenario& s = plan.scenario;
  Json json{{"schema", 1}, {"name", s.name}, {"ranks", s.cluster.gpus()}, {"nodes", s.cluster.nodes}};
  json["groups"] = Json::array();
  for (const auto& a : axes)
    json["groups"].push_back({{"axis", a.name},
                              {"size", a.size},
                              {"groups", a.groups},
                              {"nodes", a.shape.nodes},
                              {"per_node", a.shape.per_node}});
  json["nvlink"] = {{"bytes_per_s", s.cluster.nvlink.value}, {"of_profile", s.cluster.nvlink_of_profile}};
  json["micro_batches"] = s.micro_batches();
  json["schedule"] = s.schedule;
  if (!plan.schedule.note.empty()) json["schedule_note"] = plan.schedule.note;
  json["chunks"] = Json::array();
  for (const auto& c : chunks)
    json["chunks"].push_back({{"chunk", c.chunk.value},
                              {"stage", c.stage.value},
                              {"first_layer", c.first_layer},
                              {"layers", c.layers},
                              {"recomputed_layers", c.recomputed_layers},
                              {"embedding", c.embedding},
                              {"head", c.head}});
  json["profile"] = s.profile->name;
  json["stack"] = s.stack.name;
  json["warnings"] = Json::array();
  for (const auto& w : s.warnings) json["warnings"].push_back({{"code", w.code}, {"message", w.message}});
  return json;
}

std::string to_table(const Plan& plan, const std::vector<AxisPlan>& axes,
                     const std::vector<ChunkPlan>& chunks) {
  const Scenario& s = plan.scenario;
  std::string text = fmt::format("{}\n", s.name);
  text += fmt::format("  ranks          {} on {} node{} x {} GPU{} ({})\n", s.cluster.gpus(), s.cluster.nodes,
                      s.cluster.nodes == 1 ? "" : "s", s.cluster.gpus_per_node,
                      s.cluster.gpus_per_node == 1 ? "" : "s", s.cluster.gpu);
  text += fmt::format("  NVLink         {:g} GB/s a GPU and direction{}\n", s.cluster.nvlink.value / 1e9,
                      s.cluster.nvlink_of_profile ? ", the profile's: the topology gives none" : "");
  for (const auto& a : axes)
    text +=
        fmt::format("  {:<14} {} ranks a group, {} groups; rank 0's lies on {} node{}, {} a node\n", a.name,
                    a.size, a.groups, a.shape.nodes, a.shape.nodes == 1 ? "" : "s", a.shape.per_node);
  text += fmt::format(
      "  batch          {} sequences of {} tokens = {} micro-batches of {} on each of {} replicas\n",
      s.batch.global, s.batch.sequence, s.micro_batches(), s.batch.micro, s.layout.dp);
  text += fmt::format("  schedule       {}, {} stage{} x {} chunk{}\n", s.schedule, s.layout.pp,
                      s.layout.pp == 1 ? "" : "s", s.layout.chunks, s.layout.chunks == 1 ? "" : "s");
  if (!plan.schedule.note.empty()) text += fmt::format("                 {}\n", plan.schedule.note);
  text += fmt::format("  profile        {}, software {}\n", s.profile->name, s.stack.name);
  for (const auto& c : chunks)
    text += fmt::format("  chunk {:<8} stage {}, {} layers from {}{}{}{}\n", c.chunk.value, c.stage.value,
                        c.layers, c.first_layer,
                        c.recomputed_layers > 0 ? fmt::format(", {} recomputed", c.recomputed_layers) : "",
                        c.embedding ? ", embedding" : "", c.head ? ", head" : "");
  for (const auto& w : s.warnings) text += fmt::format("  warning        {} [{}]\n", w.message, w.code);
  return text;
}

}  // namespace

int command_check(const Invocation& invocation, std::ostream& out) {
  CommonOptions options;
  const CommandHelp help{"check", "SCENARIO",
                         "Reads and cross-checks a scenario, and prints its plan without simulating it."};
  if (!parse_words(invocation, help, {}, options, out)) return kDone;
  const Plan plan = load(options, invocation.roots);
  const Scenario& scenario = plan.scenario;
  const ParallelLayout layout(scenario.layout);
  const Fabric fabric(scenario.cluster);
  const auto axes = axes_of(scenario, layout, fabric);
  const auto chunks = plan_chunks(scenario);
  emit(options, to_table(plan, axes, chunks),
       to_json(plan, axes, chunks).dump(2, ' ', false, Json::error_handler_t::replace) + "\n", out);
  return kDone;
}

}  // namespace rehearse
