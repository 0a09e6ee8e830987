// Readings of the parts of a scenario; each takes the value of its key.
#pragma once
#include "sim/io/reader.hpp"
#include "sim/spec/scenario.hpp"

namespace rehearse {

LayoutSpec read_layout(const DocNode& node, Problems& problems);  // dp = 0 where it is not given
BatchSpec read_batch(const DocNode& node, Problems& problems);    // sequence = 0 where it is not given
Recompute read_recompute(const DocNode& node, Problems& problems);
Precision read_precision(const DocNode& node, Problems& problems);
Overlap read_overlap(const DocNode& node, Problems& problems);
// What NCCL may choose from: {algorithm: ring, protocol: ^ll128}, the words of NCCL_ALGO and NCCL_PROTO.
NcclFilter read_collectives(const DocNode& node, Problems& problems);

// The mapping that a word of `precision` stands for, at the word's place; nothing where it is no such word.
bool expand_precision(DocNode& node);

}  // namespace rehearse
