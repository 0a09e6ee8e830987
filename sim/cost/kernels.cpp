#include "sim/cost/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/cost/nearest.hpp"

namespace rehearse {
namespace {

constexpr double kGuessedAttentionShare = 0.6;  // of the roofline, for a device without an attention table
constexpr double kGuessedGemmShare = 0.7;       // the same without any GEMM table

constexpr double kWeightOfK = 0.49;       // in squared distance
constexpr double kReferenceFloor = 3e-6;  // s

// Tiles of kGemmTileRows x columns, and what a FLOP costs in them beside the widest, which reuses operands
// most.
struct Tile {
  double columns, cost, widest;  // taken for n up to `widest`
};
constexpr double kAnyWidth = std::numeric_limits<double>::infinity();
constexpr Tile kTiles[] = {{256, 1, kAnyWidth}, {128, 1.15, kAnyWidth}, {64, 1.4, 64}};

double round_up(double x, double unit) { return std::ceil(x / unit) * unit; }

double peak_of(const DeviceProfile& profile, DType dtype) {
  const Constant* peak = profile.peak(dtype);
  if (!peak) throw std::invalid_argument("profile " + profile.name + " has no peak for the type of a GEMM");
  return peak->value;
}

// Of the type, else of the other 16-bit type; `fits` says what else is asked of the table.
template <class Table, class F>
const Table* table_for(const std::vector<Table>& tables, DType dtype, F fits) {
  for (const auto& table : tables)
    if (table.dtype == dtype && fits(table)) return &table;
  for (const auto& table : tables)
    if (is_16_bit(table.dtype) && is_16_bit(dtype) && fits(table)) return &table;
  return nullptr;
}

const GemmTable* table_for(const DeviceProfile& profile, DType dtype, GemmRole role) {
  const auto own = table_for(profile.gemm, dtype, [&](const GemmTable& t) { return t.role == role; });
  return own ? own : table_for(profile.gemm, dtype, [](const GemmTable& t) { return !t.role; });
}

const GemmRow* measured(const GemmTable& table, double m, double n, double k) {
  const auto before = [&](const GemmRow& row, int) {
    return row.m != m ? row.m < m : row.n != n ? row.n < n : row.k < k;
  };
  const auto at = std::lower_bound(table.rows.begin(), table.rows.end(), 0, before);
  return at != table.rows.end() && at->m == m && at->n == n && at->k == k ? &*at : nullptr;
}

// log(time / reference) at a shape from its nearest measured ones. Rows ascend by m, so the walk goes
// outwards from m and ends when m alone is farther than the sixth neighbour.
double surface(const DeviceProfile& profile, const GemmTable& table, const GemmShape& at, bool& outside) {
  const double m = std::log2(at.m), n = std::log2(at.n), k = std::log2(at.k);
  const double padding = std::log2(round_up(at.m, kGemmTileRows)) - m;
  const auto& rows = table.rows;
  const auto distance = [&](const GemmRow& row) {
    const double dm = row.log2_m - m, dn = row.log2_n - n, dk = row.log2_k - k,
                 dp = row.log2_padding - padding;
    return dm * dm + dn * dn + kWeightOfK * dk * dk + dp * dp;
  };
  Nearest<const GemmRow*> found;
  auto right =
      std::lower_bound(rows.begin(), rows.end(), m, [](const GemmRow& r, double v) { return r.log2_m < v; });
  auto left = right;
  const auto reachable = [&](const GemmRow& row) {
    return (row.log2_m - m) * (row.log2_m - m) < found.worst();
  };
  for (bool more = true; more;) {
    more = false;
    if (right != rows.end() && reachable(*right))
      found.offer(distance(*right), &*right), ++right, more = true;
    if (left != rows.begin() && reachable(*(left - 1)))
      --left, found.offer(distance(*left), &*left), more = true;
  }
  outside = found.nearest() > 1.0 + 1e-9;  // one octave
  return found.interpolate([&](const GemmRow* row) {
    return std::log(row->seconds / gemm_reference(profile, table.dtype, {row->m, row->n, row->k}).value);
  });
}

KernelTime scaled(const Stack& stack, KernelTime t, double factor) {
  t.time = Seconds(std::max(t.time.value * factor, stack.kernel_floor_s.value));
  return t;
}

double attention_roofline(const DeviceProfile& profile, DType dtype, const AttentionShape& a) {
  const double flops = 4 * a.batch * a.heads * a.sequence * a.sequence * a.head_dim * (a.causal ? 0.5 : 1);
  const double moved = bytes_of(dtype) * a.batch * a.sequence * a.head_dim * (2 * a.heads + 2 * a.kv_heads);
  return std::max(flops / peak_of(profile, dtype), moved / profile.hbm_bytes_per_s.value);
}

// Distance of a measured attention from the asked one. Sequence and independent blocks of work move the time
// most; sharing of keys and the head size move only the ratio to the roofline, and little.
double attention_distance(const AttentionRow& row, const AttentionRow& asked) {
  const double ds = row.log2_sequence - asked.log2_sequence, db = row.log2_blocks - asked.log2_blocks,
               dk = row.log2_share - asked.log2_share, dd = row.log2_head_dim - asked.log2_head_dim;
  return ds * ds + db * db + 0.04 * dk * dk + dd * dd + (row.causal == asked.causal ? 0 : 0.25);
}

bool has_attention(const DeviceProfile& profile, DType dtype, bool backward) {
  return table_for(profile.attention, dtype,
                   [&](const AttentionTable& t) { return t.backward == backward; }) != nullptr;
}

KernelTime attention_by_table(const DeviceProfile& profile, DType dtype, const AttentionShape& a,
                              bool backward) {
  const AttentionRow asked(a.batch, a.sequence, a.heads, a.kv_heads, a.head_dim, a.causal, 0);
  Nearest<const AttentionRow*> found;
  for (const auto& table : profile.attention) {
    if (table.backward != backward || is_16_bit(table.dtype) != is_16_bit(dtype)) continue;
    for (const auto& row : table.rows) {
      if (row.sequence == a.sequence && row.batch == a.batch && row.heads == a.heads &&
          row.kv_heads == a.kv_heads && row.head_dim == a.head_dim && row.causal == a.causal)
        return {Seconds(row.seconds), table.basis, false};
      found.offer(attention_distance(row, asked), &row);
    }
  }
  const double ratio = std::exp(found.interpolate([&](const AttentionRow* r) {
    const AttentionShape at{r->batch, r->sequence, r->heads, r->kv_heads, r->head_dim, r->causal};
    return std::log(r->seconds / attention_roofline(profile, dtype, at));
  }));
  return {Seconds(attention_roofline(profile, dtype, a) * ratio), Basis::fitted,
          found.nearest() > 1.0 + 1e-9};
}

KernelTime attention_forward(const DeviceProfile& profile, DType dtype, const AttentionShape& a) {
  if (has_attention(profile, dtype, false)) return attention_by_table(profile, dtype, a, false);
  return {Seconds(attention_roofline(profile, dtype, a) / kGuessedAttentionShare), Basis::guess, true};
}

// Batches of GEMMs and memory passes by exact shape, else between the nearest of time / reference.
KernelTime batched_by_table(const DeviceProfile& profile, const BatchedGemmTable& table,
                            const GemmShape& at) {
  const auto log2 = [](double v) { return std::log2(v); };
  Nearest<const BatchedGemmRow*> found;
  for (const auto& row : table.rows) {
    if (row.shape == at) return {Seconds(row.seconds), table.basis, false};
    const double db = log2(row.shape.batch / at.batch), dm = log2(row.shape.m / at.m),
                 dn = log2(row.shape.n / at.n), dk = log2(row.shape.k / at.k);
    found.offer(db * db + dm * dm + dn * dn + dk * dk, &row);
  }
  const double ratio = found.interpolate([&](const BatchedGemmRow* row) {
    return std::log(row->seconds / gemm_reference(profile, table.dtype, row->shape).value);
  });
  return {gemm_reference(profile, table.dtype, at) * std::exp(ratio), Basis::fitted,
          found.nearest() > 1.0 + 1e-9};
}

double memory_reference(const DeviceProfile& profile, const MemoryShape& shape) {
  return kReferenceFloor + 4 * shape.elements() / profile.hbm_bytes_per_s.value;
}

KernelTime memory_by_table(const DeviceProfile& profile, const MemoryTable& table, const MemoryShape& at) {
  Nearest<const MemoryRow*> found;
  for (const auto& row : table.rows) {
    if (row.shape == at) return {Seconds(row.seconds), table.basis, false};
    const double dr = std::log2(row.shape.rows / at.rows), dw = std::log2(row.shape.width / at.width);
    found.offer(dr * dr + dw * dw, &row);
  }
  const double ratio = found.interpolate(
      [&](const MemoryRow* row) { return std::log(row->seconds / memory_reference(profile, row->shape)); });
  return {Seconds(memory_reference(profile, at) * std::exp(ratio)), Basis::fitted,
          found.nearest() > 1.0 + 1e-9};
}

}  // namespace

Seconds gemm_roofline(const DeviceProfile& profile, DType dtype, const GemmShape& s) {
  const double flops = 2 * s.m * s.n * s.k;
  const double moved = bytes_of(dtype) * (s.m * s.n + s.m * s.k + s.n * s.k);
  return Seconds(s.batch * std::max(flops / peak_of(profile, dtype), moved / profile.hbm_bytes_per_s.value));
}

Seconds gemm_reference(const DeviceProfile& profile, DType dtype, const GemmShape& s) {
  double work = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    if (s.n > tile.widest) continue;
    const double m = round_up(s.m, kGemmTileRows), n = round_up(s.n, tile.columns);
    const double waves = s.batch * (m / kGemmTileRows) * (n / tile.columns) / profile.sms.value;
    const double partly_idle = std::sqrt(std::ceil(waves) / waves);
    work = std::min(work, tile.cost * partly_idle * 2 * s.batch * m * n * s.k);
  }
  const double moved = s.batch * bytes_of(dtype) * (s.m * s.n + s.m * s.k + s.n * s.k);
  const double compute = work / peak_of(profile, dtype), memory = moved / profile.hbm_bytes_per_s.value;
  return Seconds(kReferenceFloor + std::max(compute, memory));
}

