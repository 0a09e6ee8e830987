// What launchers put before lines, and inside of them where a program flushes: "[1,0]<stdout>:" of mpirun,
// "0: " of srun, times of day, names of containers. A line of nccl-tests that holds '#' shows what stands
// before it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

// A line without terminal colours and tags, and where each of its characters stood.
struct CleanLine {
  std::string text;
  std::vector<int> columns;  // of each character in the line as written, from 1; one more for its end

  int column(size_t at) const { return columns[at]; }
};

// Without the mark that some editors put first.
std::string_view without_bom(std::string_view text);

// `line` as written, its blanks of all kinds as blanks, without the escapes that colour a terminal and
// without a carriage return.
CleanLine plain_line(std::string_view line);

// What stands before the lines of one log: alike but for its numbers, weekdays and months.
class LineTags {
 public:
  // `before`: what stands before the '#' of a line that is known.
  void learn(std::string_view before);
  bool known() const { return !shape_.empty(); }
  // The line without its tag at the start and where it stands again; unchanged where it has none.
  CleanLine without(const CleanLine& line) const;

 private:
  struct Piece {
    enum Kind { digits, blanks, calendar, letter } kind = letter;
    char is = 0;        // a letter
    size_t length = 1;  // of digits, where a tag stands inside of a line
  };
  static std::vector<Piece> shape_of(std::string_view tag);
  // Where a tag of this shape that begins at `at` ends; npos where none does.
  static size_t end_of(const std::vector<Piece>& shape, std::string_view text, size_t at, bool inside);

  std::vector<Piece> shape_;                  // at the start of lines
  std::vector<std::vector<Piece>> repeated_;  // inside of lines, longest first
};

}  // namespace rehearse
