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

// Runs `mpirun -n ranks program words...` and returns its status, which is that of the ranks: one core a rank
// and one thread, root allowed where this is root. Signals are passed on. Throws InputErrors E-BACKEND where
// mpirun or its ranks cannot be started.
int run_under_mpirun(int ranks, const std::string& program, const std::vector<std::string>& words);

// What the first rank says to run_under_mpirun() as soon as it runs.
void tell_started();

// Whether a person watches standard error; seen by the ranks too, whose standard error is a pipe.
bool is_watched();

}  // namespace rehearse::calibration
