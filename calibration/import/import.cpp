#include "calibration/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "calibration/import/parts.hpp"
#include "sim/base/file.hpp"
#include "sim/io/log_tags.hpp"
#include "sim/spec/bus_factor.hpp"

namespace rehearse::calibration {
namespace {

// Reduction in the switch and trees over two nodes let an all_reduce move each byte once.
double wire_factor(const CollectiveCall& call) {
  const bool may_be_reduced_on_the_way = call.group.size > 4 || call.group.nodes > 1;
  return call.op == CollectiveOp::all_reduce && may_be_reduced_on_the_way
             ? bus_factor(CollectiveOp::all_reduce, call.group.size)
             : 1;
}

// Rows that no device can have reached become rejected samples.
void bound(Sample& s, const Limits& limits) {
  if (s.status != Status::ok) return;
  const double seconds = s.device.median, flops = flops_of(s.work) / seconds;
  DType dtype = DType::bf16;
  if (const auto* gemm = std::get_if<GemmCall>(&s.work)) dtype = gemm->dtype;
  if (const auto* attention = std::get_if<AttentionCall>(&s.work)) dtype = attention->dtype;
  if (const double peak = limits.peak(dtype); peak > 0 && flops > peak) {
    s.status = Status::rejected, s.code = "above-peak";
    s.reason = fmt::format("{:.4g} of {:.4g} TFLOP/s", flops * 1e-12, peak * 1e-12);
  }
  const auto* call = std::get_if<CollectiveCall>(&s.work);
  if (!call || call->group.nodes > 1 || limits.link_bytes_per_s <= 0) return;
  const double bus = call->bytes / seconds * bus_factor(call->op, call->group.size);
  if (bus > limits.link_bytes_per_s * wire_factor(*call)) {
    s.status = Status::rejected, s.code = "above-wire";
    s.reason = fmt::format("{:.4g} of {:.4g} GB/s", bus * 1e-9, limits.link_bytes_per_s * 1e-9);
  }
}

double size_of(const Sample& s) { return std::get<CollectiveCall>(s.work).bytes; }

// The size nearest to each power of two, of two as near ones the smaller.
std::vector<Sample> thinned(std::vector<Sample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
  std::vector<Sample> kept;
  const int first = int(std::floor(std::log2(size_of(samples.front())))),
            last = int(std::floor(std::log2(size_of(samples.back()) * 1.5)));
  for (int exponent = first; exponent <= last; ++exponent) {
    const double power = std::exp2(exponent);
    const auto nearest = std::min_element(samples.begin(), samples.end(), [&](const auto& a, const auto& b) {
      return std::abs(std::log2(size_of(a) / power)) < std::abs(std::log2(size_of(b) / power));
    });
    if (kept.empty() || size_of(kept.back()) != size_of(*nearest)) kept.push_back(*nearest);
  }
  return kept;
}

// Each operation, type and group by itself.
void thin(std::vector<Sample>& samples) {
  std::map<std::string, std::vector<Sample>> curves;
  for (auto& s : samples) {
    CollectiveCall call = std::get<CollectiveCall>(s.work);
    call.bytes = 1;
    curves[point_of(call)].push_back(std::move(s));
  }
  samples.clear();
  for (auto& [point, curve] : curves)
    std::ranges::move(thinned(std::move(curve)), std::back_inserter(samples));
}

// The nodes of one NVLink domain are one node. Domains are filled evenly.
void join_domains(std::vector<Sample>& samples, int domain) {
  for (auto& s : samples)
    if (auto* call = std::get_if<CollectiveCall>(&s.work); call && domain > 1) {
      const int domains = (call->group.nodes + domain - 1) / domain;
      call->group.nodes = domains, call->group.per_node = call->group.size / domains;
    }
}

void select(Imported& in, const ImportOptions& options) {
  const size_t before = in.samples.size();
  const bool collectives = std::all_of(in.samples.begin(), in.samples.end(), [](const Sample& s) {
    return std::holds_alternative<CollectiveCall>(s.work);
  });
  if (collectives && options.least_bytes > 0)
    std::erase_if(in.samples, [&](const Sample& s) { return size_of(s) < options.least_bytes; });
  if (collectives && options.thin && !in.samples.empty()) thin(in.samples);
  if (in.samples.size() < before)
    in.notes.push_back(fmt::format("{} of {} sizes left out as asked", before - in.samples.size(), before));
}

// Of a shape that stands twice the faster row, one that is believed before one that is not.
void keep_fastest(Imported& in) {
  std::map<std::string, size_t> at;
  std::vector<Sample> kept;
  for (auto& s : in.samples) {
    const auto [place, fresh] = at.emplace(point_of(s.work), kept.size());
    if (fresh) {
      kept.push_back(std::move(s));
      continue;
    }
    Sample& other = kept[place->second];
    const bool ok = s.status == Status::ok, other_ok = other.status == Status::ok;
    if (ok != other_ok ? ok : s.device.median < other.device.median) other = std::move(s);
  }
  if (const size_t again = in.samples.size() - kept.size())
    in.notes.push_back(fmt::format("{} rows of a shape that stands twice: the faster one kept", again));
  in.samples = std::move(kept);
}

}  // namespace

Imported import_text(const std::string& whole, const std::string& file, const ImportOptions& options) {
  using namespace importing;
  const std::string text(without_bom(whole));
  Imported out;
  out.environment = environment_of(file, options);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) refuse(file, {"", 1}, 1, "E-IMPORT-FORMAT", "the file is empty");
  const Line first = lines_of(text).front();
  if (const auto log = read_nccl(text, shown_path(file)))
    take_nccl(*log, file, options, out);
  else if (first.text.find(',') != std::string_view::npos)
    read_csv(text, file, options, out);
  else
    refuse(file, first, 1, "E-IMPORT-FORMAT", "neither a log of nccl-tests nor a table of known columns");
  join_domains(out.samples, options.domain);
  for (auto& s : out.samples) bound(s, out.environment.limits);
  keep_fastest(out);
  select(out, options);
  out.environment.id = digest_of(out.environment);
  for (auto& s : out.samples) s.environment = out.environment.id;
  return out;
}

}  // namespace rehearse::calibration
