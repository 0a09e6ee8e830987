#include "sim/io/scenario.hpp"

#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/io/model.hpp"
#include "sim/io/overrides.hpp"
#include "sim/io/scenario_parts.hpp"
#include "sim/io/topology.hpp"

namespace rehearse {

namespace {

struct Context {
  std::string file, folder;
  const DataRoots& roots;
  ScenarioFiles& files;
  Problems& problems;
  std::vector<std::string> named;  // paths of files, this one first
};

void note_places(const DocNode& node, const std::string& path, Places& places) {
  for (const auto& entry : node.entries) {
    if (entry.value.kind == NodeKind::absent) continue;
    const std::string key = path.empty() ? entry.key : path + "." + entry.key;
    places.by_key[key] = place_of(entry.value.mark);
    note_places(entry.value, key, places);
  }
}

// Replaces the path or name of a model or topology by what its file holds.
bool inline_file(DocNode& node, const std::string& key, FileKind kind, Context& context) {
  const auto path = resolve(node, key, kind, context.folder, context.roots, context.problems);
  if (!path) return false;
  context.named.push_back(*path);
  try {
    node = DocNode(context.files.document(*path, place_of(node.mark)));
    return true;
  } catch (const InputErrors& found) {
    context.problems.add(found);
    return false;
  }
}

bool expand(const std::string& key, DocNode& node, Context& context) {
  if (key == "model") return inline_file(node, key, FileKind::model, context), true;
  if (key == "cluster.topology") return inline_file(node, key, FileKind::topology, context), true;
  if (key == "precision") return expand_precision(node);
  if (key == "cluster.fabric") return expand_fabric(node), true;
  if (key != "recompute") return false;
  node.kind = NodeKind::map;  // {full_layers: n} takes the place of a word
  return true;
}

// Paths stand beside the file that names them: a setting's beside the scenario.
std::string folder_of_value(const DocNode& value, const Context& context) {
  for (const auto& file : context.named)
    if (value.mark.source && value.mark.source->file == shown_path(file)) return folder_of(file);
  return context.folder;
}

void read_cluster(DocNode& node, Scenario& scenario, Context& context) {
  if (node.kind == NodeKind::scalar) {
    return context.problems.add(
        node.mark, "cluster", "E-TYPE", "cluster must be a mapping, not " + describe(node),
        "a topology goes below it: try --set 'cluster={topology: " + printable(node.text) + "}'");
  }
  MapReader outer(node, "cluster", context.problems);  // for its check that this is a mapping
  if (node.kind != NodeKind::map) return;
  DocNode* topology = node.find("topology");
  if (topology && topology->kind == NodeKind::null) outer.find("topology");
  if (topology && topology->kind == NodeKind::scalar &&
      !inline_file(*topology, "cluster.topology", FileKind::topology, context))
    return;
  if (topology && topology->kind == NodeKind::list) {
    const MapReader refused(*topology, "cluster.topology",
                            context.problems);  // notes that a list is no mapping
    return;
  }
  const DocNode merged = merge_cluster(node);
  if (!says_nodes(merged))
    outer.problem(node.mark, "nodes", "E-KEY-MISSING", "the key 'cluster.nodes' is missing");
  scenario.cluster =
      read_topology(merged, "cluster", context.problems, [&](const DocNode& value, const std::string& key) {
        auto path = resolve(value, key, FileKind::placement, folder_of_value(value, context), context.roots,
                            context.problems);
        if (path) context.named.push_back(*path);
        return path;
      });
}

void read_profile(const DocNode& node, MapReader& reader, Scenario& scenario, Context& context) {
  const auto path =
      resolve(node, "profile", FileKind::profile, context.folder, context.roots, context.problems);
  if (!path) return;
  context.named.push_back(*path);
  try {
    scenario.profile = context.files.profile(*path);
  } catch (const InputErrors& found) {
    context.problems.add(found);
    return;
  }
  if (scenario.cluster.nvlink.value == 0) {
    scenario.cluster.nvlink_of_profile = true;
    scenario.cluster.nvlink = BytesPerSec(scenario.profile->nvlink_bytes_per_s.value);
    scenario.cluster.nvlink_latency = Seconds(scenario.profile->nvlink_latency_s.value);
  }
  std::string wanted = scenario.profile->default_stack;
  const DocNode* stack = reader.find("stack");
  if (stack && !read_value(*stack, "stack", context.problems, wanted)) return;
  std::vector<std::string_view> names;
  for (const auto& known : scenario.profile->stacks) {
    names.push_back(known.name);
    if (known.name == wanted) scenario.stack = known;
  }
  if (scenario.stack.name.empty())
    context.problems.add(stack ? stack->mark : node.mark, "stack", "E-PROFILE-STACK",
                         "profile " + scenario.profile->name + " has no stack " + quote(wanted),
                         suggest(wanted, names));
}

void read_schedule(const DocNode& node, Scenario& scenario, Context& context) {
  if (!read_value(node, "schedule", context.problems, scenario.schedule)) return;
  if (scenario.schedule.ends_with(".csv")) {
    const auto path =
        resolve(node, "schedule", FileKind::schedule, context.folder, context.roots, context.problems);
    if (!path) return;
    context.named.push_back(*path);
    scenario.schedule = *path;
  }
}

void read_rest(MapReader& reader, Scenario& scenario, Context& context) {
  static constexpr Named<bool> kMfuAttention[] = {{"full", "", false}, {"causal", "", true}};
  Problems& problems = context.problems;
  const DocNode* layout = reader.find("layout");
  if (layout)
    scenario.layout = read_layout(*layout, problems);
  else
    scenario.layout.dp = 0;
  if (const DocNode* batch = reader.require("batch")) scenario.batch = read_batch(*batch, problems);
  if (const DocNode* schedule = reader.find("schedule")) read_schedule(*schedule, scenario, context);
  if (const DocNode* recompute = reader.find("recompute"))
    scenario.recompute = read_recompute(*recompute, problems);
  if (const DocNode* precision = reader.find("precision"))
    scenario.precision = read_precision(*precision, problems);
  if (const DocNode* overlap = reader.find("overlap")) scenario.overlap = read_overlap(*overlap, problems);
  if (const DocNode* collectives = reader.find("collectives")) {
    scenario.stack.nccl = read_collectives(*collectives, problems);
    if (scenario.profile && !scenario.profile->architecture)
      problems.add(collectives->mark, "collectives", "E-NCCL-ALGO",
                   "profile " + scenario.profile->name +
                       " names no architecture, so that NCCL's model does not choose",
                   "try --set collectives=null");
  }
  reader.optional("grad_bucket", scenario.grad_bucket, kPositive);
  static constexpr Named<bool> kOptimizerSync[] = {
      {"global", "after the norm of all gradients", false},
      {"post_validation", "at once; checked, and taken back where wrong", true}};
  static constexpr Named<bool> kReceives[] = {{"eager", "a transfer starts when its bytes are there", false},
                                              {"posted", "and when the receiver has come to it", true}};
  reader.optional("optimizer_sync", scenario.post_validation, kOptimizerSync);
  reader.optional("receives", scenario.posted_receives, kReceives);
  reader.optional("max_live", scenario.max_live, kPositive);
  reader.optional("mfu_attention", scenario.mfu_attention_causal, kMfuAttention);
}

void read_keys(DocNode& root, Scenario& scenario, Context& context) {
  MapReader reader(root, "", context.problems);
  if (root.kind != NodeKind::map) return;
  reader.optional("name", scenario.name);
  if (reader.require("model")) {
    DocNode& model = *root.find("model");
    if (model.kind != NodeKind::scalar || inline_file(model, "model", FileKind::model, context))
      scenario.model = read_model(model, "model", context.problems);
  }
  if (reader.require("cluster")) read_cluster(*root.find("cluster"), scenario, context);
  if (const DocNode* profile = reader.require("profile"))
    read_profile(*profile, reader, scenario, context);
  else
    reader.find("stack");
  read_rest(reader, scenario, context);
  reader.finish();
  if (scenario.batch.sequence == 0) scenario.batch.sequence = scenario.model.sequence;
}

ReadScenario read(const std::string& path, const std::vector<std::string>& sets, Context& context) {
  ReadScenario done;
  done.root = context.files.document(path);
  for (const auto& set : sets)
    apply_set(
        done.root, set, [&](const std::string& key, DocNode& node) { return expand(key, node, context); },
        context.problems);
  done.scenario.file = printable(shown_path(path));
  done.scenario.name = path == "-" ? "stdin" : printable(std::filesystem::path(path).stem().string());
  read_keys(done.root, done.scenario, context);
  done.files = context.named;
  return done;
}

}  // namespace

ReadScenario read_scenario(const std::string& path, const std::vector<std::string>& sets,
                           const DataRoots& roots, ScenarioFiles& files) {
  Problems problems;
  Context context{path, folder_of(path), roots, files, problems, {path}};
  ReadScenario done = read(path, sets, context);
  problems.raise();
  return done;
}

std::vector<std::string> files_of_scenario(const std::string& path, const std::vector<std::string>& sets,
                                           const DataRoots& roots, ScenarioFiles& files) {
  Problems problems;
  Context context{path, folder_of(path), roots, files, problems, {path}};
  return read(path, sets, context).files;
}

Job read_job(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots,
             ScenarioFiles& files) {
  ReadScenario done = read_scenario(path, sets, roots, files);
  Job job{std::move(done.scenario), {}};
  job.places.whole = place_of(done.root.mark);
  note_places(done.root, "", job.places);
  note_places(merge_cluster(*done.root.find("cluster")), "cluster", job.places);
  return job;
}

Job read_job(const std::string& path, const std::vector<std::string>& sets, const DataRoots& roots) {
  ScenarioFiles files;
  return read_job(path, sets, roots, files);
}

}  // namespace rehearse
