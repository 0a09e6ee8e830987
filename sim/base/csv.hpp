// Cells of the CSV that is written.
#pragma once
#include <string>

namespace rehearse {

// Quoted as RFC 4180 has it where need be. A text that a spreadsheet would take for a formula (it begins with
// = + - @ and is no number) stands behind an apostrophe, which spreadsheets do not show.
std::string csv_cell(const std::string& text);

}  // namespace rehearse
