// One trace event as a line of JSON: names, colours and arguments.
#pragma once
#include <fmt/format.h>

#include <string_view>

#include "sim/view/trace_events.hpp"

namespace rehearse {

using TraceText = fmt::memory_buffer;

// Appends `text` as a JSON string; what is not UTF-8 becomes U+FFFD.
void append_string(TraceText& out, std::string_view text);

// The name of a thread id, 1 .. 8.
std::string_view lane_name(int lane);

struct TraceLine {  // what an event's text needs besides the event
  RankId rank;
  bool expanded = false;    // a task whose kernels follow
  int64_t arrow = 0;        // id of an arrow's ends
  int64_t correlation = 0;  // of a kernel in the per-rank form
};
// Appends the event without a line's end.
void append_event(TraceText& out, const TraceInput& in, const TraceForm& form, const TraceEvent& event,
                  const TraceLine& line);

// Appends `steps` of the form's grid in microseconds: "100.625".
void append_time(TraceText& out, const TraceForm& form, int64_t steps);

}  // namespace rehearse
