#include "calibration/backends/host/collectives.hpp"

#include <algorithm>
#include <cstring>

namespace rehearse::calibration::host {

Parties::~Parties() {
  for (auto& [members, party] : parties_)
    if (party.communicator != MPI_COMM_NULL) MPI_Comm_free(&party.communicator);
}

void Parties::prepare(std::vector<std::vector<int>> groups) {
  std::sort(groups.begin(), groups.end());
  int running = 0;
  MPI_Initialized(&running);
  for (const auto& members : groups) {
    if (members.empty() || parties_.count(members)) continue;
    Party& party = parties_[members];
    if (!running) continue;
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, int(members.size()), members.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &party.communicator);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_size(party.communicator, &party.size);
    MPI_Comm_rank(party.communicator, &party.index);
  }
}

namespace {

struct Buffers {
  const void* send;  // MPI_IN_PLACE where the operation works on one buffer
  float* receive;
  int send_count, receive_count;  // elements
};

void reduce_scatter(bool in_place, const Buffers& b, int share, const Party& p) {
  MPI_Reduce_scatter_block(b.send, b.receive, share, MPI_FLOAT, MPI_SUM, p.communicator);
  // MPI leaves the result at the start of the buffer.
  if (in_place && p.index > 0)
    std::memmove(b.receive + int64_t(p.index) * share, b.receive, size_t(share) * sizeof(float));
}

void send_recv(bool in_place, const Buffers& b, const Party& p) {
  const int next = (p.index + 1) % p.size, before = (p.index + p.size - 1) % p.size;
  if (in_place)
    MPI_Sendrecv_replace(b.receive, b.receive_count, MPI_FLOAT, next, 0, before, 0, p.communicator,
                         MPI_STATUS_IGNORE);
  else
    MPI_Sendrecv(b.send, b.send_count, MPI_FLOAT, next, 0, b.receive, b.receive_count, MPI_FLOAT, before, 0,
                 p.communicator, MPI_STATUS_IGNORE);
}

void copy_alone(bool in_place, Tensors operands) {
  if (in_place) return;
  std::memcpy(operands[1].data, operands[0].data, size_t(operands[0].spec.count) * sizeof(float));
}

}  // namespace

void run_collective(const CollectiveCall& call, Tensors operands, const Party& party) {
  const bool in_place = call.in_place;
  if (party.communicator == MPI_COMM_NULL) return copy_alone(in_place, operands);
  const Tensor &first = operands.front(), &last = operands.back();
  const Buffers b{in_place ? MPI_IN_PLACE : first.data, floats(last), int(first.spec.count),
                  int(last.spec.count)};
  const int share = std::max(b.send_count, b.receive_count) / party.size;
  switch (call.op) {
    case CollectiveOp::all_reduce:
      MPI_Allreduce(b.send, b.receive, b.receive_count, MPI_FLOAT, MPI_SUM, party.communicator);
      return;
    case CollectiveOp::all_gather:
      MPI_Allgather(b.send, share, MPI_FLOAT, b.receive, share, MPI_FLOAT, party.communicator);
      return;
    case CollectiveOp::reduce_scatter:
      return reduce_scatter(in_place, b, share, party);
    case CollectiveOp::all_to_all:
      MPI_Alltoall(b.send, share, MPI_FLOAT, b.receive, share, MPI_FLOAT, party.communicator);
      return;
    case CollectiveOp::send_recv:
      return send_recv(in_place, b, party);
    case CollectiveOp::broadcast:
      if (!in_place && party.index == 0)
        std::memcpy(b.receive, b.send, size_t(b.receive_count) * sizeof(float));
      MPI_Bcast(b.receive, b.receive_count, MPI_FLOAT, 0, party.communicator);
      return;
  }
}

}  // namespace rehearse::calibration::host
