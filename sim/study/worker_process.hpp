// The side of a sweep that prices: a process that answers one point after another.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/study/price.hpp"

namespace rehearse {

using PriceFn = std::function<Outcome(const Point&)>;
using DigestFn = std::function<std::string(const Point&)>;

// What a frame holds. Reading throws std::runtime_error for bytes that are none.
struct Order {
  size_t index = 0;    // of the study's points
  std::string digest;  // of that point at the sweep; empty: not to be compared
};
std::string bytes_of(const Order& order);
Order order_of(std::string_view bytes);
std::string bytes_of(const Outcome& outcome);
Outcome outcome_of(std::string_view bytes);

// Answers orders on a socket until its other end closes. What `price` throws becomes a failed outcome. Where
// the digest of a point is another than the sweep's, this process sees other files: it says so and returns.
void serve_points(int socket, const std::vector<Point>& points, const PriceFn& price, const DigestFn& digest);

}  // namespace rehearse
