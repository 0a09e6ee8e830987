// What the lines of nccl-tests' output hold, word by word.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

struct Word {
  std::string_view text;
  size_t at;
};

std::vector<Word> words_of(std::string_view text, size_t at = 0);

bool is_integer(std::string_view text);
// A number, or what stands for one that was not checked.
bool is_figure(std::string_view word);

// Of "size count type", which only a header has, or "bytes N type" of version 1; none: size().
size_t header_in(const std::vector<Word>& words);
// The name of a column, by today's word; nothing where nccl-tests prints none such.
std::string_view column_of(std::string_view word);

// Where a row begins: by its type, and behind a tag by a size that is its count of that type, or as often as
// there are ranks. None: size().
size_t row_in(const std::vector<Word>& words);
// What rows without a header hold, by their number of fields: size count type [redop] [root], then one or two
// of time algbw busbw [#wrong].
std::vector<std::string> presumed_columns(const std::vector<Word>& words);

// The end of "host:pid:thread", with which a message of NCCL begins; npos where it is no such.
size_t sender_end(std::string_view text, size_t at, const std::string& host);

// Whether a line says that some of a list were left out: "...", "[...]", "# (snip)".
bool is_ellipsis(std::string_view text);

}  // namespace rehearse
