// rehearse collective: one collective on an idle machine, size by size, as nccl-tests would print it.
#include "sim/cli/collective.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <iostream>
#include <map>

#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/cli/collective_against.hpp"
#include "sim/cli/collective_group.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cost/moved_bytes.hpp"
#include "sim/cost/transfers.hpp"
#include "sim/io/profile.hpp"
#include "sim/io/topology.hpp"
#include "sim/spec/names.hpp"

namespace rehearse {

namespace {

constexpr int kMostRanks = 16'777'216;
constexpr size_t kMostRows = 10'000;

struct Words {
  std::string topology, profile, bytes, against, algo, proto, json;
  std::vector<std::string> without;
  int ranks = 0, per_node = 0;
  double step = 2;
  bool quiet = false;
};

Place place_of_option(const std::string& option, const std::string& text) {
  return {option + " " + text, 1, 1, text};
}

// Of what no algorithm and protocol that is allowed can run, or nothing chooses: the option that says so.
[[noreturn]] void refuse_choice(const Words& w, const NcclFilter& asked, std::string message) {
  const NcclFilter more = with_ring(asked);
  const bool of_algo = !w.algo.empty() && (w.proto.empty() || more.algorithms != asked.algorithms);
  std::string hint = "try";
  if (!w.algo.empty()) hint += " --algo " + nccl_list(more.algorithms, kAlgorithmNames);
  if (!w.proto.empty()) hint += " --proto " + nccl_list(more.protocols, kProtocolNames);
  throw InputErrors(
      InputError{of_algo ? place_of_option("--algo", w.algo) : place_of_option("--proto", w.proto), "",
                 "E-NCCL-ALGO", std::move(message), "ring runs them all: " + hint});
}

boost::program_options::options_description options_of(Words& w) {
  namespace po = boost::program_options;
  po::options_description all;
  all.add_options()                                                                                        //
      ("topology", po::value(&w.topology)->value_name("NAME|FILE"), "the cluster")                         //
      ("profile", po::value(&w.profile)->value_name("NAME|FILE"), "the GPU")                               //
      ("ranks", po::value(&w.ranks)->value_name("N"), "GPUs that take part; default: those of --against")  //
      ("per-node", po::value(&w.per_node)->value_name("G"), "of each node, its first; default: all")       //
      ("bytes", po::value(&w.bytes)->value_name("A..B"), "sizes as nccl-tests counts them: 8..8GiB")       //
      ("step", po::value(&w.step)->value_name("F"), "factor from size to size; default 2")                 //
      ("against", po::value(&w.against)->value_name("FILE"),
       "measured: output of nccl-tests, or a CSV; its sizes are used, and of the times in place and out of "
       "place the smaller")  //
      ("without-table", po::value(&w.without)->value_name("GLOB"),
       "as if the profile had no such table files (repeatable)")                                           //
      ("algo", po::value(&w.algo)->value_name("WORDS"), "as NCCL_ALGO: ring, or Ring,Tree, or ^NVLSTree")  //
      ("proto", po::value(&w.proto)->value_name("WORDS"), "as NCCL_PROTO: ll, LL128, Simple, or ^LL128")   //
      ("json", po::value(&w.json)->value_name("FILE|-"), "write JSON; - replaces the table")               //
      ("quiet", po::bool_switch(&w.quiet), "no notes on stderr");
  return all;
}

template <class T, size_t N>
uint8_t bits_of(const std::string& text, const Named<T> (&table)[N], const char* option) {
  std::string unknown;
  const auto bits = nccl_bits(text, table, unknown);
  if (bits) return *bits;
  if (unknown.empty() && !text.empty())
    throw InputErrors(InputError{place_of_option(option, text), "", "E-NCCL-ALGO",
                                 std::string(option) + " " + quote(text) + " leaves nothing", ""});
  refuse(std::string(option) + " does not know " + quote(unknown), suggest_nccl(unknown, table));
}

double bytes_of_word(std::string_view word) {
  const auto plain = parse_number(word);
  if (plain.value && *plain.value >= 1) return std::floor(*plain.value);
  const auto parsed = parse_quantity(word, Dimension::bytes);
  if (!parsed.value || *parsed.value < 1)
    refuse("--bytes: " + quote(word) + " is no size from 1 byte on", "as in --bytes 8..8GiB");
  return std::floor(*parsed.value);
}

std::vector<double> sizes_of(const Words& w) {
  const size_t dots = w.bytes.find("..");
  const std::string_view text(w.bytes);
  const double from = bytes_of_word(text.substr(0, dots));
  const double to = dots == std::string::npos ? from : bytes_of_word(text.substr(dots + 2));
  if (to < from) refuse("--bytes " + quote(w.bytes) + " is no range", "as in --bytes 8..8GiB");
  if (!(w.step > 1) || !std::isfinite(w.step)) refuse("--step must be above 1");
  std::vector<double> sizes;
  double size = from;
  while (size <= to) {
    sizes.push_back(size);
    size = std::max(size + 1, std::floor(size * w.step));
    if (sizes.size() > kMostRows)
      refuse(fmt::format("--bytes {} makes more than {} sizes", quote(w.bytes), kMostRows),
             "a larger --step");
  }
  return sizes;
}

// A path or a shipped name that an option gives.
std::string path_of(const std::string& word, const char* option, FileKind kind, const DataRoots& roots) {
  if (word.empty()) refuse(std::string(option) + " is missing");
  DocNode node;
  node.kind = NodeKind::scalar;
  node.text = word;
  node.quoted = true;
  Problems problems;
  const auto path = resolve(node, option, kind, ".", roots, problems);
  problems.raise();
  return *path;
}

void check_group(Words& w, const Cluster& cluster) {
  if (w.per_node == 0) w.per_node = std::min(w.ranks, cluster.gpus_per_node);
  if (w.ranks < 2) refuse("--ranks must be 2 or more", "as in --ranks 16 --per-node 8");
  if (w.ranks > kMostRanks) refuse(fmt::format("--ranks must be at most {}", kMostRanks));
  if (w.per_node > cluster.gpus_per_node && w.per_node <= cluster.gpus_per_domain() &&
      w.per_node % cluster.gpus_per_node == 0)
    w.per_node = cluster.gpus_per_node;  // of an NVLink domain: all of its nodes
  if (w.per_node < 1 || w.per_node > cluster.gpus_per_node)
    refuse(fmt::format("--per-node must be 1 to {}, the GPUs of a node", cluster.gpus_per_node));
  if (w.ranks % w.per_node) refuse(fmt::format("{} ranks do not fill nodes of {}", w.ranks, w.per_node));
}

std::shared_ptr<const DeviceProfile> without_tables(std::shared_ptr<const DeviceProfile> profile,
                                                    const Words& w, CollectiveAnswer& answer) {
  if (w.without.empty()) return profile;
  auto less = std::make_shared<DeviceProfile>(*profile);
  for (const auto& glob : w.without) {
    const size_t before = less->collectives.size();
    std::erase_if(less->collectives, [&](const CollectiveTable& t) {
      const std::string stem = t.file.substr(0, t.file.rfind('.'));
      const bool out = !fnmatch(glob.c_str(), t.file.c_str(), 0) || !fnmatch(glob.c_str(), stem.c_str(), 0);
      if (out) answer.left_out.push_back(t.file);
      return out;
    });
    if (!w.quiet && less->collectives.size() == before)
      std::cerr << "note: no table of " << less->name << " is named " << quote(glob) << '\n';
  }
  return less;
}

// How often the bytes that the algorithm moves over the links that bound a ring, NICs or NVLink inside one
// node, go into what the ring moves: above 1 where switches reduce or a tree joins two nodes.
double spared(CollectiveOp op, const GroupShape& shape, Algorithm algorithm) {
  const double ring = bytes_sent_per_rank(op, shape.ranks, 1);
  const bool switches = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree ||
                        algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
  if (shape.nodes == 1)  // who gathers or scatters receives or sends all of it, whatever the switch does
    return op == CollectiveOp::all_reduce && switches ? std::max(1.0, ring) : 1;
  if (op != CollectiveOp::all_reduce && op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter)
    return 1;
  CollectiveQuery q{.op = op, .ranks = shape.ranks, .nodes = shape.nodes, .per_node = shape.per_node};
  q.bytes = 1;
  return std::max(1.0, ring / wire_bytes(q, algorithm, Protocol::simple));
}

// Bytes/s that bound busbw. What a rank sends in an all_to_all leaves its domain but for the share of its
// fellows: (n-1)/(n-g) times the rank's part of the NICs' rate, (n-1)/n x N/(N-1) on N domains of g.
double link_bound(const Cluster& cluster, const CollectiveGroup& group, CollectiveOp op) {
  const GroupShape& shape = group.shape;
  if (shape.nodes == 1) return shape.nvlink ? cluster.nvlink.value : group.on_links.value;
  const double rate = std::min(cluster.port() * group.ports, group.on_links).value;
  if (op != CollectiveOp::all_to_all) return rate;
  const double n = shape.ranks, g = shape.per_node;
  return rate / g * (n - 1) / (n - g);
}

CollectiveRow price(const Scenario& s, const CollectiveGroup& group, CollectiveOp op, double bytes,
                    double link) {
  CollectiveRow row;
  row.bytes = bytes;
  const CollectiveCost cost =
      group_collective(s, op, group.shape, Bytes(bytes), group.ports, group.hop_latency);
  row.time_s = cost.time.value;
  if (cost.link_bytes > 0) {  // which links of this cluster may let pass less than its NICs
    const double reached = group.shape.nodes > 1 ? s.stack.network_efficiency.value : kPcieEfficiency;
    const double rate = std::min(cost.rate_cap.value, group.on_links.value * reached);
    row.time_s = std::max(row.time_s, cost.latency.value + cost.link_bytes / rate);
  }
  row.basis = cost.basis, row.outside = cost.outside;
  row.algorithm = cost.algorithm, row.protocol = cost.protocol;
  row.algbw = bytes / row.time_s;
  row.busbw = row.algbw * bus_factor(op, group.shape.ranks);
  const double times = spared(op, group.shape, row.algorithm);
  row.fewer_bytes = times > 1 + 1e-9, row.link_bound = link * times;
  return row;
}

// The same; what NCCL's model refuses is the fault of an option.
CollectiveRow price_asked(const Words& w, const Scenario& s, const CollectiveGroup& group, CollectiveOp op,
                          double bytes, double link) {
  try {
    return price(s, group, op, bytes, link);
  } catch (const InputErrors& found) {
    if (found.errors[0].code != "E-NCCL-ALGO") throw;
    refuse_choice(w, s.stack.nccl, found.errors[0].message);
  }
}

void compare(CollectiveAnswer& answer) {
  std::vector<double> errors;
  for (const auto& row : answer.rows)
    if (row.measured_s) errors.push_back(std::abs(row.error()));
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const size_t n = errors.size();
  answer.compared = true;
  answer.median_error = n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
  answer.p90_error = errors[std::min(n - 1, static_cast<size_t>(std::ceil(0.9 * double(n))) - 1)];
}

// What --against names; its group where the words name none.
std::optional<MeasuredCollective> measured_of(Words& w, CollectiveOp op) {
  if (w.against.empty()) return std::nullopt;
  if (!w.bytes.empty()) refuse("--against brings its own sizes", "leave out --bytes");
  auto measured = read_measured_collective(w.against, op, {std::max(w.ranks, 0), std::max(w.per_node, 0)});
  if (w.ranks == 0) w.ranks = measured.ranks;
  if (w.per_node == 0 && measured.nodes > 0 && w.ranks == measured.ranks)
    w.per_node = w.ranks / measured.nodes;
  return measured;
}

// Sizes, with their measured times where there are any.
std::vector<MeasuredCollective::Row> rows_of(const Words& w,
                                             const std::optional<MeasuredCollective>& measured) {
  if (measured) return measured->rows;
  if (w.bytes.empty()) refuse("--bytes or --against is missing", "as in --bytes 8..8GiB");
  std::vector<MeasuredCollective::Row> rows;
  for (const double bytes : sizes_of(w)) rows.push_back({bytes, 0, {}});
  return rows;
}

// Algorithms whose predictions no links allow, with how many sizes.
void warn_of_impossible(const CollectiveAnswer& answer) {
  std::map<std::string_view, std::pair<int, double>> found;
  for (const auto& row : answer.rows)
    if (row.above_links())
      ++found[name_of(row.algorithm)].first, found[name_of(row.algorithm)].second = row.link_bound;
  for (const auto& [algorithm, at] : found)
    std::cerr << fmt::format(
        "warning: at {} size{} busbw of {} is above the {:.4g} GB/s that the links allow: the profile's "
        "tables "
        "are of faster ones, and the prediction is not to be trusted [W-PROFILE-RANGE]\n",
        at.first, at.first == 1 ? "" : "s", algorithm, at.second * 1e-9);
}

CollectiveAnswer answer_of(Words& w, CollectiveOp op, const DataRoots& roots) {
  CollectiveAnswer answer;
  Scenario s;  // what pricing reads of one
  s.cluster = load_topology(path_of(w.topology, "--topology", FileKind::topology, roots));
  s.profile = load_profile(path_of(w.profile, "--profile", FileKind::profile, roots));
  Cluster& cluster = s.cluster;
  if (cluster.nvlink.value == 0) {
    cluster.nvlink = BytesPerSec(s.profile->nvlink_bytes_per_s.value);
    cluster.nvlink_latency = Seconds(s.profile->nvlink_latency_s.value);
  }
  const auto measured = measured_of(w, op);
  check_group(w, cluster);
  s.profile = without_tables(s.profile, w, answer);
  s.stack = *s.profile->stack(s.profile->default_stack);
  if (!w.algo.empty()) s.stack.nccl.algorithms = bits_of(w.algo, kAlgorithmNames, "--algo");
  if (!w.proto.empty()) s.stack.nccl.protocols = bits_of(w.proto, kProtocolNames, "--proto");
  if (!s.stack.nccl.all() && !s.profile->architecture)
    throw InputErrors(InputError{
        w.algo.empty() ? place_of_option("--proto", w.proto) : place_of_option("--algo", w.algo), "",
        "E-NCCL-ALGO",
        "profile " + s.profile->name + " names no architecture, so that NCCL's model does not choose",
        "leave out --algo and --proto"});
  if (!w.quiet && cluster.gpu != s.profile->name)
    std::cerr << fmt::format("warning: profile {} on a cluster of {} [W-PROFILE-GPU]\n", s.profile->name,
                             cluster.gpu);
  const CollectiveGroup group = collective_group(cluster, w.ranks, w.per_node, op);
  answer.op = op;
  answer.topology = cluster.name, answer.profile = s.profile->name, answer.network = cluster.network;
  answer.ranks = w.ranks, answer.nodes = group.shape.nodes, answer.per_node = group.shape.per_node;
  answer.link = link_bound(cluster, group, op);
  if (measured) {
    check_measured(*measured, w.against, {op, w.ranks, w.ranks / w.per_node, group.shape.nodes});
    const std::string other = other_gpu(*measured, w.against, *s.profile);
    if (!w.quiet && !other.empty()) std::cerr << "warning: " << other << '\n';
  }
  for (const auto& size : rows_of(w, measured)) {
    answer.rows.push_back(price_asked(w, s, group, op, size.bytes, answer.link));
    if (size.seconds > 0) answer.rows.back().measured_s = size.seconds;
  }
  compare(answer);
  return answer;
}

}  // namespace

int command_collective(const Invocation& invocation, std::ostream& out) {
  Words w;
  const CommandHelp help{
      "collective", "OP",
      "One collective on an idle machine, in the layout of nccl-tests: all_reduce, all_gather, "
      "reduce_scatter, all_to_all, send_recv or broadcast."};
  const auto inputs = parse_words(invocation.words, help, options_of(w), out);
  if (!inputs) return kDone;
  claim_outputs({{"--json", w.json}});
  const auto* op = find_named(kOpNames, inputs->front());
  if (!op)
    refuse("no collective is named " + quote(inputs->front()), suggest(inputs->front(), names_in(kOpNames)));
  const CollectiveAnswer answer = answer_of(w, op->value, invocation.roots);
  const bool outside =
      std::any_of(answer.rows.begin(), answer.rows.end(), [](const auto& row) { return row.outside; });
  if (outside && !w.quiet)
    std::cerr << "warning: sizes, groups or a network far from all tables of the profile [W-PROFILE-RANGE]\n";
  if (!w.quiet) warn_of_impossible(answer);
  if (!w.json.empty()) write_output(w.json, collective_json(answer), out);
  if (w.json != "-") out << collective_text(answer);
  return kDone;
}

}  // namespace rehearse
