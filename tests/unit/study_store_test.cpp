// The store: what is written comes back, a killed or damaged one is told apart, and a refused file stays as
// it was.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "sim/study/code_version.hpp"
#include "sim/study/store.hpp"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}
void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

StoredPoint point_of(int number, Verdict verdict = Verdict::simulated) {
  StoredPoint stored;
  char digest[33];
  snprintf(digest, sizeof digest, "%032x", unsigned(number) * 2654435761u);
  stored.digest = digest;
  stored.point.settings = {"layout.tp=" + std::to_string(number), "recompute={full_layers: 2}"};
  stored.outcome.verdict = verdict;
  if (verdict == Verdict::simulated || verdict == Verdict::unfit) {
    for (size_t i = 0; i < figure_table().size(); ++i)
      stored.outcome.figures.push_back(double(number) / (3.0 + double(i)));
    stored.outcome.figures[1] = std::numeric_limits<double>::quiet_NaN();
    stored.outcome.stage_peak_bytes = {1e9 / 3, 2e9, double(number)};
  } else {
    stored.outcome.code = "E-LAYOUT-GPUS";
    stored.outcome.message = "it's \"so\", \xc3\xa9";
    stored.outcome.figures.assign(figure_table().size(), std::numeric_limits<double>::quiet_NaN());
  }
  return stored;
}

void expect_same(const StoredPoint& a, const StoredPoint& b) {
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.point.settings, b.point.settings);
  EXPECT_EQ(a.outcome.verdict, b.outcome.verdict);
  EXPECT_EQ(a.outcome.code, b.outcome.code);
  EXPECT_EQ(a.outcome.message, b.outcome.message);
  EXPECT_EQ(a.outcome.stage_peak_bytes, b.outcome.stage_peak_bytes);
  ASSERT_EQ(a.outcome.figures.size(), b.outcome.figures.size());
  for (size_t i = 0; i < a.outcome.figures.size(); ++i)
    EXPECT_TRUE(a.outcome.figures[i] == b.outcome.figures[i] ||
                (std::isnan(a.outcome.figures[i]) && std::isnan(b.outcome.figures[i])));
}

class StudyStore : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "study_store_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/s.sqlite";
  }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  void fill(int count) {
    Store store(path, Store::Mode::write);
    std::vector<StoredPoint> batch;
    for (int i = 0; i < count; ++i) batch.push_back(point_of(i));
    store.write(batch);
  }

  // Refused with this code in both modes, and left as it was.
  void refused(const std::string& code, const std::string& message) {
    const std::string before = fs::is_regular_file(path) ? read_bytes(path) : "";
    const auto beside = files();
    for (const auto mode : {Store::Mode::read, Store::Mode::write}) {
      try {
        const Store store(path, mode);
        ADD_FAILURE() << "not refused: " << message;
      } catch (const InputErrors& found) {
        EXPECT_EQ(found.errors.at(0).code, code);
        EXPECT_EQ(found.errors.at(0).place.file, path);
        EXPECT_THAT(found.errors.at(0).message, testing::HasSubstr(message));
      }
      EXPECT_EQ(fs::is_regular_file(path) ? read_bytes(path) : "", before);
    }
    EXPECT_EQ(files(), beside);
  }

  std::string folder, path;
};

TEST_F(StudyStore, GivesBackWhatWasWritten) {
  const StoredStudy study{"a", "b.yaml", "base: b.yaml\n", {"x=1"}, {"layout.tp", "layout.pp"}};
  std::vector<StoredPoint> written{point_of(1), point_of(2, Verdict::unfit), point_of(3, Verdict::rejected),
                                   point_of(4, Verdict::failed)};
  {
    Store store(path, Store::Mode::write);
    store.write(study);
    store.write(study);
    store.write(written);
  }
  EXPECT_THAT(files(), testing::ElementsAre("s.sqlite"));
  const Store store(path, Store::Mode::read);
  std::sort(written.begin(), written.end(), [](const auto& a, const auto& b) { return a.digest < b.digest; });
  const auto points = store.points();
  ASSERT_EQ(points.size(), 4u);
  for (size_t i = 0; i < 4; ++i) expect_same(points[i], written[i]);
  EXPECT_THAT(store.studies(), testing::ElementsAre(study));
  const auto outcomes = store.outcomes();
  EXPECT_EQ(outcomes.size(), 3u);
  EXPECT_FALSE(outcomes.contains(point_of(4).digest));
}

TEST_F(StudyStore, ReplacesFailedPointsAlone) {
  Store store(path, Store::Mode::write);
  StoredPoint failed = point_of(1, Verdict::failed), other = point_of(2);
  store.write({failed, other});
  other.outcome.figures[0] = 77;
  store.write({point_of(1), other});
  store.write({failed});
  const auto outcomes = store.outcomes();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes.at(failed.digest).verdict, Verdict::simulated);
  EXPECT_EQ(outcomes.at(failed.digest).figures[0], point_of(1).outcome.figures[0]);
  EXPECT_EQ(outcomes.at(other.digest).figures[0], point_of(2).outcome.figures[0]);
}

TEST_F(StudyStore, KeepsOtherWritersOutAndLetsReadersIn) {
  Store store(path, Store::Mode::write);
  store.write({point_of(1)});
  EXPECT_EQ(Store(path, Store::Mode::read).points().size(), 1u);
  try {
    const Store second(path, Store::Mode::write);
    ADD_FAILURE();
  } catch (const InputErrors& found) {
    EXPECT_EQ(found.errors.at(0).code, "E-STORE-BUSY");
  }
  store.write({point_of(2)});
  EXPECT_EQ(store.points().size(), 2u);
}

