// The words of NCCL: algorithms, protocols, and which of them a run is held to.
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

enum class NcclAlgorithm : uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  hierarchical
};
inline constexpr int kNcclAlgorithms = 8;
enum class NcclProtocol : uint8_t { ll, ll128, simple };
inline constexpr int kNcclProtocols = 3;

inline constexpr Named<GpuArchitecture> kArchitectureNames[] = {
    {"volta", "", GpuArchitecture::volta},
    {"ampere", "", GpuArchitecture::ampere},
    {"hopper", "", GpuArchitecture::hopper},
    {"blackwell", "", GpuArchitecture::blackwell}};
inline constexpr Named<NcclAlgorithm> kNcclAlgorithmNames[] = {
    {"tree", "double binary tree over nodes, a chain in each", NcclAlgorithm::tree},
    {"ring", "rings over all ranks", NcclAlgorithm::ring},
    {"collnet_direct", "switches reduce; GPUs of a node each to each", NcclAlgorithm::collnet_direct},
    {"collnet_chain", "switches reduce; a chain in each node", NcclAlgorithm::collnet_chain},
    {"nvls", "NVSwitch reduces and multicasts", NcclAlgorithm::nvls},
    {"nvls_tree", "NVSwitch in nodes, a tree over them", NcclAlgorithm::nvls_tree},
    {"pat", "parallel aggregated trees, one GPU a node", NcclAlgorithm::pat},
    {"hierarchical", "no choice of NCCL's: three calls, in nodes, over them, in nodes",
     NcclAlgorithm::hierarchical}};
inline constexpr Named<NcclProtocol> kNcclProtocolNames[] = {
    {"ll", "4 bytes of flag to 4 of data", NcclProtocol::ll},
    {"ll128", "8 bytes of flag to 120 of data", NcclProtocol::ll128},
    {"simple", "no flags in the data", NcclProtocol::simple}};

// What NCCL may choose from, as NCCL_ALGO and NCCL_PROTO say: a bit an algorithm, a bit a protocol.
struct NcclFilter {
  uint8_t algorithms = (1u << kNcclAlgorithms) - 1;
  uint8_t protocols = (1u << kNcclProtocols) - 1;

  bool allows(NcclAlgorithm a, NcclProtocol p) const {
    return (algorithms >> static_cast<int>(a) & 1) != 0 && (protocols >> static_cast<int>(p) & 1) != 0;
  }
  bool all() const { return *this == NcclFilter{}; }
  bool hierarchical() const {  // nothing else is allowed
    return algorithms == 1u << static_cast<int>(NcclAlgorithm::hierarchical);
  }
  bool operator==(const NcclFilter&) const = default;
};

// The same with what runs every collective: ring, with ll or simple.
inline NcclFilter with_ring(NcclFilter filter) {
  const auto bit = [](auto value) { return static_cast<uint8_t>(1u << static_cast<int>(value)); };
  filter.algorithms |= bit(NcclAlgorithm::ring);
  if ((filter.protocols & (bit(NcclProtocol::ll) | bit(NcclProtocol::simple))) == 0)
    filter.protocols |= bit(NcclProtocol::simple);
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
