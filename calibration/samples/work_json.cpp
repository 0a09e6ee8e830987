#include "calibration/samples/work_json.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "calibration/samples/json.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

using Json = nlohmann::ordered_json;

// Whole numbers without a point.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

Json write(const GemmCall& c) {
  Json j{{"kind", "gemm"},
         {"dtype", name_of(kDTypeNames, c.dtype)},
         {"role", name_of(kRoleNames, c.role)},
         {"m", number(c.shape.m)},
         {"n", number(c.shape.n)},
         {"k", number(c.shape.k)}};
  if (c.shape.batch != 1) j["batch"] = number(c.shape.batch);
  if (c.accumulate) j["accumulate"] = true;
  return j;
}

Json write(const AttentionCall& c) {
  const AttentionShape& s = c.shape;
  return {{"kind", "attention"},
          {"dtype", name_of(kDTypeNames, c.dtype)},
          {"backward", c.backward},
          {"batch", number(s.batch)},
          {"sequence", number(s.sequence)},
          {"heads", number(s.heads)},
          {"kv_heads", number(s.kv_heads)},
          {"head_dim", number(s.head_dim)},
          {"causal", s.causal}};
}

Json write(const MemoryCall& c) {
  return {{"kind", "memory"},
          {"kernel", name_of(c.kernel)},
          {"dtype", name_of(kDTypeNames, c.dtype)},
          {"rows", number(c.shape.rows)},
          {"width", number(c.shape.width)}};
}

Json write(const CollectiveCall& c) {
  const Group& g = c.group;
  Json j{{"kind", "collective"},
         {"op", name_of(kOpNames, c.op)},
         {"dtype", name_of(kDTypeNames, c.dtype)},
         {"bytes", number(c.bytes)},
         {"nodes", g.nodes},
         {"per_node", g.per_node}};
  if (g.stride != 1) j["stride"] = g.stride;
  if (g.concurrent) j["concurrent"] = true;
  if (c.in_place) j["in_place"] = true;
  return j;
}

Json write(const LaunchCall& c) { return {{"kind", "launch"}, {"graph", c.graph}}; }

Json write(const OverlapCall& c) {
  Json j{{"kind", "overlap"},
         {"kernel", std::visit([](const auto& k) { return write(k); }, c.kernel)},
         {"collective", write(c.collective)}};
  if (c.channels) j["channels"] = c.channels;
  return j;
}

// Elements of an operand, ranks of a job: more than any machine holds, few enough to be counted in integers.
constexpr double kMostElements = 0x1p44, kMostRanks = 0x1p30;

void check_size(std::initializer_list<double> counts, double most, const char* what) {
  if (std::any_of(counts.begin(), counts.end(), [&](double count) { return count > most; }))
    throw JsonProblem(std::string(what) + " too large");
}

GemmCall gemm_from(JsonFields& f) {
  GemmCall c{f.word("dtype", kDTypeNames),
             f.word("role", kRoleNames),
             {f.count("m", 1), f.count("n", 1), f.count("k", 1), f.count("batch", 1, 1)},
             f.flag("accumulate", false)};
  const GemmShape& s = c.shape;
  check_size({s.batch * s.m * s.k, s.batch * s.k * s.n, s.batch * s.m * s.n}, kMostElements,
             "the matrices are");
  return c;
}

AttentionCall attention_from(JsonFields& f) {
  const AttentionCall c{f.word("dtype", kDTypeNames),
                        f.flag("backward", false),
                        {f.count("batch", 1), f.count("sequence", 1), f.count("heads", 1),
                         f.count("kv_heads", 1), f.count("head_dim", 1), f.flag("causal", false)}};
  const AttentionShape& s = c.shape;
  check_size({s.batch * s.sequence * std::max(s.heads, s.kv_heads) * s.head_dim}, kMostElements,
             "queries or keys are");
  return c;
}

MemoryCall memory_from(JsonFields& f) {
  const MemoryKernel kernel = f.word("kernel", kMemoryKernels);
  const MemoryCall c{f.word("dtype", kDTypeNames), kernel, {f.count("rows", 1), f.count("width", 1)}};
  check_size({c.shape.elements()}, kMostElements, "the rows are");
  return c;
}

CollectiveCall collective_from(JsonFields& f) {
  CollectiveCall c;
  c.op = f.word("op", kOpNames);
  c.dtype = f.word("dtype", kDTypeNames);
  c.bytes = f.count("bytes", 1);
  c.group.nodes = f.integer("nodes", 1, 1);
  c.group.per_node = f.integer("per_node", 1, 1);
  c.group.stride = f.integer("stride", 1, 1);
  check_size({double(c.group.nodes) * c.group.per_node * c.group.stride}, kMostRanks, "the group is");
  c.group.size = c.group.nodes * c.group.per_node;
  c.group.concurrent = f.flag("concurrent", false);
  c.in_place = f.flag("in_place", false);
  return c;
}

Work part(const nlohmann::json& object, const std::string& name, bool whole) {
  JsonFields f(object, name);
  const std::string kind = f.text("kind");
  Work work;
  if (kind == "gemm")
    work = gemm_from(f);
  else if (kind == "attention")
    work = attention_from(f);
  else if (kind == "memory")
    work = memory_from(f);
  else if (kind == "collective")
    work = collective_from(f);
  else if (kind == "launch" && whole)
    work = LaunchCall{f.flag("graph", false)};
  else if (kind == "overlap" && whole) {
    OverlapCall c;
    const Work kernel = part(f.require("kernel"), name + ".kernel", false),
               beside = part(f.require("collective"), name + ".collective", false);
    if (const auto* g = std::get_if<GemmCall>(&kernel))
      c.kernel = *g;
    else if (const auto* a = std::get_if<AttentionCall>(&kernel))
      c.kernel = *a;
    else if (const auto* m = std::get_if<MemoryCall>(&kernel))
      c.kernel = *m;
    else
      throw JsonProblem(name + ".kernel must be a kernel");
    if (!std::holds_alternative<CollectiveCall>(beside))
      throw JsonProblem(name + ".collective must be a collective");
    c.collective = std::get<CollectiveCall>(beside);
    c.channels = f.integer("channels", 0, 0);
    work = c;
  } else {
    throw JsonProblem(name + ".kind cannot be " + quote(kind));
  }
  f.finish();
  return work;
}

}  // namespace

Json to_json(const Work& work) {
  return std::visit([](const auto& call) { return write(call); }, work);
}

Work work_from(const nlohmann::json& object) { return part(object, "work", true); }

}  // namespace rehearse::calibration
