#include "calibration/probes/bench.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/measure/agree.hpp"
#include "calibration/work/arena.hpp"

namespace rehearse::calibration {
namespace {

constexpr int kMostSets = 2048;  // more than calls of one timing have use for

double bytes_of_set(const Operands& set) {
  double bytes = 0;
  for (const auto& tensor : set) bytes += aligned(tensor.spec.bytes());
  return bytes;
}

// All sets share indices, and what only an earlier call can fill: the log-sum-exp of a backward attention,
// whose exponentials would pass all bounds with leftovers in its place.
bool is_copied(const OperandSpec& spec) {
  return spec.content != Content::tokens && (spec.content != Content::zero || spec.output);
}

using ContentKind = std::tuple<Content, DType, bool>;
ContentKind kind_of(const OperandSpec& spec) {
  return {spec.content, spec.dtype, spec.output && spec.content != Content::zero};
}

}  // namespace

void* Arenas::get(const OperandSpec& like, double bytes) {
  const bool changes = like.output && like.content != Content::zero;
  Arena& arena = (changes ? changed_ : kept_)[{like.content, like.dtype}];
  const bool fresh = arena.bytes < bytes;
  if (fresh) {
    if (arena.data) backend_.release(arena.data);
    arena = {};
    arena.data = backend_.allocate(size_t(bytes));
    arena.bytes = bytes;
  }
  if (fresh || changes) {
    Tensor whole{like, arena.data};
    const double width = like.bytes() / double(like.count);
    whole.spec.count = int64_t((changes ? bytes : arena.bytes) / width);
    whole.spec.scale = 1;
    backend_.fill(whole);
  }
  return arena.data;
}

void Arenas::clear() {
  for (auto* arenas : {&kept_, &changed_}) {
    for (auto& [kind, arena] : *arenas)
      if (arena.data) backend_.release(arena.data);
    arenas->clear();
  }
}

OperandSets::OperandSets(Bench& bench, const Work& work) : bench_(bench) {
  try {
    try {
      together(bench.ranks, [&] { allocate_first(work); });
    } catch (const BackendError&) {  // perhaps what the arenas hold is missing
      for (void* data : owned_) bench.backend.release(data);
      owned_.clear();
      sets_.clear();
      bench.arenas.clear();
      together(bench.ranks, [&] { allocate_first(work); });
    }
    together(bench.ranks, [&] { add_copies(); });
  } catch (const BackendError&) {
    for (void* data : owned_) bench.backend.release(data);
    throw;
  }
}

OperandSets::~OperandSets() {
  for (void* data : owned_) bench_.backend.release(data);
}

void OperandSets::allocate_first(const Work& work) {
  Operands set;
  for (auto spec : operands_of(work)) {
    spec.seed = seed_on(spec.seed + bench_.seed * 7919, bench_.ranks.rank());
    void* data = bench_.backend.allocate(size_t(std::max(spec.bytes(), 1.0)));
    owned_.push_back(data);
    set.push_back({spec, data});
    bench_.backend.fill(set.back());
  }
  const auto fill_from_forward = [&](AttentionCall call, size_t at) {
    if (!call.backward) return;
    call.backward = false;
    const Work forward = call;
    Operands inputs(set.begin() + std::ptrdiff_t(at),
                    set.begin() + std::ptrdiff_t(at + operands_of(forward).size()));
    const Call one{&forward, &inputs};
    bench_.backend.time({&one, 1}, Clocking::stream);
  };
  if (const auto* attention = std::get_if<AttentionCall>(&work)) fill_from_forward(*attention, 0);
  if (const auto* overlap = std::get_if<OverlapCall>(&work))
    if (const auto* attention = std::get_if<AttentionCall>(&overlap->kernel))
      fill_from_forward(*attention, 0);
  sets_.push_back(std::move(set));
}

void OperandSets::add_copies() {
  const double each = bytes_of_set(first()), wanted = kRotation * bench_.limits.l2_bytes;
  if (bench_.warm_l2 || each >= wanted || each <= 0) return;
  const int copies = std::min(kMostSets, int(std::ceil(wanted / each))) - 1;
  std::map<ContentKind, double> sizes;
  for (const auto& tensor : first())
    if (is_copied(tensor.spec)) sizes[kind_of(tensor.spec)] += aligned(tensor.spec.bytes()) * copies;
  std::map<ContentKind, std::byte*> next;
  for (const auto& tensor : first()) {
    const ContentKind kind = kind_of(tensor.spec);
    if (is_copied(tensor.spec) && !next.count(kind))
      next[kind] = static_cast<std::byte*>(bench_.arenas.get(tensor.spec, sizes[kind]));
  }
  for (int i = 0; i < copies; ++i) {
    Operands set = first();
    for (auto& tensor : set) {
      if (!is_copied(tensor.spec)) continue;
      std::byte*& at = next[kind_of(tensor.spec)];
      tensor.data = at;
      at += size_t(aligned(tensor.spec.bytes()));
    }
    sets_.push_back(std::move(set));
  }
}

std::vector<Call> OperandSets::calls(const Work& work, int count) {
  std::vector<Call> list;
  list.reserve(size_t(count));
  for (int i = 0; i < count; ++i) {
    list.push_back({&work, &sets_[next_]});
    next_ = (next_ + 1) % sets_.size();
  }
  return list;
}

}  // namespace rehearse::calibration
