#include "sim/study/worker_process.hpp"

#include <cstring>
#include <stdexcept>

#include "sim/study/frames.hpp"

namespace rehearse {

namespace {

void put(std::string& bytes, uint64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& bytes, const std::string& text) {
  put(bytes, text.size());
  bytes += text;
}
void put(std::string& bytes, const std::vector<double>& values) {
  put(bytes, values.size());
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

// Takes values from the front of a text.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : left_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  std::vector<double> values() {
    const uint64_t count = number();
    if (count > left_.size() / sizeof(double)) throw std::runtime_error("a message that is cut");
    std::vector<double> values(count);
    if (count > 0) std::memcpy(values.data(), take(count * sizeof(double)).data(), count * sizeof(double));
    return values;
  }

 private:
  std::string_view take(size_t size) {
    if (size > left_.size()) throw std::runtime_error("a message that is cut");
    const auto taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::string_view left_;
};

Outcome priced(const Point& point, const PriceFn& price) {
  try {
    return price(point);
  } catch (const std::exception& e) {
    return {.verdict = Verdict::failed, .code = "E-POINT-CRASH", .message = e.what()};
  }
}

}  // namespace

std::string bytes_of(const Order& order) {
  std::string bytes;
  put(bytes, order.index);
  put(bytes, order.digest);
  return bytes;
}

Order order_of(std::string_view bytes) {
  Taker from(bytes);
  Order order;
  order.index = from.number();
  order.digest = from.text();
  return order;
}

std::string bytes_of(const Outcome& outcome) {
  std::string bytes;
  put(bytes, static_cast<uint64_t>(outcome.verdict));
  put(bytes, outcome.code);
  put(bytes, outcome.message);
  put(bytes, outcome.figures);
  put(bytes, outcome.stage_peak_bytes);
  return bytes;
}

Outcome outcome_of(std::string_view bytes) {
  Taker from(bytes);
  Outcome outcome;
  outcome.verdict = static_cast<Verdict>(from.number());
  outcome.code = from.text();
  outcome.message = from.text();
  outcome.figures = from.values();
  outcome.stage_peak_bytes = from.values();
  return outcome;
}

void serve_points(int socket, const std::vector<Point>& points, const PriceFn& price,
                  const DigestFn& digest) {
  FrameReader in;
  if (!send_frame(socket, FrameKind::hello, "")) return;
  while (in.fill(socket))
    while (const auto frame = in.next()) {
      const Order order = order_of(frame->body);
      const bool known = order.index < points.size();
      if (!known || (!order.digest.empty() && digest(points[order.index]) != order.digest)) {
        send_frame(socket, FrameKind::refused, "");
        return;
      }
      if (!send_frame(socket, FrameKind::outcome, bytes_of(priced(points[order.index], price)))) return;
    }
}

}  // namespace rehearse
