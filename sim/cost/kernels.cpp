#include "sim/cost/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "sim/cost/nearest.hpp"

namespace rehearse {
namespace {

constexpr double kGuessedAttentionShare = 0.6;  // of the roofline, for a device without an attention table
constexpr double kGuessedGemmShare = 0.7;       // the same without any GEMM table

// Weights in squared distance, and how far slopes are drawn to 0: chosen for the least error on tenths that
// were kept out of eight tables of four GPUs.
constexpr double kWeightOfN = 1.35, kWeightOfK = 0.12, kWeightOfPadding = 8, kWeightOfIdling = 8;
constexpr double kRidge = 0.3;
constexpr double kMargin = 0.15;          // of a plane beyond its points, in the logarithm
constexpr double kReferenceFloor = 6e-6;  // s
constexpr double kAttentionFloor = 5e-6;  // s

// Tiles of kGemmTileRows x columns, and what a FLOP costs in them beside the widest, which reuses operands
// most.
struct Tile {
  double columns, cost, widest;  // taken for n up to `widest`
};
constexpr double kAnyWidth = std::numeric_limits<double>::infinity();
constexpr Tile kTiles[] = {{256, 1, kAnyWidth}, {128, 1.2, kAnyWidth}, {64, 1.4, 64}};

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

// log2 of begun over whole waves of the widest tiles.
float log2_idling(const GemmRow& row, float sms) {
  constexpr auto kRows = static_cast<float>(kGemmTileRows), kColumns = static_cast<float>(kTiles[0].columns);
  const float tiles =
      std::ceil(static_cast<float>(row.m) / kRows) * std::ceil(static_cast<float>(row.n) / kColumns);
  const float waves = tiles / sms;
  return std::log2(std::ceil(waves) / waves);
}

// Offers the rows around `at` in a run that ascends by `key`, outwards, as long as they can be near enough.
template <class It, class Key, class Near, class Offer>
void outwards(It first, It last, float at, Key key, Near near, Offer offer) {
  const It middle = std::lower_bound(first, last, at, [&](const auto& row, float v) { return key(row) < v; });
  It right = middle, left = middle;
  for (bool more = true; more;) {
    more = false;
    if (right != last && near(key(*right) - at)) right = offer(right), more = true;
    if (left != first && near(key(*std::prev(left)) - at)) left = offer(std::prev(left)), more = true;
  }
}

class GemmSearch {
 public:
  GemmSearch(const GemmTable& table, const GemmShape& at, double sms)
      : rows_(table.rows),
        asked_(at.m, at.n, at.k, 0),
        sms_(static_cast<float>(sms)),
        idling_(log2_idling(asked_, sms_)) {}

  // Rows ascend by m, those of an m by n: a walk outwards in m, in each of its runs outwards in n.
  const Nearest<const GemmRow*, 7>& nearest() {
    const auto m = [](const GemmRow& r) { return r.log2_m; };
    const auto middle = std::lower_bound(rows_.begin(), rows_.end(), asked_.log2_m,
                                         [&](const GemmRow& r, float v) { return m(r) < v; });
    auto right = middle, left = middle;
    const auto near = [&](const GemmRow& r) { return square(m(r) - asked_.log2_m) < found_.worst(); };
    for (bool more = true; more;) {
      more = false;
      if (right != rows_.end() && near(*right)) {
        const auto end = std::upper_bound(right, rows_.end(), *right, ascending);
        run(right, end), right = end, more = true;
      }
      if (left != rows_.begin() && near(*std::prev(left))) {
        const auto begin = std::lower_bound(rows_.begin(), left, *std::prev(left), ascending);
        run(begin, left), left = begin, more = true;
      }
    }
    return found_;
  }
  std::array<double, 3> offset(const GemmRow& r) const {
    return {r.log2_m - asked_.log2_m, r.log2_n - asked_.log2_n, r.log2_k - asked_.log2_k};
  }

 private:
  using Rows = std::vector<GemmRow>;
  static double square(double x) { return x * x; }
  static bool ascending(const GemmRow& a, const GemmRow& b) { return a.m < b.m; }

  void run(Rows::const_iterator first, Rows::const_iterator last) {
    const double of_m = square(first->log2_m - asked_.log2_m) +
                        kWeightOfPadding * square(first->log2_padding - asked_.log2_padding);
    outwards(
        first, last, asked_.log2_n, [](const GemmRow& r) { return r.log2_n; },
        [&](double dn) { return of_m + kWeightOfN * dn * dn < found_.worst(); },
        [&](auto at) {
          const double near = of_m + kWeightOfN * square(at->log2_n - asked_.log2_n) +
                              kWeightOfK * square(at->log2_k - asked_.log2_k);
          if (near < found_.worst())
            found_.offer(near + kWeightOfIdling * square(log2_idling(*at, sms_) - idling_), &*at);
          return at->log2_n >= asked_.log2_n ? std::next(at) : at;
        });
  }

