// Algorithms and protocols of collectives, in NCCL's words, and which of them a run is held to.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/names.hpp"

namespace rehearse {

enum class GpuArchitecture : uint8_t { volta, ampere, hopper, blackwell };
inline constexpr int kArchitectures = 4;

// How a collective runs. The first are those that NCCL chooses from; `hierarchical` is three calls in place
// of one, which a run may ask for; `p2p` is sends and receives: all_to_all and send_recv have no other.
enum class Algorithm : uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  hierarchical,
  p2p
};
inline constexpr int kNcclAlgorithms = 7;
enum class Protocol : uint8_t { ll, ll128, simple };
inline constexpr int kProtocols = 3;

inline constexpr Named<GpuArchitecture> kArchitectureNames[] = {
    {"volta", "", GpuArchitecture::volta},
    {"ampere", "", GpuArchitecture::ampere},
    {"hopper", "", GpuArchitecture::hopper},
    {"blackwell", "", GpuArchitecture::blackwell}};
inline constexpr Named<Algorithm> kAlgorithmNames[] = {
    {"tree", "double binary tree over nodes, a chain in each", Algorithm::tree},
    {"ring", "rings over all ranks", Algorithm::ring},
    {"collnet_direct", "switches reduce; GPUs of a node each to each", Algorithm::collnet_direct},
    {"collnet_chain", "switches reduce; a chain in each node", Algorithm::collnet_chain},
    {"nvls", "NVSwitch reduces and multicasts", Algorithm::nvls},
    {"nvls_tree", "NVSwitch in nodes, a tree over them", Algorithm::nvls_tree},
    {"pat", "parallel aggregated trees, one GPU a node", Algorithm::pat},
    {"hierarchical", "no choice of NCCL's: three calls, in nodes, over them, in nodes",
     Algorithm::hierarchical}};  // those that a run may ask for
inline constexpr Named<Protocol> kProtocolNames[] = {
    {"ll", "4 bytes of flag to 4 of data", Protocol::ll},
    {"ll128", "8 bytes of flag to 120 of data", Protocol::ll128},
    {"simple", "no flags in the data", Protocol::simple}};

constexpr std::string_view name_of(Algorithm a) {
  return a == Algorithm::p2p ? "p2p" : name_of(kAlgorithmNames, a);
}
constexpr std::string_view name_of(Protocol p) { return name_of(kProtocolNames, p); }

// Bytes on a wire for one of payload.
constexpr double wire_factor(Protocol p) {
  return p == Protocol::ll ? 2 : p == Protocol::ll128 ? 128. / 120 : 1;
}

// What NCCL may choose from, as NCCL_ALGO and NCCL_PROTO say: a bit an algorithm, a bit a protocol.
struct NcclFilter {
  uint8_t algorithms = (1u << (kNcclAlgorithms + 1)) - 1;
  uint8_t protocols = (1u << kProtocols) - 1;

  bool allows(Algorithm a, Protocol p) const {
    return (algorithms >> static_cast<int>(a) & 1) != 0 && (protocols >> static_cast<int>(p) & 1) != 0;
  }
  bool all() const { return *this == NcclFilter{}; }
  bool hierarchical() const {  // nothing else is allowed
    return algorithms == 1u << static_cast<int>(Algorithm::hierarchical);
  }
  bool operator==(const NcclFilter&) const = default;
};

// The same with what runs every collective: ring, with ll or simple.
inline NcclFilter with_ring(NcclFilter filter) {
  const auto bit = [](auto value) { return static_cast<uint8_t>(1u << static_cast<int>(value)); };
  filter.algorithms |= bit(Algorithm::ring);
  if ((filter.protocols & (bit(Protocol::ll) | bit(Protocol::simple))) == 0)
    filter.protocols |= bit(Protocol::simple);
  return filter;
}

// "tree,ring": what the bits allow.
template <class T, size_t N>
std::string nccl_list(uint8_t bits, const Named<T> (&table)[N]) {
  std::string text;
  for (const auto& row : table)
    if (bits >> static_cast<int>(row.value) & 1) text += (text.empty() ? "" : ",") + std::string(row.name);
  return text;
}

// NCCL writes "NVLSTree" and takes any case: "nvlstree" of both.
inline std::string nccl_word(std::string_view name) {
  std::string text(name);
  std::erase(text, '_');
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// "did you mean 'ring'? valid: tree, ring, ... nvls_tree, nvlstree", for a hint about an unknown word.
template <class T, size_t N>
std::string suggest_nccl(std::string_view word, const Named<T> (&table)[N]) {
  std::vector<std::string> squeezed;
  for (const auto& row : table) squeezed.push_back(nccl_word(row.name));
  std::vector<std::string_view> valid;
  for (size_t i = 0; i < N; ++i) {
    valid.push_back(table[i].name);
    if (squeezed[i] != table[i].name) valid.emplace_back(squeezed[i]);
  }
  return suggest(nccl_word(word), valid) + ", in any case; ^ in front: all but these";
}

// The bits of "ring", "Ring,Tree" or "^tree" (all but); nothing where a word is unknown, which is then in
// `unknown`, or where nothing is left.
template <class T, size_t N>
std::optional<uint8_t> nccl_bits(std::string_view text, const Named<T> (&table)[N], std::string& unknown) {
  const bool but = text.starts_with('^');
  if (but) text.remove_prefix(1);
  unsigned bits = 0;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view word = text.substr(from, comma - from);
    const auto* row = std::find_if(
        table, table + N, [&](const Named<T>& each) { return nccl_word(each.name) == nccl_word(word); });
    if (row == table + N) {
      unknown = word;
      return std::nullopt;
    }
    bits |= 1u << static_cast<int>(row->value);
    from = comma + 1;
  }
  if (but) bits = ((1u << N) - 1) & ~bits;
  if (bits == 0) return std::nullopt;
  return static_cast<uint8_t>(bits);
}

}  // namespace rehearse
