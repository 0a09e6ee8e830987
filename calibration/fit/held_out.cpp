#include "calibration/fit/held_out.hpp"

#include <algorithm>
#include <cmath>

#include "sim/cost/kernels.hpp"
#include "sim/cost/size_curve.hpp"

namespace rehearse::calibration {
namespace {

// The device without what was measured on it.
DeviceProfile bare(const DeviceProfile& profile) {
  DeviceProfile p = profile;
  p.gemm.clear(), p.batched_gemm.clear(), p.memory.clear(), p.attention.clear(), p.collectives.clear();
  return p;
}

Stack plain() {
  Stack s;
  s.gemm_scale.value = s.wgrad_scale.value = s.memory_efficiency.value = 1;
  s.network_efficiency.value = s.p2p_efficiency.value = 1;
  return s;
}

using Rows = std::vector<const TableRow*>;

void install_gemm(DeviceProfile& p, const FitTable& table, const Rows& rows) {
  GemmTable t;
  t.dtype = std::get<GemmCall>(table.like).dtype;
  t.rows.reserve(rows.size());
  for (const auto* row : rows)
    t.rows.emplace_back(row->keys[0], row->keys[1], row->keys[2], row->seconds,
                        t.rows.empty() ? nullptr : &t.rows.back());
  p.gemm.push_back(std::move(t));
}

// The table as the simulator has it, of these rows.
void install(DeviceProfile& p, const FitTable& table, const Rows& rows) {
  switch (table.kind) {
    case TableKind::gemm:
      return install_gemm(p, table, rows);
    case TableKind::batched_gemm: {
      BatchedGemmTable t;
      t.dtype = std::get<GemmCall>(table.like).dtype;
      for (const auto* row : rows) t.rows.push_back({std::get<GemmCall>(row->work).shape, row->seconds});
      p.batched_gemm.push_back(std::move(t));
      return;
    }
    case TableKind::memory: {
      MemoryTable t;
      t.kernel = std::get<MemoryCall>(table.like).kernel;
      t.dtype = std::get<MemoryCall>(table.like).dtype;
      for (const auto* row : rows) t.rows.push_back({std::get<MemoryCall>(row->work).shape, row->seconds});
      p.memory.push_back(std::move(t));
      return;
    }
    case TableKind::attention: {
      AttentionTable t;
      t.dtype = std::get<AttentionCall>(table.like).dtype;
      t.backward = std::get<AttentionCall>(table.like).backward;
      for (const auto* row : rows) {
        const AttentionShape& a = std::get<AttentionCall>(row->work).shape;
        t.rows.emplace_back(a.batch, a.sequence, a.heads, a.kv_heads, a.head_dim, a.causal, row->seconds);
      }
      p.attention.push_back(std::move(t));
      return;
    }
    case TableKind::collective: {
      CollectiveTable t;
      t.op = std::get<CollectiveCall>(table.like).op;
      for (const auto* row : rows) t.bytes.push_back(row->keys[0]), t.seconds.push_back(row->seconds);
      p.collectives.push_back(std::move(t));
      return;
    }
  }
}

double predicted(const DeviceProfile& p, const Work& work) {
  static const Stack stack = plain();
  if (const auto* c = std::get_if<GemmCall>(&work))
    return gemm(p, stack, c->dtype, c->shape, c->role).time.value;
  if (const auto* c = std::get_if<AttentionCall>(&work))
    return attention(p, stack, c->dtype, c->shape, c->backward).time.value;
  if (const auto* c = std::get_if<MemoryCall>(&work))
    return memory_pass(p, stack, *c, Bytes(bytes_of(work))).time.value;
  return size_curve(p.collectives.front(), std::get<CollectiveCall>(work).bytes).seconds;
}

// FNV-1a of the shape, its bits mixed once more because the last ones of few digits are much alike.
uint64_t hash_of(const TableRow& row) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const double key : row.keys)
    for (auto bits = static_cast<uint64_t>(key); bits; bits >>= 8) h = (h ^ (bits & 0xff)) * 0x100000001b3u;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  return h ^ h >> 33;
}

constexpr size_t kTurns = 10;

// The turn in which a row is kept out; kTurns: in none.
std::vector<size_t> turns_of(const FitTable& table) {
  std::vector<size_t> turns;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const bool curve = table.kind == TableKind::collective, end = i == 0 || i + 1 == table.rows.size();
    turns.push_back(!curve ? hash_of(table.rows[i]) % kTurns : end ? kTurns : i % kTurns);
  }
  return turns;
}

TableFit hold_out(const DeviceProfile& device, const FitTable& table) {
  TableFit fit{table.label(), table.file, table.rows.size(), 0, {}, {}};
  const auto turns = turns_of(table);
  std::vector<double> errors;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    Rows kept, out;
    for (size_t i = 0; i < turns.size(); ++i) (turns[i] == turn ? out : kept).push_back(&table.rows[i]);
    if (out.empty() || kept.empty()) continue;
    DeviceProfile p = device;
    install(p, table, kept);
    for (const auto* row : out) {
      fit.points.push_back({row->work, row->seconds, predicted(p, row->work)});
      errors.push_back(std::abs(fit.points.back().fitted / row->seconds - 1));
    }
  }
  fit.held_out = accuracy_of(std::move(errors));
  return fit;
}

}  // namespace

Accuracy accuracy_of(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const auto at = [&](double share) {
    return errors.empty() ? 0
                          : errors[std::min(errors.size() - 1,
                                            static_cast<size_t>(share * static_cast<double>(errors.size())))];
  };
  return {static_cast<int>(errors.size()), at(0.5), at(0.9), at(0.99)};
}

std::vector<TableFit> hold_out(const DeviceProfile& profile, const std::vector<FitTable>& tables) {
  const DeviceProfile device = bare(profile);
  std::vector<TableFit> fits;
  fits.reserve(tables.size());
  for (const auto& table : tables) fits.push_back(hold_out(device, table));
  return fits;
}

size_t thin(const DeviceProfile& profile, FitTable& table, double tolerance) {
  if (table.kind == TableKind::collective) return 0;
  const DeviceProfile device = bare(profile);
  std::vector<char> there(table.rows.size(), 1);
  constexpr uint64_t kQuarters = 4;
  for (uint64_t quarter = 0; quarter < kQuarters; ++quarter) {
    Rows kept;
    std::vector<size_t> asked;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      // Other bits than those that tell the tenth.
      const bool mine = (hash_of(table.rows[i]) >> 40) % kQuarters == quarter;
      if (mine && there[i]) asked.push_back(i);
      if (!mine && there[i]) kept.push_back(&table.rows[i]);
    }
    if (kept.empty()) continue;
    DeviceProfile p = device;
    install(p, table, kept);
    for (const size_t i : asked)
      if (std::abs(predicted(p, table.rows[i].work) / table.rows[i].seconds - 1) <= tolerance) there[i] = 0;
  }
  std::vector<TableRow> rest;
  for (size_t i = 0; i < table.rows.size(); ++i)
    if (there[i]) rest.push_back(std::move(table.rows[i]));
  const size_t left_out = table.rows.size() - rest.size();
  table.rows = std::move(rest);
  return left_out;
}

}  // namespace rehearse::calibration
