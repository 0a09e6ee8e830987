// The edges of a task graph as Boost.Graph's compressed rows. Apart from task_graph.hpp, as many read that
// file and few the edges, and Boost's header takes longer to compile than the rest of it together.
#pragma once
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "sim/graph/task_graph.hpp"

namespace rehearse {

struct Csr : boost::compressed_sparse_row_graph<boost::bidirectionalS> {
  using compressed_sparse_row_graph::compressed_sparse_row_graph;
};

// (from, to) in any order; edges of one task keep the order they are given in.
template <typename Index>
std::shared_ptr<const Csr> csr_of(const std::vector<std::pair<Index, Index>>& edges, size_t tasks) {
  return std::make_shared<const Csr>(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), tasks);
}

// Of a graph that was given none: no vertices.
inline const Csr& edges_of(const TaskGraph& graph) {
  if (graph.edges) return *graph.edges;
  static const Csr none;
  return none;
}

}  // namespace rehearse