  const Rows& rows_;
  const GemmRow asked_;
  const float sms_, idling_;
  Nearest<const GemmRow*, 7> found_;
};

// log(time / reference) at a shape: a plane through its nearest measured ones; their mean where none is
// within an octave in each dimension. Padding and idling tell shapes apart, not how far they are.
double surface(const DeviceProfile& profile, const GemmTable& table, const GemmShape& at, bool& outside) {
  GemmSearch search(table, at, profile.sms.value);
  const auto& found = search.nearest();
  const auto value = [&](const GemmRow* row) {
    return std::log(row->seconds / gemm_reference(profile, table.dtype, {row->m, row->n, row->k}).value);
  };
  outside = !found.any([&](const GemmRow* row) {
    const auto offset = search.offset(*row);
    return std::all_of(offset.begin(), offset.end(), [](double d) { return std::abs(d) <= 1 + 1e-6; });
  });
  if (outside) return found.interpolate(value);
  const auto point = [&](const GemmRow* row) { return std::pair(value(row), search.offset(*row)); };
  return found.template plane<3>(point, kRidge, kMargin);
}

// Times `factors`, and no less than a kernel takes at least; rests on the worst of what has an effect.
KernelTime scaled(const Stack& stack, KernelTime t, std::initializer_list<const Constant*> factors) {
  double factor = 1;
  for (const Constant* c : factors) {
    factor *= c->value;
    if (c->value != 1) t.basis = std::max(t.basis, c->basis);
  }
  t.time = t.time * factor;
  if (t.time.value < stack.kernel_floor_s.value)
    t.time = Seconds(stack.kernel_floor_s.value), t.basis = stack.kernel_floor_s.basis;
  return t;
}

double attention_roofline(const DeviceProfile& profile, DType dtype, const AttentionShape& a) {
  const double flops = 4 * a.batch * a.heads * a.sequence * a.sequence * a.head_dim * (a.causal ? 0.5 : 1);
  const double moved = bytes_of(dtype) * a.batch * a.sequence * a.head_dim * (2 * a.heads + 2 * a.kv_heads);
  return std::max(flops / peak_of(profile, dtype), moved / profile.hbm_bytes_per_s.value);
}

// Distance of a measured attention from the asked one. Sequence and independent blocks of work move the time
// most; how blocks divide into batch and heads and share keys, and the head size, move only the ratio to the
// roofline, and little.
double attention_distance(const AttentionRow& row, const AttentionRow& asked) {
  const double ds = row.log2_sequence - asked.log2_sequence, db = row.log2_blocks - asked.log2_blocks,
               dk = row.log2_share - asked.log2_share, dd = row.log2_head_dim - asked.log2_head_dim,
               dt = std::log2(row.batch / asked.batch);
  return ds * ds + db * db + 0.04 * dk * dk + dd * dd + 0.05 * dt * dt +
         (row.causal == asked.causal ? 0 : 0.25);
}

bool has_attention(const DeviceProfile& profile, DType dtype, bool backward) {
  return table_for(profile.attention, dtype,
                   [&](const AttentionTable& t) { return t.backward == backward; }) != nullptr;
}

bool is_shape(const AttentionRow& row, const AttentionShape& a) {
  return row.sequence == a.sequence && row.batch == a.batch && row.heads == a.heads &&
         row.kv_heads == a.kv_heads && row.head_dim == a.head_dim && row.causal == a.causal;
}

KernelTime attention_by_table(const DeviceProfile& profile, DType dtype, const AttentionShape& a,
                              bool backward) {
  const AttentionRow asked(a.batch, a.sequence, a.heads, a.kv_heads, a.head_dim, a.causal, 0);
  Nearest<const AttentionRow*> found;
  for (const auto& table : profile.attention) {
    const bool of_type = table.dtype == dtype || (is_16_bit(table.dtype) && is_16_bit(dtype));
    if (table.backward != backward || !of_type) continue;
    const AttentionRow* same = nullptr;
    outwards(
        table.rows.begin(), table.rows.end(), asked.log2_sequence,
        [](const AttentionRow& r) { return r.log2_sequence; },
        [&](double ds) { return ds * ds < found.worst(); },
        [&](auto at) {
          if (is_shape(*at, a)) same = &*at;
          found.offer(attention_distance(*at, asked), &*at);
          return at->log2_sequence >= asked.log2_sequence ? std::next(at) : at;
        });
    if (same) return {Seconds(same->seconds), table.basis, false};
  }
  const double ratio = std::exp(found.interpolate([&](const AttentionRow* r) {
    const AttentionShape at{r->batch, r->sequence, r->heads, r->kv_heads, r->head_dim, r->causal};
    return std::log(r->seconds / (kAttentionFloor + attention_roofline(profile, dtype, at)));
  }));
  return {Seconds((kAttentionFloor + attention_roofline(profile, dtype, a)) * ratio), Basis::fitted,
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

KernelTime memory_by_table(const Stack& stack, const MemoryTable& table, const MemoryShape& at) {
  Nearest<const MemoryRow*> found;
  double element = std::numeric_limits<double>::infinity();  // the least that the table has
  for (const auto& row : table.rows) {
    if (row.shape == at) return {Seconds(row.seconds), table.basis, false};
    element = std::min(element, row.seconds / row.shape.elements());
    const double dr = std::log2(row.shape.rows / at.rows), dw = std::log2(row.shape.width / at.width);
    found.offer(dr * dr + dw * dw, &row);
  }
  const auto reference = [&](const MemoryShape& shape) {
    return stack.kernel_floor_s.value + element * shape.elements();
  };
  const double ratio =
      found.interpolate([&](const MemoryRow* row) { return std::log(row->seconds / reference(row->shape)); });
  return {Seconds(reference(at) * std::exp(ratio)), Basis::fitted, found.nearest() > 1.0 + 1e-9};
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
  if (batched)
    if (const auto* batches = table_for(profile.batched_gemm, dtype, [](const auto&) { return true; }))
      return scaled(stack, batched_by_table(profile, *batches, shape), {&stack.gemm_scale});
  static const Constant one{1, Basis::measured, ""};
  const Constant& of_weights = role == GemmRole::weight_gradient && !of_role ? stack.wgrad_scale : one;
  const auto as_run = [&](const KernelTime& t) { return scaled(stack, t, {&stack.gemm_scale, &of_weights}); };
  const Seconds roofline = gemm_roofline(profile, dtype, shape);
  if (batched && is_16_bit(dtype) && (std::fmod(shape.n, 8) != 0 || std::fmod(shape.k, 8) != 0)) {
    const double flops = 2 * shape.batch * shape.m * shape.n * shape.k;
    const Seconds odd(std::max(flops / profile.odd_head_flops.value, roofline.value));
    return as_run({odd, profile.odd_head_flops.basis, false});
  }
  if (!table) return as_run({roofline / kGuessedGemmShare, Basis::guess, true});
  if (own && !batched)
    if (const GemmRow* row = measured(*table, shape.m, shape.n, shape.k))
      return as_run({Seconds(row->seconds), table->basis, false});
  KernelTime t{Seconds(0), own && !batched ? Basis::fitted : Basis::guess, false};
  // Taller than the tallest measured matrix, a stack of them is as efficient as that one.
  const double tallest = std::max(shape.m, table->rows.back().m);
  const GemmShape stacked{std::min(shape.m * shape.batch, tallest), shape.n, shape.k};
  const Seconds fitted =
      gemm_reference(profile, dtype, shape) * std::exp(surface(profile, *table, stacked, t.outside));
  const double least = 2 * shape.batch * shape.m * shape.n * shape.k / peak_of(profile, dtype);
  t.time = Seconds(std::max(fitted.value, least));
  return as_run(t);
}

KernelTime attention(const DeviceProfile& profile, const Stack& stack, DType dtype, AttentionShape shape,
                     bool backward) {
  if (backward && has_attention(profile, dtype, true))
    return scaled(stack, attention_by_table(profile, dtype, shape, true), {});
  const KernelTime t = attention_forward(profile, dtype, shape);
  return backward ? scaled(stack, t, {&profile.attention_backward}) : scaled(stack, t, {});
}

KernelTime memory_pass(const DeviceProfile& profile, const Stack& stack, const MemoryCall& call,
                       Bytes moved) {
  if (const auto* table = table_for(profile.memory, call.dtype,
                                    [&](const MemoryTable& t) { return t.kernel == call.kernel; }))
    return scaled(stack, memory_by_table(stack, *table, call.shape), {});
  const BytesPerSec rate(stack.memory_efficiency.value * profile.hbm_bytes_per_s.value);
  return {Seconds(stack.kernel_floor_s.value) + moved / rate, stack.memory_efficiency.basis, false};
}

}  // namespace rehearse
