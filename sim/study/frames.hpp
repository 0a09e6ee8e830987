// Messages between a sweep and the processes that price its points, over stream sockets.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rehearse {

enum class FrameKind : uint8_t {
  hello = 'H',    // process -> sweep: it is ready
  point = 'P',    // sweep -> process: price this one
  outcome = 'R',  // process -> sweep, in the order in which points were given
  refused = 'X',  // process -> sweep: it cannot take part; why
  stop = 'K',     // sweep -> what started the process elsewhere: kill it
  died = 'D',     // from what started it, in its place: how it died. What is on the way to it is lost
  buried = 'B',   // sweep -> what started it: what follows is for a new process
};

struct Frame {
  FrameKind kind = FrameKind::hello;
  std::string body;
};

// One frame: four bytes of length (of this machine's order), one of kind, the body.
std::string frame_bytes(FrameKind kind, std::string_view body);

// Writes all of it. False where the other end is gone.
bool send_bytes(int socket, std::string_view bytes);
bool send_frame(int socket, FrameKind kind, std::string_view body);

// Cuts what a socket gives into frames.
class FrameReader {
 public:
  // Waits for bytes and takes what there is. False where the other end is gone.
  bool fill(int socket);
  void take(std::string_view bytes) { held_.append(bytes); }
  // The next whole frame. Throws std::runtime_error for bytes that are none.
  std::optional<Frame> next();
  void clear() { held_.clear(), at_ = 0; }

 private:
  std::string held_;
  size_t at_ = 0;  // where the next frame begins
};

}  // namespace rehearse
