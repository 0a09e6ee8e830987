#include "sim/io/profile.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/base/file.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/reader.hpp"
#include "sim/spec/constants.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {
namespace {

constexpr Named<bool> kDirections[] = {{"forward", "", false}, {"backward", "", true}};

template <class Q>
bool read_as(const DocNode& node, const std::string& key, Problems& problems, double& out,
             NumberRange range) {
  Q quantity;
  if (!read_value(node, key, problems, quantity, range)) return false;
  out = quantity.value;
  return true;
}

bool read_amount(const DocNode& node, const std::string& key, Problems& problems, double& out,
                 ConstantUnit unit, NumberRange range) {
  switch (unit) {
    case ConstantUnit::bytes:
      return read_as<Bytes>(node, key, problems, out, range);
    case ConstantUnit::seconds:
      return read_as<Seconds>(node, key, problems, out, range);
    case ConstantUnit::bytes_per_s:
      return read_as<BytesPerSec>(node, key, problems, out, range);
    case ConstantUnit::flop_per_s:
      return read_as<FlopPerSec>(node, key, problems, out, range);
    case ConstantUnit::number:
      break;
  }
  return read_value(node, key, problems, out, range);
}

// {value, basis, source}
void read_constant(const DocNode& node, const std::string& path, Problems& problems, Constant& out,
                   ConstantUnit unit, NumberRange range) {
  MapReader map(node, path, problems);
  if (const DocNode* value = map.require("value"))
    read_amount(*value, map.path_of("value"), problems, out.value, unit, range);
  map.required("basis", out.basis, kBasisNames);
  map.required("source", out.source);
  map.finish();
}

template <class T, size_t N>
void read_constants(MapReader& map, const ConstantRow<T> (&rows)[N], T& out, bool all) {
  for (const auto& row : rows)
    if (const DocNode* node = all && !row.may_miss ? map.require(row.key) : map.find(row.key))
      read_constant(*node, map.path_of(row.key), map.problems(), out.*row.field, row.unit, row.range);
}

void read_device(const DocNode& node, Problems& problems, DeviceProfile& out) {
  MapReader map(node, "device", problems);
  if (GpuArchitecture architecture; map.optional("architecture", architecture, kArchitectureNames))
    out.architecture = architecture;
  read_constants(map, kDeviceConstants, out, true);
  if (const DocNode* peaks = map.require("peak")) {
    MapReader types(*peaks, "device.peak", problems);
    for (const auto& type : kDTypeNames)
      if (const DocNode* peak = types.find(type.name)) {
        Constant flops;
        read_constant(*peak, types.path_of(type.name), problems, flops, ConstantUnit::flop_per_s, kPositive);
        out.peak_flops.emplace_back(type.value, flops);
      }
    types.finish();
    if (peaks->kind == NodeKind::map && peaks->entries.empty())
      problems.add(peaks->mark, "device.peak", "E-KEY-MISSING", "device.peak needs a type");
  }
  map.finish();
}

void read_algorithms(const DocNode& node, Problems& problems, DeviceProfile& out) {
  MapReader map(node, "algorithms", problems);
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
    for (const auto& protocol : kProtocolNames) {
      CollectiveAlgorithm a{std::string(name_of(algorithm)) + "-" + std::string(protocol.name), algorithm,
                            protocol.value};
      const bool ring_simple = a.name == "ring-simple";  // the one that everything can run
      const DocNode* row = ring_simple ? map.require(a.name) : map.find(a.name);
      if (!row) continue;
      MapReader fields(*row, map.path_of(a.name), problems);
      read_constants(fields, kAlgorithmConstants, a, true);
      fields.finish();
      out.algorithms.push_back(std::move(a));
    }
  map.finish();
}

void read_stack(const DocEntry& entry, Problems& problems, DeviceProfile& out) {
  MapReader map(entry.value, "stacks." + entry.key, problems);
  Stack stack;
  std::string like;
  const bool inherits = map.optional("like", like);
  if (inherits) {
    if (const Stack* base = out.stack(like)) {
      stack = *base;
    } else {
      std::vector<std::string_view> names;
      for (const auto& s : out.stacks) names.push_back(s.name);
      map.problem(map.node().find("like")->mark, "like", "E-PROFILE-STACK",
                  map.path_of("like") + " names no set of constants above it: " + quote(like),
                  suggest(like, names));
    }
  }
  stack.name = entry.key;
  map.required("help", stack.help);
  read_constants(map, kStackConstants, stack, !inherits);
  map.finish();
  out.stacks.push_back(std::move(stack));
}

void read_stacks(MapReader& top, DeviceProfile& out) {
  if (const DocNode* stacks = top.require("stacks")) {
    if (stacks->kind != NodeKind::map)
      top.problem(stacks->mark, "stacks", "E-TYPE", "stacks must be a mapping, not " + describe(*stacks));
    for (const auto& entry : stacks->entries) read_stack(entry, top.problems(), out);
  }
  if (!top.required("default_stack", out.default_stack) || out.stack(out.default_stack)) return;
  std::vector<std::string_view> names;
  for (const auto& s : out.stacks) names.push_back(s.name);
  top.problem(top.node().find("default_stack")->mark, "default_stack", "E-PROFILE-STACK",
              "default_stack names no set of constants: " + quote(out.default_stack),
              suggest(out.default_stack, names));
}

// FNV-1a, 64 bit.
struct Digest {
  uint64_t state = 0xcbf29ce484222325u;
  void add(std::string_view bytes) {
    for (const char byte : bytes) state = (state ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  }
  std::string hex() const {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[state >> shift & 15];
    return text;
  }
};

struct TableReader {
  std::filesystem::path folder;
  Problems& problems;
  Digest& digest;

