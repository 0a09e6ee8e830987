// A profile out of samples.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "calibration/fit/document.hpp"
#include "calibration/fit/held_out.hpp"
#include "calibration/fit/tables.hpp"

namespace rehearse::calibration {

struct FitOptions {
  std::string name;            // of the profile; also the folder of its tables
  std::string constants;       // text of a file of constants; empty: none
  std::string constants_file;  // its path, for messages
  double thin = 0;             // leave out rows that the others predict within this fraction
};

// A row that its neighbours contradict: further off than 30 % and than twelve times the table's median.
struct Outlier {
  std::string table;
  FitPoint point;
};

struct Fit {
  std::string yaml;                           // NAME.yaml
  std::map<std::string, std::string> tables;  // NAME/FILE: text
  std::vector<TableFit> fits;
  std::vector<Outlier> outliers;
  std::vector<std::pair<std::string, int>> left_out;       // reason, samples
  std::vector<std::pair<std::string, int>> without_table;  // as Gathered's
  std::vector<NamedConstant> from_samples, guessed;        // constants, and where they come from
  std::vector<std::string> overruled;                      // stated by the file, where samples say otherwise
  size_t samples = 0;                                      // that took part
};

// Constants: of the file, else of the samples, else guesses that are marked. Tables by exact shape. Throws
// InputErrors where the file of constants is not what a profile takes (the profile is read back), or where no
// sample takes part (E-FIT-EMPTY).
Fit fit_profile(const std::vector<FitInput>& inputs, const FitOptions& options);

// Measured against fitted, one point a held-out row, both axes logarithmic.
std::string svg_of(const TableFit& fit);

}  // namespace rehearse::calibration
