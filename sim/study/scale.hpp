// A scenario on other numbers of GPUs, its layout chosen anew on each.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/spec/scenario.hpp"
#include "sim/study/best.hpp"

namespace rehearse {

struct ScaleRequest {
  std::string base;               // path of the scenario
  std::vector<std::string> sets;  // for every size
  bool weak = false;              // the batch grows with the GPUs, from the base's; else it stays
  bool keep = false;              // the base's layout, dp alone follows; else a search
  Named<Engine> engine;
  int jobs = 1;
};

// What is to be tried on one number of GPUs.
struct ScaleSize {
  int64_t gpus = 0;
  Study study;                 // the scenario at this size, and the first points
  std::string code, why;       // where there can be none: the GPUs fill no nodes, or the batch is not whole
  size_t most_points() const;  // of both rounds
};

struct ScaleResult {
  bool weak = false;
  int64_t gpus = 0;
  size_t points = 0, rejected = 0, unfit = 0, simulated = 0;
  std::string code, why;              // where nothing ran
  std::optional<Candidate> best;      // else the shortest step
  std::vector<std::string> settings;  // that make it of the base
  Scenario scenario;                  // it, checked
  double exposed = 0, bubble = 0;     // parts of its step
  double efficiency = 0;  // tokens/s/GPU over that of the smallest size that ran; by scale_efficiency()
};

// Sizes double from the first to the last.
std::vector<int64_t> doubling(int64_t from, int64_t to);

// The search at a size takes two rounds. First 1F1B and ZB-V with ZeRO-1 and, where tp > 1, sequence
// parallelism: tp over the powers of 2 in a node, pp over the divisors of the layers up to 64, 1, 2 or 4
// sequences a micro-batch, selective or full recompute; and the base's own layout. Then, around the 4
// fastest: interleaving with 2, 4 and 8 chunks, ZB-H1 and no recompute, each with ZeRO-1 and ZeRO 0.
ScaleSize plan_size(const ScaleRequest& request, int64_t gpus, const DataRoots& roots);

// `tick` is told how many points of the size are done; it is asked often.
ScaleResult run_size(const ScaleRequest& request, const ScaleSize& size, const DataRoots& roots,
                     const std::function<void(size_t done)>& tick);

void scale_efficiency(std::vector<ScaleResult>& results);

}  // namespace rehearse
