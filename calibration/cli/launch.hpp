// Starting the program again as several ranks.
#pragma once
#include <string>
#include <vector>

namespace rehearse::calibration {

// This process's number where a launcher (mpirun, srun) started it; -1: started alone.
int launched_rank();

// What a rank other than the first returns in place of `status`: the same, but on a failure only after the
// first has had two seconds to say why, as mpirun ends all ranks with the first process that fails.
int after_first_rank(int status);

// Cores that this process may run on.
int usable_cores();

// How many ranks a command runs as when nobody says: 2 on the host where there are two cores and mpirun, so
// that collectives move something; else 1.
int default_ranks(const std::string& backend);

// Becomes `mpirun -n ranks program words...`: one core a rank and one thread, root allowed where this is
// root. Returns only where mpirun cannot be started: throws InputErrors E-BACKEND.
[[noreturn]] void restart_under_mpirun(int ranks, const std::string& program,
                                       const std::vector<std::string>& words);

// Whether a person watches standard error; seen by the ranks too, whose standard error is a pipe.
bool is_watched();

}  // namespace rehearse::calibration
