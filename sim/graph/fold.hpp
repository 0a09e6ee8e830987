// Which units, links and flows behave alike, so that one stands for all: the coarsest equitable partition of
// the graph "unit - flow - link" (colour refinement). Max-min shares are unique, so they are the same for
// every member of a class, and the quotient gives exactly the unfolded times.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/plan/layout.hpp"

namespace rehearse {

enum class FlowKind : uint8_t { stage_transfer, tensor, gradients, embedding };

// One recurring movement of bytes between units, whatever its size and how often.
struct FlowPattern {
  FlowKind kind = FlowKind::stage_transfer;
  // Stages: source and destination; the stage alone for tensor; for gradients the stage, and the one that
  // holds the other copy of its layers, itself where there is none.
  int a = 0, b = 0;
  int slice = -1;                          // rank of each unit that takes part, -1 = all
  std::vector<int> units;                  // participants; {sender, receiver} for a transfer
  std::vector<std::pair<int, int>> links;  // (LinkId value, weight); empty inside an island
  int parts = 1, ports = 1;                // of a group: plan/group_links.hpp
  Seconds hop_latency;                     // of the network or PCIe between those that take part
  bool network = false;                    // some of it leaves a node by a NIC
  GroupShape shape;                        // of the ranks of one slice
};

struct FoldedFlow {
  FlowPattern pattern;           // of the representative; units and links are class indices
  std::vector<int> own_weights;  // parallel to pattern.links: of one member alone
  int slices = 1;                // ranks of each unit whose flows it stands for
};

struct Fold {
  struct UnitClass {
    int dp = 0, pp = 0, members = 1;
  };
  struct LinkClass {
    LinkId representative;
    int members = 1;
  };
  std::vector<UnitClass> units;  // classes in order of their first member
  std::vector<LinkClass> links;
  std::vector<FoldedFlow> flows;
  int ranks_each = 1;  // ranks of a unit
  int simulated_ranks = 0;
  std::string note;
  // Class of unit (dp, pp): unit_class[dp x pp_size + pp].
  std::vector<int> unit_class;
};

struct FoldOptions {
  bool fold = true;
  bool tied_embeddings = false;  // first and last stage reduce the embedding's gradient
};
Fold make_fold(const ParallelLayout& layout, const Fabric& fabric, const FoldOptions& options);

// Ranks of the unit at (dp, pp), in order of tp.
std::vector<RankId> unit_ranks(const ParallelLayout& layout, int dp, int pp);

}  // namespace rehearse
