// What all probes work with, and the buffers that their calls are given.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "calibration/measure/measure.hpp"

namespace rehearse::calibration {

// Stretches of device memory with contents of a kind, kept from point to point: the copies that rotation
// needs besides the first set may hold any values of the type, and filling is what costs time on a CPU.
class Arenas {
 public:
  explicit Arenas(Backend& backend) : backend_(backend) {}
  ~Arenas() { clear(); }
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  // At least `bytes` of one kind. What calls change (`output` and not zero) is filled anew each time.
  void* get(const OperandSpec& like, double bytes);
  void clear();

 private:
  struct Arena {
    void* data = nullptr;
    double bytes = 0;
  };
  Backend& backend_;
  std::map<std::pair<Content, DType>, Arena> kept_, changed_;
};

struct Bench {
  Bench(Backend& backend_, Ranks& ranks_) : backend(backend_), ranks(ranks_), arenas(backend_) {}
  Backend& backend;
  Ranks& ranks;
  Rules rules;
  Limits limits;
  bool warm_l2 = false;
  bool graphs = false;  // short kernels are replayed from graphs
  uint64_t seed = 0;    // of operands' contents, besides their own
  Arenas arenas;
};

// Sets of a work's operands, at least 3 x L2 in all, to be used in turn so that no call finds its operands in
// the cache; 2048 at most, which leaves only operands below a hundred KB warm. The first is
// filled by its specs, with this rank's seeds; for a backward attention, O and log-sum-exp are computed. All
// ranks make theirs together; throws BackendError on all where memory is short on one.
class OperandSets {
 public:
  OperandSets(Bench& bench, const Work& work);
  ~OperandSets();
  OperandSets(const OperandSets&) = delete;
  OperandSets& operator=(const OperandSets&) = delete;

  const Operands& first() const { return sets_.front(); }
  const std::vector<Operands>& all() const { return sets_; }
  int count() const { return int(sets_.size()); }
  // The next `count` calls, sets in turn.
  std::vector<Call> calls(const Work& work, int count);
  // Begins with the first set again.
  void rewind() { next_ = 0; }

 private:
  void allocate_first(const Work& work);
  void add_copies();

  Bench& bench_;
  std::vector<Operands> sets_;
  std::vector<void*> owned_;
  size_t next_ = 0;
};

}  // namespace rehearse::calibration