// The child is killed with a store open: what it wrote is there, and nobody is kept out.
TEST_F(StudyStore, SurvivesAKill) {
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        Store store(path, Store::Mode::write);
        store.write({point_of(2 * round), point_of(2 * round + 1)});
        std::raise(SIGKILL);
      } catch (...) {
      }
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  EXPECT_EQ(Store(path, Store::Mode::read).points().size(), 10u);
  EXPECT_EQ(Store(path, Store::Mode::write).points().size(), 10u);
  EXPECT_THAT(files(), testing::ElementsAre("s.sqlite"));
}

TEST_F(StudyStore, RefusesWhatIsNoStore) {
  for (const std::string& bytes :
       {std::string(), std::string("name: x\n"), std::string(5000, 'x'), std::string(5000, '\0')}) {
    write_bytes(path, bytes);
    refused("E-STORE-FILE", "this is no store of results");
  }
  fs::remove(path);
  sqlite3* foreign = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &foreign), SQLITE_OK);
  sqlite3_exec(foreign, "CREATE TABLE points (digest TEXT)", nullptr, nullptr, nullptr);
  sqlite3_close(foreign);
  refused("E-STORE-FILE", "this is no store of results");
  fs::remove(path);
  fs::create_directory(path);
  refused("E-STORE-FILE", "this is no file");
}

TEST_F(StudyStore, RefusesWhatIsNotThere) {
  try {
    const Store store(path, Store::Mode::read);
    ADD_FAILURE();
  } catch (const InputErrors& found) {
    EXPECT_EQ(found.errors.at(0).code, "E-STORE-FILE");
  }
  EXPECT_TRUE(files().empty());
  path = folder + "/no/s.sqlite";
  EXPECT_THROW(Store(path, Store::Mode::write), InputErrors);
  EXPECT_TRUE(files().empty());
  EXPECT_THROW(Store("/proc/s.sqlite", Store::Mode::write), InputErrors);
}

TEST_F(StudyStore, RefusesAFolderThatTakesNoFiles) {
  fill(3);
  fs::permissions(path, static_cast<fs::perms>(0666));
  fs::permissions(folder, static_cast<fs::perms>(0555));
  const bool root = geteuid() == 0;  // who may write anywhere
  constexpr uid_t kNobody = 65534;
  ASSERT_TRUE(!root || seteuid(kNobody) == 0);
  EXPECT_THROW(Store(path, Store::Mode::write), InputErrors);
  EXPECT_NO_THROW(EXPECT_EQ(Store(path, Store::Mode::read).points().size(), 3u));
  ASSERT_TRUE(!root || seteuid(0) == 0);
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(StudyStore, RefusesOtherVersions) {
  fill(3);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "UPDATE about SET value = '0.0.9 (00)'", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  refused("E-STORE-VERSION",
          "the store is of rehearse 0.0.9 (00), and this is " + std::string(code_version()));
}

TEST_F(StudyStore, RefusesAChangedFigure) {
  fill(30);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "UPDATE points SET step_time_s = 1 WHERE digest < '8'", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  refused("E-STORE-FILE", "the store is damaged");
}

TEST_F(StudyStore, RefusesATruncatedFile) {
  fill(200);
  const std::string whole = read_bytes(path);
  for (const size_t size : {size_t(50), size_t(1000), size_t(4096), whole.size() / 2, whole.size() - 1}) {
    write_bytes(path, whole.substr(0, size));
    refused("E-STORE-FILE", "");
  }
}

// A flipped byte is refused or harms nothing.
TEST_F(StudyStore, TellsFlippedBytes) {
  fill(60);
  const std::string whole = read_bytes(path);
  const auto points = Store(path, Store::Mode::read).points();
  int told = 0, tried = 0;
  for (size_t at = 0; at < whole.size(); at += at < 100 ? 1 : 97, ++tried) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(~flipped[at]);
    write_bytes(path, flipped);
    try {
      const auto now = Store(path, Store::Mode::read).points();
      ASSERT_EQ(now.size(), points.size()) << at;
      for (size_t i = 0; i < now.size(); ++i) expect_same(now[i], points[i]);
    } catch (const InputErrors& found) {
      EXPECT_THAT(found.errors.at(0).code, testing::AnyOf("E-STORE-FILE", "E-STORE-VERSION")) << at;
      EXPECT_EQ(read_bytes(path), flipped) << at;
      ++told;
    }
    for (const char* end : {"-wal", "-shm", "-journal"}) fs::remove(path + end);
  }
  EXPECT_GT(told, tried / 2);
}

TEST_F(StudyStore, RefusesALeftoverWal) {
  write_bytes(path + "-wal", "left");
  EXPECT_THROW(Store(path, Store::Mode::write), InputErrors);
  EXPECT_THAT(files(), testing::ElementsAre("s.sqlite-wal"));
}

TEST_F(StudyStore, IsMadeWholeOrNotAtAll) {
  create_store(path, {{"a", "b", "c", {}, {}}}, {point_of(1), point_of(2)});
  EXPECT_EQ(Store(path, Store::Mode::read).points().size(), 2u);
  EXPECT_EQ(Store(path, Store::Mode::read).studies().size(), 1u);
  const std::string before = read_bytes(path);
  EXPECT_THROW(create_store(path, {}, {}), InputErrors);
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_THAT(files(), testing::ElementsAre("s.sqlite"));
}

}  // namespace
}  // namespace rehearse
