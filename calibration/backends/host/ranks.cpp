#include "calibration/backends/ranks.hpp"

#include <mpi.h>

#include <cstdlib>
#include <stdexcept>

namespace rehearse::calibration {
namespace {

class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int per_node() const override { return 1; }
  void barrier() override {}
  std::vector<double> gather(double value) override { return {value}; }
  std::string broadcast(const std::string& text, int) override { return text; }
};

// MPI is called from the thread that made this one alone.
class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank_);
    MPI_Comm_size(node, &per_node_);
    MPI_Comm_free(&node);
    // Every rank sees the same and throws or none.
    for (double p : gather(per_node_))
      if (int(p) != per_node_) fail("nodes hold different numbers of ranks");
    if (any(rank_ % per_node_ != local_rank_))
      fail("ranks are not numbered node by node; start them so (mpirun --map-by slot)");
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int per_node() const override { return per_node_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  std::vector<double> gather(double value) override {
    std::vector<double> all(static_cast<size_t>(size_));
    MPI_Allgather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }
  std::string broadcast(const std::string& text, int root) override {
    auto length = static_cast<unsigned long long>(text.size());
    MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, MPI_COMM_WORLD);
    std::string result = text;
    result.resize(length);
    MPI_Bcast(result.data(), static_cast<int>(length), MPI_CHAR, root, MPI_COMM_WORLD);
    return result;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    MPI_Finalize();
    throw std::runtime_error(what);
  }

  int rank_ = 0, size_ = 1, local_rank_ = 0, per_node_ = 1;
};

// Open MPI's mpirun; PMIx (srun --mpi=pmix, prte); PMI of Slurm, MPICH and Intel MPI.
bool started_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

std::unique_ptr<Ranks> make_ranks() {
  if (started_by_launcher()) return std::make_unique<MpiRanks>();
  return std::make_unique<OneRank>();
}

}  // namespace rehearse::calibration
