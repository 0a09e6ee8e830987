// rehearse batch: JSON lines in, JSON lines out, for other programs that drive this one.
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/base/file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/simulate.hpp"
#include "sim/io/request.hpp"

namespace rehearse {

namespace {

using Json = nlohmann::ordered_json;

// False at the end of the requests.
bool next_line(std::string& line) {
  constexpr size_t kLongest = size_t{64} << 20;
  line.clear();
  for (int c = 0; (c = std::getchar()) != EOF && c != '\n';) {
    if (line.size() == kLongest)
      throw InputErrors(InputError{{},
                                   "",
                                   "E-BATCH-LINE",
                                   "a line is longer than 64 MiB",
                                   "one object a line; a long scenario has a file"});
    line += static_cast<char>(c);
  }
  return !line.empty() || std::feof(stdin) == 0;
}

class Batch {
 public:
  Batch(const StepOptions& engine, const DataRoots& roots) : engine_(engine), roots_(roots) {}

  // The answer to one line.
  Json answer(const std::string& line) {
    Json answer{{"id", nullptr}};
    try {
      const Json request = read_request(line);
      if (request.contains("id")) answer["id"] = request["id"];
      const Plan plan = resolve(read_job(request, roots_, files_));
      const auto began = std::chrono::steady_clock::now();
      Step step = simulate(plan, engine_);
      step.report.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      answer.update(Json::parse(to_json(step.report, plan.scenario)));
    } catch (const InputErrors& found) {
      for (const auto& e : found.errors)
        answer["error"].push_back({{"code", e.code},
                                   {"message", e.message},
                                   {"key", e.key_path},
                                   {"file", e.place.file},
                                   {"line", e.place.line},
                                   {"column", e.place.column},
                                   {"hint", e.hint}});
    } catch (const std::exception& e) {
      answer["error"].push_back({{"code", "E-POINT-INTERNAL"}, {"message", e.what()}});
    }
    return answer;
  }

 private:
  StepOptions engine_;
  const DataRoots& roots_;
  ScenarioFiles files_;
};

}  // namespace

int command_batch(const Invocation& invocation, std::ostream& out) {
  EngineOptions engine;
  boost::program_options::options_description options("batch");
  add_engine_options(options, engine);
  const CommandHelp help{
      "batch", "",
      "Answers requests of one JSON object a line: {\"id\": ..., \"scenario\": a name, path, YAML text or "
      "object,\n"
      "\"set\": [\"KEY.PATH=VALUE\", ...]} with one line each, in order: the JSON of rehearse run with the "
      "id, or\n"
      "{\"id\": ..., \"error\": [{code, message, key, file, line, column, hint}]}. A file is read once.",
      0, 0};
  if (!parse_words(invocation.words, help, options, out)) return kDone;
  claim_standard_input("standard input holds the requests");
  Batch batch(step_options(engine), invocation.roots);
  for (std::string line; next_line(line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string answer = batch.answer(line).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    // At once: a client may wait for it before it asks more.
    write_stdout(answer);
  }
  return kDone;
}

}  // namespace rehearse
