// Rejections of input, with the place, a stable code and the mend.
#pragma once
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace rehearse {

// A place in a text that the user gave. line and column count from 1; 0 = unknown.
struct Place {
  std::string file;  // path as the user would write it, or "--set KEY=VALUE"
  int line = 0;
  int column = 0;
  std::string source_line;  // the text of that line, for the caret
};

struct InputError {
  Place place;
  std::string key_path;  // "layout.tp"; may be empty
  std::string code;      // stable, "E-LAYOUT-GPUS"; listed in the README
  std::string message;   // one sentence, no full stop
  std::string hint;      // how to mend it; may be empty
};

// Thrown by readers and checks; carries all that was found at once.
class InputErrors : public std::exception {
 public:
  explicit InputErrors(std::vector<InputError> found) : errors(std::move(found)) { text_ = format(errors); }
  explicit InputErrors(InputError e) : InputErrors(std::vector<InputError>{std::move(e)}) {}
  const char* what() const noexcept override { return text_.c_str(); }
  std::vector<InputError> errors;

  // "file:line:col: error: text [E-CODE]" + source line + caret + hint, one block an error;
  // printable UTF-8, whatever the input was.
  static std::string format(const std::vector<InputError>& errors);

 private:
  std::string text_;
};

// Something accepted but doubtful; printed to stderr once and repeated in the JSON's provenance.
struct Warning {
  std::string code;  // "W-TP-NODE"
  std::string message;
  bool operator==(const Warning&) const = default;
};

}  // namespace rehearse
