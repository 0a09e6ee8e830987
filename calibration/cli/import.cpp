// rehearse-calibrate import: samples out of logs and tables of others.
#include "calibration/import/import.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <iostream>

#include "calibration/cli/commands.hpp"
#include "calibration/fit/document.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"
#include "sim/base/text.hpp"
#include "sim/spec/names.hpp"

namespace rehearse::calibration {
namespace {

namespace po = boost::program_options;

struct ImportWords {
  std::string output, op, dtype, least, limits, node_network, network_latency;
  std::vector<std::string> where, kernels;
};

std::pair<std::string, std::string> pair_of(const std::string& text, const char* option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    refuse(std::string(option) + " is NAME=VALUE, not " + quote(text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

template <class T, size_t N>
T named(const std::string& word, const Named<T> (&table)[N], const char* option) {
  if (const auto* row = find_named(table, word)) return row->value;
  refuse(std::string(option) + " cannot be " + quote(word), suggest(word, names_in(table)));
}

// Peaks and link rate of a file of constants.
Limits limits_of(const std::string& path) {
  const Constants constants(read_file(path), path);
  const auto value = [&](const std::string& name, Dimension dimension) {
    const std::string text = constants.value_of(name);
    const auto parsed = parse_quantity(text, dimension);
    if (!text.empty() && !parsed.value) refuse("--limits: " + name + " " + parsed.problem, parsed.hint);
    return parsed.value.value_or(0);
  };
  Limits limits;
  for (const auto& row : kDTypeNames)
    if (const double peak = value("device.peak." + std::string(row.name), Dimension::flop_per_s); peak > 0)
      limits.peak_flops.emplace_back(row.value, peak);
  limits.link_bytes_per_s = value("device.nvlink", Dimension::bytes_per_s);
  if (limits.peak_flops.empty() && limits.link_bytes_per_s == 0)
    refuse("--limits: " + quote(path) + " holds neither device.peak nor device.nvlink");
  return limits;
}

void settle(const ImportWords& words, ImportOptions& options) {
  if (words.output.empty()) refuse("-o is missing", "-o samples.jsonl, or - for standard output");
  if (!words.op.empty()) options.op = named(words.op, kOpNames, "--op");
  if (!words.dtype.empty()) options.dtype = named(words.dtype, kDTypeNames, "--dtype");
  if (!words.least.empty()) {
    const auto bytes = parse_quantity(words.least, Dimension::bytes);
    if (!bytes.value) refuse("--min-bytes " + bytes.problem, bytes.hint);
    options.least_bytes = *bytes.value;
  }
  if (options.network.empty() != words.node_network.empty())
    refuse("--network and --node-network go together", "--network ib-ndr --node-network '400 GB/s'");
  const auto quantity = [](const std::string& word, const char* option, Dimension dimension) {
    const auto parsed = parse_quantity(word, dimension);
    if (!word.empty() && !parsed.value) refuse(std::string(option) + " " + parsed.problem, parsed.hint);
    return parsed.value.value_or(0);
  };
  options.node_network_bytes_per_s = quantity(words.node_network, "--node-network", Dimension::bytes_per_s);
  options.network_latency_s = quantity(words.network_latency, "--network-latency", Dimension::seconds);
  for (const auto& text : words.where) options.where.push_back(pair_of(text, "--where"));
  for (const auto& text : words.kernels) {
    options.kernels.push_back(pair_of(text, "--kernel"));
    named(options.kernels.back().second, kMemoryKernels, "--kernel");
  }
  if (!words.limits.empty()) options.limits = limits_of(words.limits);
}

void is_positive(int count) {
  if (count < 1) refuse("--ranks and --nodes are positive");
}

po::options_description options_of(ImportWords& words, ImportOptions& o) {
  po::options_description all;
  all.add_options()  //
      ("output,o", po::value(&words.output)->value_name("FILE|-"),
       "samples as JSON lines; the file is written anew")                                            //
      ("gpu", po::value(&o.gpu)->value_name("NAME"), "the device, where the log does not name one")  //
      ("source", po::value(&o.source)->value_name("TEXT"),
       "where the figures come from; else the file's name")                                //
      ("licence", po::value(&o.licence)->value_name("TEXT"), "of the source")              //
      ("caveats", po::value(&o.caveats)->value_name("TEXT"), "what a reader must know")    //
      ("library", po::value(&o.library)->value_name("TEXT"), "\"NCCL 2.29.2\"")            //
      ("driver", po::value(&o.driver)->value_name("TEXT"), "driver")                       //
      ("toolkit", po::value(&o.toolkit)->value_name("TEXT"), "CUDA version")               //
      ("topology", po::value(&o.topology)->value_name("TEXT"), "how the GPUs are joined")  //
      ("op", po::value(&words.op)->value_name("OP"),
       "the collective, where neither log nor file name says")                                       //
      ("dtype", po::value(&words.dtype)->value_name("TYPE"), "of all rows, whatever a column says")  //
      ("ranks", po::value(&o.ranks)->value_name("N")->notifier(is_positive),
       "of a log that does not list them")  //
      ("nodes", po::value(&o.nodes)->value_name("N")->notifier(is_positive),
       "over which the ranks lie evenly")  //
      ("domain", po::value(&o.domain)->value_name("N")->notifier(is_positive),
       "nodes that one NVLink domain joins: they count as one (NVL72)")  //
      ("network", po::value(&o.network)->value_name("WORD"),
       "what joins the nodes, as topologies name it: ib-ndr")  //
      ("node-network", po::value(&words.node_network)->value_name("RATE"),
       "of all NICs of a node that the ranks use: '400 GB/s'")  //
      ("network-latency", po::value(&words.network_latency)->value_name("TIME"),
       "from node to node; 2.7 us where it is not given")                                                 //
      ("min-bytes", po::value(&words.least)->value_name("SIZE"), "leave out smaller collectives: 64MiB")  //
      ("thin", po::bool_switch(&o.thin), "of collectives only the size nearest to each power of two")     //
      ("where", po::value(&words.where)->value_name("COLUMN=VALUE"),
       "take these rows of a table (repeatable)")  //
      ("kernel", po::value(&words.kernels)->value_name("WORD=KERNEL"),
       "what a table's word for a kernel means (repeatable)")  //
      ("limits", po::value(&words.limits)->value_name("CONSTANTS"),
       "reject rows beyond the peaks of this file of constants");
  return all;
}

}  // namespace

int command_import(const Invocation& invocation, std::ostream& out) {
  ImportWords words;
  ImportOptions options;
  const auto files =
      parse_words(invocation.words,
                  {"import", "FILE...",
                   "Makes samples of what nccl-tests printed (text or -J) and of CSV tables.", 1, 4096},
                  options_of(words, options), out);
  if (!files) return kDone;
  settle(words, options);
  claim_outputs({{"-o", words.output}});
  std::string text;
  size_t all_rejected = 0;
  for (const auto& file : *files) {
    const Imported in = import_text(read_file(file), file, options);
    text += to_json_line(in.environment) + "\n";
    size_t rejected = 0;
    for (const auto& s : in.samples) {
      text += to_json_line(s) + "\n";
      if (s.status != Status::rejected) continue;
      ++rejected;
      std::cerr << fmt::format("{}: rejected {}: {} ({})\n", shown_path(file), point_of(s.work), s.reason,
                               s.code);
    }
    all_rejected += rejected;
    std::cerr << fmt::format("{}: {} samples, {} rejected\n", shown_path(file), in.samples.size(), rejected);
    for (const auto& note : in.notes) std::cerr << fmt::format("{}: {}\n", shown_path(file), note);
  }
  write_output(words.output, text, out);
  return all_rejected > 0 ? kVerdictFails : kDone;
}

}  // namespace rehearse::calibration
