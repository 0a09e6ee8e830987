// rehearse collective: what is asked, and what is answered.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/collective.hpp"

namespace rehearse {

struct CollectiveRow {
  double bytes = 0, time_s = 0;
  double algbw = 0, busbw = 0;  // bytes/s
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::guess;
  bool outside = false;
  bool fewer_bytes = false;  // than a ring moves over the same links
  double link_bound = 0;     // bytes/s of busbw that the links allow this algorithm
  bool above_links() const { return busbw > link_bound * (1 + 1e-9); }  // then not to be trusted
  std::optional<double> measured_s;
  double error() const { return time_s / *measured_s - 1; }  // where there is a measured time
};

struct CollectiveAnswer {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::string topology, profile, network;
  int ranks = 0, nodes = 0, per_node = 0;  // nodes: as NCCL counts them, NVLink domains
  double link = 0;                         // bytes/s that bound busbw, of a ring where ranks make one
  std::vector<CollectiveRow> rows;
  std::vector<std::string> left_out;  // tables
  bool compared = false;
  double median_error = 0, p90_error = 0;  // of |error|
};

// In the layout of nccl-tests, its out-of-place columns, then what NCCL runs.
std::string collective_text(const CollectiveAnswer& answer);
std::string collective_json(const CollectiveAnswer& answer);

}  // namespace rehearse
