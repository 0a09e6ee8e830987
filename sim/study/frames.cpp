#include "sim/study/frames.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rehearse {

namespace {

constexpr size_t kHead = sizeof(uint32_t) + 1;
constexpr uint32_t kLongest = 64u << 20;  // an outcome takes about 1 kB

}  // namespace

std::string frame_bytes(FrameKind kind, std::string_view body) {
  const auto length = static_cast<uint32_t>(body.size());
  std::string bytes(kHead, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes[sizeof length] = static_cast<char>(kind);
  return bytes.append(body);
}

bool send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool send_frame(int socket, FrameKind kind, std::string_view body) {
  return send_bytes(socket, frame_bytes(kind, body));
}

bool FrameReader::fill(int socket) {
  char buffer[65536];
  ssize_t n = 0;
  do n = recv(socket, buffer, sizeof buffer, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  held_.erase(0, at_);
  at_ = 0;
  held_.append(buffer, static_cast<size_t>(n));
  return true;
}

std::optional<Frame> FrameReader::next() {
  if (held_.size() - at_ < kHead) return std::nullopt;
  uint32_t length = 0;
  std::memcpy(&length, held_.data() + at_, sizeof length);
  if (length > kLongest) throw std::runtime_error("bytes that are no message");
  if (held_.size() - at_ < kHead + length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(held_[at_ + sizeof length]), held_.substr(at_ + kHead, length)};
  at_ += kHead + length;
  return frame;
}

}  // namespace rehearse
