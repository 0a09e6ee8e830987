#include "sim/io/paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace rehearse {

namespace fs = std::filesystem;

namespace {

struct Shelf {
  const char* noun;
  const char* folder;  // below a data root
  const char* named;   // where a bare name is looked up
  const char* ending;
};

Shelf shelf_of(FileKind kind) {
  switch (kind) {
    case FileKind::scenario:
      return {"scenario", "scenarios", "scenarios", ".yaml"};
    case FileKind::model:
      return {"model", "scenarios", "scenarios/models", ".yaml"};
    case FileKind::topology:
      return {"topology", "topologies", "topologies", ".yaml"};
    case FileKind::profile:
      return {"profile", "calibration/profiles", "calibration/profiles", ".yaml"};
    case FileKind::schedule:
      return {"schedule", "scenarios", "scenarios", ".csv"};
    case FileKind::placement:
      return {"placement", "topologies", "topologies", ".csv"};
  }
  return {};
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) || fs::is_character_file(path, error) || fs::is_fifo(path, error);
}

std::string tidy(const fs::path& path) { return path.lexically_normal().string(); }

bool is_bare_name(const std::string& text, const Shelf& shelf) {
  return text.find('/') == std::string::npos && !text.ends_with(shelf.ending);
}

std::vector<std::string> shipped_names(const Shelf& shelf, const DataRoots& roots) {
  std::vector<std::string> names;
  for (const auto& root : roots.dirs) {
    std::error_code error;
    for (auto it = fs::directory_iterator(fs::path(root) / shelf.named, error);
         !error && it != fs::directory_iterator(); it.increment(error))
      if (it->path().extension() == shelf.ending) names.push_back(it->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string names_hint(const std::string& word, const Shelf& shelf, const DataRoots& roots) {
  const auto names = shipped_names(shelf, roots);
  if (names.empty() && !roots.dirs.empty())
    return "a path is tried beside the file that names it, then in " + std::string(shelf.folder) +
           " of the data";
  if (names.empty())
    return "no data of rehearse was found; set REHEARSE_DATA to the folder that holds " +
           std::string(shelf.named);
  return suggest(word, std::vector<std::string_view>(names.begin(), names.end()));
}

// The places where `text` may be, in order.
std::vector<fs::path> candidates(const std::string& text, const Shelf& shelf, const std::string& folder,
                                 const DataRoots& roots) {
  std::vector<fs::path> paths;
  if (is_bare_name(text, shelf)) {
    for (const auto& root : roots.dirs) paths.push_back(fs::path(root) / shelf.named / (text + shelf.ending));
    paths.push_back(fs::path(folder) / text);
    return paths;
  }
  paths.push_back(fs::path(folder) / text);
  if (fs::path(text).is_relative())
    for (const auto& root : roots.dirs) paths.push_back(fs::path(root) / shelf.folder / text);
  return paths;
}

}  // namespace

DataRoots find_data_roots(const std::string& executable, const std::string& installed,
                          const std::string& source_tree) {
  std::vector<fs::path> wanted;
  if (const char* given = std::getenv("REHEARSE_DATA"); given && *given) wanted.emplace_back(given);
  const fs::path program(executable);
  wanted.push_back(program.parent_path().parent_path() / "share" / "rehearse");
  const auto relative = program.lexically_relative(source_tree);
  const bool built_inside = !relative.empty() && *relative.begin() != "..";
  if (built_inside) wanted.emplace_back(source_tree);
  wanted.emplace_back(installed);
  if (!built_inside) wanted.emplace_back(source_tree);
  DataRoots roots;
  std::error_code error;
  for (const auto& dir : wanted)
    if (!dir.empty() && fs::is_directory(dir, error)) roots.dirs.push_back(tidy(dir));
  return roots;
}

std::optional<std::string> resolve(const DocNode& node, const std::string& key, FileKind kind,
                                   const std::string& folder, const DataRoots& roots, Problems& problems) {
  const Shelf shelf = shelf_of(kind);
  std::string text;
  if (!read_value(node, key, problems, text)) return {};
  for (const auto& path : candidates(text, shelf, folder, roots))
    if (is_file(path)) return tidy(path);
  const bool bare = is_bare_name(text, shelf);
  problems.add(node.mark, key, "E-FILE-MISSING",
               bare ? "there is no " + std::string(shelf.noun) + " named " + quote(text)
                    : "there is no " + std::string(shelf.noun) + " file " + quote(text),
               names_hint(bare ? text : fs::path(text).stem().string(), shelf, roots));
  return {};
}

std::string resolve_scenario(const std::string& path, const DataRoots& roots) {
  if (path == "-" || is_file(path)) return path;
  const Shelf shelf = shelf_of(FileKind::scenario);
  auto paths = candidates(path, shelf, ".", roots);
  for (const auto& root : roots.dirs)
    if (fs::path(path).is_relative()) paths.push_back(fs::path(root) / path);
  for (const auto& candidate : paths)
    if (is_file(candidate)) return tidy(candidate);
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  throw InputErrors(InputError{
      {},
      "",
      "E-FILE-MISSING",
      folder ? quote(path) + " is a directory, not a scenario" : "there is no scenario file " + quote(path),
      names_hint(fs::path(path).stem().string(), shelf, roots)});
}

std::string folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  return path == "-" || parent.empty() ? "." : parent.string();
}

}  // namespace rehearse
