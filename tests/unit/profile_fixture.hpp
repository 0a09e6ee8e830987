// A small profile written to a folder of its own, to be spoilt by tests of the reader.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "sim/base/error.hpp"
#include "sim/io/profile.hpp"

namespace rehearse::test {

inline std::string constant_yaml(const std::string& value) {
  return "{value: " + value + ", basis: guess, source: invented}";
}

inline std::string profile_yaml() {
  std::string text = "name: tiny\ndefault_stack: base\ndevice:\n";
  const auto line = [&](const char* indent, const char* key, const char* value) {
    text += indent + std::string(key) + ": " + constant_yaml(value) + "\n";
  };
  for (auto [key, value] : {std::pair{"memory", "80 GiB"},
                            {"hbm", "1 TB/s"},
                            {"nvlink", "100 GB/s"},
                            {"nvlink_latency", "1 us"},
                            {"sms", "100"},
                            {"framework", "1 GiB"},
                            {"attention_backward", "3"},
                            {"odd_head", "10 TFLOP/s"},
                            {"nvlink_efficiency", "0.8"},
                            {"p2p_nvlink_latency", "4 us"},
                            {"p2p_network_latency", "9 us"}})
    line("  ", key, value);
  text += "  peak:\n";
  line("    ", "bf16", "100 TFLOP/s");
  text += "algorithms:\n  ring-simple:\n";
  for (auto [key, value] :
       {std::pair{"base", "8 us"}, {"hop_nvlink", "1 us"}, {"hop_network", "0 us"}, {"payload", "1"}})
    line("    ", key, value);
  text += "stacks:\n  base:\n    help: all of it\n";
  for (auto [key, value] : {std::pair{"gemm_scale", "1"},
                            {"memory_efficiency", "0.5"},
                            {"kernel_floor", "3 us"},
                            {"host_per_kernel", "15 us"},
                            {"overlap_slowdown", "0.2"},
                            {"network_efficiency", "0.85"},
                            {"p2p_efficiency", "0.9"},
                            {"wgrad_scale", "1.05"},
                            {"grad_accumulate_bytes", "12"},
                            {"loss_bytes_per_logit", "20"},
                            {"optimizer_bytes_per_param", "50"},
                            {"straggler_per_doubling", "0"},
                            {"blocking_launches", "0"}})
    line("    ", key, value);
  text += "  slow-host:\n    help: another\n    like: base\n    host_per_kernel: " + constant_yaml("40 us") +
          "\n";
  const std::string rest = "\n    basis: measured\n    source: a bench\n    licence: MIT\n";
  text += "gemm:\n  - table: gemm.csv\n    dtype: bf16" + rest;
  text += "attention:\n  - table: attention.csv" + rest;
  text += "collectives:\n  - table: all_reduce.csv\n    op: all_reduce\n    gpus: 8" + rest;
  return text;
}

inline std::map<std::string, std::string> profile_files() {
  return {{"tiny.yaml", profile_yaml()},
          {"gemm.csv", "m,n,k,time_us\n128,128,128,2.5\n128,256,128,3\n256,128,128,3.25\n"},
          {"attention.csv", "sequence,batch,heads,kv_heads,head_dim,causal,time_us\n128,1,2,2,128,1,10\n"},
          {"all_reduce.csv", "bytes,time_us\n1024,20\n1048576,40.5\n"}};
}

inline std::string write_files(const std::map<std::string, std::string>& files) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(testing::TempDir()) / (std::string("profile_") + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) std::ofstream(folder / name, std::ios::binary) << text;
  return folder.string();
}

// The message of the refusal of these files, the folder's name taken out; empty where they are taken.
inline std::string refusal(const std::map<std::string, std::string>& files) {
  const std::string folder = write_files(files);
  try {
    load_profile(folder + "/tiny.yaml");
  } catch (const InputErrors& errors) {
    std::string text = errors.what();
    for (size_t at; (at = text.find(folder + "/")) != std::string::npos;) text.erase(at, folder.size() + 1);
    return text;
  }
  return "";
}

// A profile with one text of one file replaced.
inline std::string refusal_of(const std::string& file, const std::string& from, const std::string& to) {
  auto files = profile_files();
  const size_t at = files[file].find(from);
  EXPECT_NE(at, std::string::npos);
  if (at != std::string::npos) files[file].replace(at, from.size(), to);
  return refusal(files);
}

}  // namespace rehearse::test