KernelTime gemm(const DeviceProfile& profile, const Stack& stack, DType dtype, GemmShape shape,
                GemmRole role) {
  if (!(shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.batch > 0))
    throw std::invalid_argument("a GEMM needs positive dimensions");
  const bool batched = shape.batch > 1;
  const GemmTable* table = table_for(profile, dtype, role);
  const bool own = table != nullptr;
  if (!own) table = table_for(profile, DType::bf16, role);
  const bool of_role = table && table->role;
  const double scale =
      stack.gemm_scale.value * (role == GemmRole::weight_gradient && !of_role ? stack.wgrad_scale.value : 1);
  if (batched)
    if (const auto* batches = table_for(profile.batched_gemm, dtype, [](const auto&) { return true; }))
      return scaled(stack, batched_by_table(profile, *batches, shape), stack.gemm_scale.value);
  const Seconds roofline = gemm_roofline(profile, dtype, shape);
  if (batched && is_16_bit(dtype) && (std::fmod(shape.n, 8) != 0 || std::fmod(shape.k, 8) != 0)) {
    const double flops = 2 * shape.batch * shape.m * shape.n * shape.k;
    const Seconds odd(std::max(flops / profile.odd_head_flops.value, roofline.value));
    return scaled(stack, {odd, profile.odd_head_flops.basis, false}, scale);
  }
  if (!table) return scaled(stack, {roofline / kGuessedGemmShare, Basis::guess, true}, scale);
  if (own && !batched)
    if (const GemmRow* row = measured(*table, shape.m, shape.n, shape.k))
      return scaled(stack, {Seconds(row->seconds), table->basis, false}, scale);
  KernelTime t{Seconds(0), own && !batched ? Basis::fitted : Basis::guess, false};
  // Taller than the tallest measured matrix, a stack of them is as efficient as that one.
  const double tallest = std::max(shape.m, table->rows.back().m);
  const GemmShape stacked{std::min(shape.m * shape.batch, tallest), shape.n, shape.k};
  t.time = gemm_reference(profile, dtype, shape) * std::exp(surface(profile, *table, stacked, t.outside));
  return scaled(stack, t, scale);
}

KernelTime attention(const DeviceProfile& profile, const Stack& stack, DType dtype, AttentionShape shape,
                     bool backward) {
  if (backward && has_attention(profile, dtype, true))
    return scaled(stack, attention_by_table(profile, dtype, shape, true), 1);
  KernelTime t = attention_forward(profile, dtype, shape);
  if (backward && t.basis == Basis::measured) t.basis = profile.attention_backward.basis;
  return scaled(stack, t, backward ? profile.attention_backward.value : 1);
}

KernelTime memory_pass(const DeviceProfile& profile, const Stack& stack, const MemoryCall& call,
                       Bytes moved) {
  if (const auto* table = table_for(profile.memory, call.dtype,
                                    [&](const MemoryTable& t) { return t.kernel == call.kernel; }))
    return scaled(stack, memory_by_table(profile, *table, call.shape), 1);
  const BytesPerSec rate(stack.memory_efficiency.value * profile.hbm_bytes_per_s.value);
  return {Seconds(stack.kernel_floor_s.value) + moved / rate, stack.memory_efficiency.basis, false};
}

}  // namespace rehearse
