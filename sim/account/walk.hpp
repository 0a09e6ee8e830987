// One walk over the timeline that books every instant of every unit's compute stream; the account and the
// ledger are two sums of it, so that they cannot disagree.
#pragma once
#include <vector>

#include "sim/account/report.hpp"

namespace rehearse {

// What one unit did. `calls`, `exposed_s` and `busy_s` are indexed like TaskGraph::traffic.
struct UnitBook {
  Account parts{};                // s; sums to the step
  BasisSeconds rests_on;          // the same but for the bubble
  std::vector<double> calls;      // collectives joined, transfers sent
  std::vector<char> takes_part;   // joined, sent or received
  std::vector<double> exposed_s;  // s of `parts` that each traffic class costs its axis (0 for scalars)
  std::vector<double> busy_s;     // s that its calls ran
  std::vector<double> sent;       // bytes each rank of the unit sent
};

// The tasks of each unit: its runs in order of start, and everything else in which it takes part.
struct UnitTasks {
  std::vector<std::vector<int32_t>> runs, others;
};
UnitTasks tasks_by_unit(const TaskGraph& graph, const Timeline& timeline);

// The predecessor that ended last, -1 if there is none; of several that end together the one with the lowest
// id.
int32_t last_predecessor(const TaskGraph& graph, const Timeline& timeline, int32_t task);
// The task that ends last of all; again the lowest id.
int32_t last_task(const Timeline& timeline);

// When the step of a unit begins: 0, or where steps overlap with its first run.
double step_begin(const TaskGraph& graph, const Timeline& timeline, const UnitTasks& tasks, int32_t unit);

// Puts the rounding between the sum of `parts` and `step` on the largest part; false if it is more than
// rounding.
bool settle(Account& parts, double step);

// Books unit after unit and hands each to `visit(unit, book)`. Throws std::logic_error if two runs of a unit
// overlap.
template <class Visit>
void walk_units(const TaskGraph& graph, const Timeline& timeline, Visit visit);

class Walker {
 public:
  Walker(const TaskGraph& graph, const Timeline& timeline);
  const UnitBook& book(int32_t unit);  // valid until the next call

 private:
  struct ProgramUse {  // of one traffic class by one program
    int32_t traffic;
    double calls, exposed_s, busy_s;
  };
  std::vector<ProgramUse> uses_of(const Program& program) const;
  void book_run(int32_t task);
  void book_slowdown(int32_t task, double extra);
  void list_slowers(int32_t unit);
  int32_t slower_at(double time);
  void book_gap(int32_t unit, double from, double until, int32_t released_by);
  void book_end(int32_t unit, double from);
  void book_other(int32_t unit, int32_t task);
  void add(Part part, double seconds);
  void add_exposed(int32_t traffic, double seconds);
  bool takes_part(int32_t unit, int32_t task) const;
  bool of_other_stage(int32_t unit, int32_t task) const;

  const TaskGraph& graph_;
  const Timeline& timeline_;
  UnitTasks tasks_;
  std::vector<std::vector<ProgramUse>> uses_;  // per program
  int32_t last_;
  double begin_ = 0;              // of the unit's step
  std::vector<int32_t> slowers_;  // of the unit, in order of start
  size_t next_slower_ = 0;        // the first that has not begun
  std::vector<int32_t> under_way_;
  UnitBook book_;
};

template <class Visit>
void walk_units(const TaskGraph& graph, const Timeline& timeline, Visit visit) {
  Walker walker(graph, timeline);
  for (int32_t u = 0; u < int32_t(graph.units.size()); ++u) visit(u, walker.book(u));
}

// Running sums over units.
struct AccountSum {
  Account rank_seconds{};
  BasisSeconds rests_on;  // rank seconds too
  double ranks = 0;
  void add(const UnitInfo& unit, const UnitBook& book);
  Account mean(double step) const;
};
class LedgerSum {
 public:
  explicit LedgerSum(const TaskGraph& graph);
  void add(const UnitInfo& unit, const UnitBook& book);
  std::vector<LedgerRow> rows()
      const;  // means; the closed forms and memory factors are still to be filled in

 private:
  const TaskGraph& graph_;
  std::vector<int> row_of_;  // per traffic class
  std::vector<LedgerRow> rows_;
  std::vector<double> bytes_;  // sum over ranks of calls x bytes per call, per row
};

// Ranks that a unit of the graph stands for.
inline double ranks_of(const UnitInfo& unit) { return double(unit.stands_for) * unit.ranks_each; }

}  // namespace rehearse
