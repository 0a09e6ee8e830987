// Logs as people have them, each through the import and through what --against reads. logs/ holds them, in
// layouts seen in public reports of NCCL and nccl-tests; their figures were made up to fit.
#include <fstream>
#include <sstream>

#include "sim/io/measured_collective.hpp"
#include "tests/calibration/import_fixture.hpp"

namespace rehearse::calibration {
namespace {

using test::call_of;
using testing::HasSubstr;

constexpr CollectiveOp kReduce = CollectiveOp::all_reduce, kGather = CollectiveOp::all_gather,
                       kSend = CollectiveOp::send_recv;
const std::vector<double> kBoth{190.1e-6, 299.8e-6};

struct Case {
  const char* log;
  CollectiveOp op = kReduce;
  Group group = {4, 1, false, 2, 2};
  std::vector<double> seconds = kBoth;
  int ranks = 0, nodes = 0;  // as the user says
};

std::string path_of(const std::string& log) {
  return std::string(REHEARSE_SOURCE_DIR) + "/tests/calibration/logs/" + log;
}

std::string text_of(const std::string& log) {
  std::ifstream file(path_of(log));
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file) << log;
  return text.str();
}

ImportOptions options_of(const Case& c) {
  ImportOptions options;
  options.ranks = c.ranks, options.nodes = c.nodes;
  return options;
}

AskedGroup asked_of(const Case& c) { return {c.ranks, c.nodes && c.ranks ? c.ranks / c.nodes : 0}; }

const Case kRead[] = {
    {"plain.log"},
    // Tags of launchers, lines cut out of other logs, terminals.
    {"tag_container.log"},
    {"tag_mpirun_timestamp.log"},
    {"tag_brackets.log"},
    {"tag_openmpi5.log"},
    {"tag_srun.log"},
    {"tag_ray.log"},
    {"tag_kubectl.log"},
    {"tag_kubectl_prefix.log"},
    {"line_numbers.log"},
    {"colours.log"},
    {"crlf_bom.log"},
    {"nccl_info.log"},
    {"inside_openmpi4.log"},
    {"inside_brackets.log"},
    {"inside_timestamp.log"},
    {"inside_ray.log"},
    {"tag_rank_word.log"},
    {"tag_levels.log"},
    {"tag_half_days.log"},
    {"tag_hex.log"},
    {"tag_job_number.log"},
    {"tabs.log"},
    {"blanks_of_pages.log"},
    // Rows that NCCL's messages or a terminal broke.
    {"info_inside.log"},
    {"info_inside_time.log"},
    {"info_inside_thrice.log"},
    {"info_inside_tagged.log"},
    {"info_behind_row.log"},
    {"row_on_two_lines.log"},
    {"wrapped.log"},
    // Columns and forms.
    {"version_1.log", kReduce, {4, 1, false, 2, 2}, {190e-6, 300e-6}},
    {"rccl_lines_tagged.jsonl"},
    {"rccl_lines_in_text.jsonl"},
    {"rccl_lines_bom.jsonl"},
    {"per_iteration.log"},
    {"timestamps.log"},
    {"both_columns.log"},
    {"cycles.log"},
    {"cycles_slow_first.log"},
    {"old_all_reduce.log"},
    {"rccl_all_reduce.log"},
    {"rccl_lines_nodes.jsonl"},
    {"rccl_array.json"},
    {"rccl_lines.jsonl", kReduce, {4, 1, false, 2, 2}, kBoth, 4, 2},
    {"all_reduce_table_only.log", kReduce, {4, 1, false, 2, 2}, kBoth, 4, 2},
    {"all_reduce_table_only_blank.log", kReduce, {4, 1, false, 1, 4}, kBoth, 4, 1},
    {"sendrecv.log", kSend, {2, 1, false, 2, 1}},
    {"sendrecv_four.log", kSend},
    // Who took part.
    {"gap_middle.log", kReduce, {8, 1, false, 2, 4}, kBoth, 8, 2},
    {"gap_last_only.log", kReduce, {8, 1, false, 2, 4}, kBoth, 8, 2},
    {"gap_ellipsis_last.log", kReduce, {4, 1, false, 2, 2}, kBoth, 4, 2},
    {"split_all_reduce.log", kReduce, {2, 4, true, 2, 1}},
    {"split_sendrecv.log", kSend, {2, 4, true, 2, 1}},
    {"split_in_node.log", kReduce, {4, 1, true, 1, 4}},
    {"host_blank_in_name.log"},
    {"host_device_in_name.log"},
    {"host_same_name.log", kReduce, {4, 1, false, 2, 2}, kBoth, 4, 2},
    {"host_isolated_devices.log", kReduce, {4, 1, false, 2, 2}, kBoth, 4, 2},
    // Several tables: the first; the others below.
    {"two_tables.log"},
    {"two_tables_old.log"},
    {"two_tables_tagged.log"},
};

TEST(ImportLogs, BothReadersTakeThem) {
  for (const Case& c : kRead) try {
      const Imported in = import_text(text_of(c.log), path_of(c.log), options_of(c));
      std::vector<double> seconds;
      for (const auto& s : in.samples) {
        if (call_of(s).op != c.op) continue;
        EXPECT_EQ(call_of(s).group, c.group) << c.log;
        EXPECT_EQ(s.status, Status::ok) << c.log;
        seconds.push_back(s.device.median);
      }
      EXPECT_THAT(seconds, testing::Pointwise(testing::DoubleNear(1e-12), c.seconds)) << c.log;
      const auto measured = read_measured_collective(path_of(c.log), c.op, asked_of(c));
      EXPECT_EQ(measured.ranks, c.group.size) << c.log;
      EXPECT_EQ(measured.nodes, c.group.nodes) << c.log;
      seconds.clear();
      for (const auto& row : measured.rows) seconds.push_back(row.seconds);
      EXPECT_THAT(seconds, testing::Pointwise(testing::DoubleNear(1e-12), c.seconds)) << c.log;
    } catch (const InputErrors& found) {
      ADD_FAILURE() << c.log << ": " << found.what();
    }
}

TEST(ImportLogs, EachTableOfAFileIsOfItsOperation) {
  for (const char* log : {"two_tables.log", "two_tables_old.log", "two_tables_tagged.log"}) {
    const Imported in = import_text(text_of(log), path_of(log), {});
    ASSERT_EQ(in.samples.size(), 3U) << log;
    EXPECT_EQ(call_of(in.samples[2]).op, kGather) << log;
    const auto measured = read_measured_collective(path_of(log), kGather, {});
    ASSERT_EQ(measured.rows.size(), 1U) << log;
    EXPECT_DOUBLE_EQ(measured.rows[0].seconds, 59.9e-6) << log;
  }
}

struct Refused {
  const char* log;
  const char* message;  // of the import, without its code
  CollectiveOp op = kReduce;
  int ranks = 0, nodes = 0;
};

const Refused kRefused[] = {
    {"gap_middle.log", "the list of ranks has gaps (0, 3)"},
    {"gap_sendrecv.log", "the list of ranks has gaps (0, 1, 6, 7)", kSend},
    {"gap_last_only.log", "the list of ranks has gaps (7)"},
    {"gap_cut_line.log", "the list of ranks has gaps (0, 1, 2, 4, 5, 6, ...)"},
    {"gap_first_missing.log", "the list of ranks has gaps (1, 2, 3, 4, 5, 6, ...)"},
    {"gap_ellipsis_last.log", "the list of ranks is cut (0, 1, 2, 3)"},
    {"gap_ellipsis_tagged.log", "the list of ranks is cut (0, 1, 2, 3)"},
    {"gap_cut_last.log", "the list of ranks is cut (0, 1, 2, 3)"},
    {"gap_output_truncated.log", "the list of ranks is cut (0, 1, 2, 3)"},
    {"gap_last_only.log", "the log lists rank 7, which 4 ranks do not have", kReduce, 4, 2},
    {"split_uneven.log", "2 groups of different shapes ran at once: group 0 has 6 ranks, group 1 has 2"},
    {"host_same_name.log", "device 0 of 'worker' stands twice: hosts cannot be told apart"},
    {"host_isolated_devices.log", "device 0 of 'node-a' stands twice: hosts cannot be told apart"},
    {"all_reduce_table_only.log", "the log lists no ranks"},
    {"rccl_lines.jsonl", "nothing says on how many nodes the 4 ranks are"},
};

TEST(ImportLogs, BothReadersRefuseThemAtALine) {
  for (const Refused& c : kRefused) {
    const std::string found =
        test::refusal(text_of(c.log), path_of(c.log), options_of({c.log, c.op, {}, {}, c.ranks, c.nodes}));
    EXPECT_THAT(found, HasSubstr(std::string(c.message) + " [E-IMPORT-RANKS]")) << c.log;
    try {
      read_measured_collective(path_of(c.log), c.op, asked_of({c.log, c.op, {}, {}, c.ranks, c.nodes}));
      ADD_FAILURE() << c.log << " was taken";
    } catch (const InputErrors& errors) {
      EXPECT_THAT(errors.what(), HasSubstr(std::string(c.message) + " [E-AGAINST]")) << c.log;
      EXPECT_GT(errors.errors[0].place.line, 0) << c.log;
    }
  }
}

// Containers of one node may have names of their own, so that the user decides; not without a word.
TEST(ImportLogs, NodesThatTheLogDoesNotListAreNoted) {
  ImportOptions options;
  options.nodes = 1;
  const Imported in = import_text(text_of("plain.log"), "x.log", options);
  EXPECT_EQ(call_of(in.samples[0]).group.nodes, 1);
  EXPECT_THAT(in.notes, testing::Contains(HasSubstr("the log lists 2 hosts, --nodes says 1")));
  options.nodes = 2;
  EXPECT_TRUE(import_text(text_of("plain.log"), "x.log", options).notes.empty());
}

// A type that no training step sends is imported as one that it does; its times compare as they are.
TEST(ImportLogs, IntegersNeedATypeToBeImported) {
  for (const char* log : {"int8.log", "uint64.log", "double.log"}) {
    EXPECT_THAT(test::refusal(text_of(log), log), HasSubstr("try --dtype TYPE")) << log;
    ImportOptions options;
    options.dtype = DType::bf16;
    const Imported in = import_text(text_of(log), log, options);
    ASSERT_EQ(in.samples.size(), 2U) << log;
    EXPECT_EQ(call_of(in.samples[0]).dtype, DType::bf16) << log;
    EXPECT_EQ(read_measured_collective(path_of(log), kReduce, {}).rows.size(), 2U) << log;
  }
}

// What the log says decides, then its name; redop says nothing of send_recv.
TEST(ImportLogs, AnotherOperationIsRefused) {
  EXPECT_THROW(read_measured_collective(path_of("sendrecv.log"), kReduce, {}), InputErrors);
  EXPECT_THROW(read_measured_collective(path_of("plain.log"), kGather, {}), InputErrors);
  ImportOptions options;
  options.op = kGather;
  EXPECT_THAT(test::refusal(text_of("plain.log"), "x.log", options),
              HasSubstr("the log is of all_reduce, not of all_gather [E-IMPORT-OP]"));
}

// Digits of a row are never taken for a tag.
TEST(ImportLogs, RowsWithoutATagBehindATaggedHeaderKeepTheirFigures) {
  std::string text = text_of("line_numbers.log"), cut;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    cut += (line.find("float") != line.npos ? line.substr(7) : line) + "\n";
  const Imported in = import_text(cut, "x.log", {});
  ASSERT_EQ(in.samples.size(), 2U);
  EXPECT_EQ(call_of(in.samples[0]).bytes, 8388608);
}

}  // namespace
}  // namespace rehearse::calibration