  // Reads what all tables have, then each row of the CSV.
  template <class Table>
  void read(MapReader& map, Table& out, std::span<const CsvColumn> columns, size_t keys,
            const std::function<void(const double*)>& row) {
    map.required("basis", out.basis, kBasisNames);
    map.required("source", out.source);
    map.required("licence", out.licence);
    map.optional("caveats", out.caveats);
    std::string name;
    const bool named = map.required("table", name);
    map.finish();
    if (!named) return;
    const std::filesystem::path path = folder / name;
    out.file = path.filename().string();
    try {
      const std::string text = read_file(path.string(), place_of(map.node().find("table")->mark));
      digest.add(name);
      digest.add(text);
      parse_csv(text, path.string(), columns, keys, problems, row);
    } catch (const InputErrors& errors) {
      problems.add(errors);
    }
  }
};

void read_gemm(const DocNode& node, const std::string& path, TableReader& reader, DeviceProfile& out) {
  static constexpr CsvColumn kColumns[] = {{"m"}, {"n"}, {"k"}, {"time_us"}};
  MapReader map(node, path, reader.problems);
  GemmTable table;
  map.required("dtype", table.dtype, kDTypeNames);
  if (GemmRole role; map.optional("role", role, kRoleNames)) table.role = role;
  auto& rows = table.rows;
  reader.read(map, table, kColumns, 3, [&](const double* v) {
    if (rows.size() == rows.capacity()) rows.reserve(rows.empty() ? 32768 : 2 * rows.size());
    rows.emplace_back(v[0], v[1], v[2], v[3] * 1e-6, rows.empty() ? nullptr : &rows.back());
  });
  for (const auto& other : out.gemm)
    if (other.dtype == table.dtype && other.role == table.role)
      map.problem(node.mark, "dtype", "E-PROFILE-TABLE", "two GEMM tables for one type and role");
  out.gemm.push_back(std::move(table));
}

void read_batched_gemm(const DocNode& node, const std::string& path, TableReader& reader,
                       DeviceProfile& out) {
  static constexpr CsvColumn kColumns[] = {{"batch"}, {"m"}, {"n"}, {"k"}, {"time_us"}};
  MapReader map(node, path, reader.problems);
  BatchedGemmTable table;
  map.required("dtype", table.dtype, kDTypeNames);
  reader.read(map, table, kColumns, 4, [&](const double* v) {
    table.rows.push_back({{v[1], v[2], v[3], v[0]}, v[4] * 1e-6});
  });
  for (const auto& other : out.batched_gemm)
    if (other.dtype == table.dtype)
      map.problem(node.mark, "dtype", "E-PROFILE-TABLE", "two tables of batched GEMMs for one type");
  out.batched_gemm.push_back(std::move(table));
}

void read_memory(const DocNode& node, const std::string& path, TableReader& reader, DeviceProfile& out) {
  static constexpr CsvColumn kColumns[] = {{"rows"}, {"width"}, {"time_us"}};
  MapReader map(node, path, reader.problems);
  MemoryTable table;
  map.required("kernel", table.kernel, kMemoryKernels);
  map.required("dtype", table.dtype, kDTypeNames);
  reader.read(map, table, kColumns, 2, [&](const double* v) {
    table.rows.push_back({{v[0], v[1]}, v[2] * 1e-6});
  });
  for (const auto& other : out.memory)
    if (other.dtype == table.dtype && other.kernel == table.kernel)
      map.problem(node.mark, "kernel", "E-PROFILE-TABLE", "two tables for one kernel and type");
  out.memory.push_back(std::move(table));
}

void read_attention(const DocNode& node, const std::string& path, TableReader& reader, DeviceProfile& out) {
  static constexpr CsvColumn kColumns[] = {{"sequence"}, {"batch"},        {"heads"},  {"kv_heads"},
                                           {"head_dim"}, {"causal", true}, {"time_us"}};
  MapReader map(node, path, reader.problems);
  AttentionTable table;
  map.optional("dtype", table.dtype, kDTypeNames);
  map.optional("direction", table.backward, kDirections);
  reader.read(map, table, kColumns, 6, [&](const double* v) {
    table.rows.emplace_back(v[1], v[0], v[2], v[3], v[4], v[5] == 1, v[6] * 1e-6);
  });
  out.attention.push_back(std::move(table));
}

void read_collective(const DocNode& node, const std::string& path, TableReader& reader, DeviceProfile& out) {
  static constexpr CsvColumn kColumns[] = {{"bytes"}, {"time_us"}};
  MapReader map(node, path, reader.problems);
  CollectiveTable table;
  map.required("op", table.op, kOpNames);
  map.optional("nodes", table.nodes, IntRange{1, 65536});
  map.required("gpus", table.per_node, IntRange{table.nodes > 1 ? 1 : 2, 4096});
  if (table.nodes > 1) {
    map.required("network", table.network);
    map.required("node_network", table.node_network, kPositive);
    map.optional("network_latency", table.network_latency, kNotNegative);
  }
  reader.read(map, table, kColumns, 1, [&](const double* v) {
    table.bytes.push_back(v[0]);
    table.seconds.push_back(v[1] * 1e-6);
  });
  // A call may be padded, so that none need take longer than one of more bytes.
  for (size_t i = table.seconds.size(); i-- > 1;)
    table.seconds[i - 1] = std::min(table.seconds[i - 1], table.seconds[i]);
  out.collectives.push_back(std::move(table));
}

template <class Reader>
void read_tables(MapReader& top, const char* key, TableReader& reader, DeviceProfile& out, Reader read_one) {
  const DocNode* list = top.find(key);
  if (!list) return;
  if (list->kind != NodeKind::list)
    top.problem(list->mark, key, "E-TYPE", std::string(key) + " must be a list, not " + describe(*list));
  for (size_t i = 0; i < list->items.size(); ++i)
    read_one(list->items[i], std::string(key) + "[" + std::to_string(i) + "]", reader, out);
}

// A table is read against the peak of its type.
void check_peaks(const DocNode& list, const std::string& key, const DeviceProfile& profile,
                 Problems& problems) {
  for (size_t i = 0; i < list.items.size(); ++i) {
    const DocNode& table = list.items[i];
    const DocNode* dtype = table.find("dtype");
    const auto* named = find_named(kDTypeNames, dtype ? std::string_view(dtype->text) : "bf16");
    if (named && !profile.peak(named->value))
      problems.add(dtype ? dtype->mark : table.mark, key + "[" + std::to_string(i) + "].dtype",
                   "E-PROFILE-TABLE",
                   "device.peak has no " + std::string(named->name) + ", which this table needs");
  }
}

}  // namespace

std::shared_ptr<const DeviceProfile> load_profile(const std::string& path) {
  const std::string text = read_file(path);
  const DocNode document = parse_yaml(text, path);
  Digest digest;
  digest.add(text);
  Problems problems;
  auto profile = std::make_shared<DeviceProfile>();
  profile->file = path;
  MapReader top(document, "", problems);
  top.required("name", profile->name);
  if (const DocNode* device = top.require("device")) read_device(*device, problems, *profile);
  // NCCL's own serve a GPU of a known architecture.
  if (!profile->architecture)
    if (const DocNode* rows = top.require("algorithms")) read_algorithms(*rows, problems, *profile);
  read_stacks(top, *profile);
  TableReader reader{std::filesystem::path(path).parent_path(), problems, digest};
  read_tables(top, "gemm", reader, *profile, read_gemm);
  read_tables(top, "batched_gemm", reader, *profile, read_batched_gemm);
  read_tables(top, "memory", reader, *profile, read_memory);
  read_tables(top, "attention", reader, *profile, read_attention);
  read_tables(top, "collectives", reader, *profile, read_collective);
  top.finish();
  for (const char* key : {"gemm", "batched_gemm", "attention"})
    if (const DocNode* list = document.find(key)) check_peaks(*list, key, *profile, problems);
  problems.raise();
  profile->digest = digest.hex();
  return profile;
}

}  // namespace rehearse
