// Cross-checks of a scenario whose fields were read one by one.
#pragma once
#include <map>
#include <string>

#include "sim/spec/scenario.hpp"

namespace rehearse {

// Where each key of a scenario stands, by key path ("layout.tp"); the keys of a model or topology file are in
// it too. Keys that were not given are not in it.
struct Places {
  std::map<std::string, Place, std::less<>> by_key;
  Place whole;  // the scenario itself

  bool given(std::string_view key_path) const { return by_key.find(key_path) != by_key.end(); }
  // The place of a key, or of what encloses it.
  Place find(std::string_view key_path) const;
};

// Derives layout.dp where it is 0 (not given), checks all fields against each other, and adds warnings.
// Throws InputErrors, all that was found at once. The codes stand in base/codes.hpp.
void check(Scenario& scenario, const Places& places = {});

}  // namespace rehearse
