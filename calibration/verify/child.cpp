// The simulator as a child: its JSON for step and account, its timeline for each task.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "calibration/verify/verify.hpp"
#include "sim/base/error.hpp"

namespace rehearse::calibration {

namespace {

struct Output {
  int status = 0;
  std::string out, err;
};

std::string drain(int from) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t n; (n = read(from, buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), size_t(n));
  close(from);
  return text;
}

// Errors go through a file, so that neither stream can block the other.
Output run(std::vector<std::string> words) {
  int out[2];
  if (pipe(out) != 0) throw std::runtime_error("cannot make a pipe");
  FILE* errors = tmpfile();
  if (!errors) throw std::runtime_error("cannot make a temporary file");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start " + words[0]);
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(fileno(errors), STDERR_FILENO);
    close(out[0]);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  Output result;
  result.out = drain(out[0]);
  waitpid(child, &result.status, 0);
  rewind(errors);
  result.err = drain(dup(fileno(errors)));
  fclose(errors);
  return result;
}

std::string ask(const std::string& program, const std::string& scenario, const std::vector<std::string>& sets,
                const std::vector<std::string>& more) {
  std::vector<std::string> words{program, "run", scenario, "--fold", "off", "--quiet"};
  for (const auto& set : sets) words.insert(words.end(), {"--set", set});
  words.insert(words.end(), more.begin(), more.end());
  const Output answer = run(words);
  const int status = WIFEXITED(answer.status) ? WEXITSTATUS(answer.status) : -1;
  if (status == 127) throw std::runtime_error("cannot start the simulator, " + program);
  if (status == 2) throw InputErrors(InputError{{}, "", "E-VERIFY", answer.err, ""});
  if (status != 0 && status != 1) throw std::runtime_error(program + " failed: " + answer.err);
  return answer.out;
}

}  // namespace

Simulated simulate_in_child(const std::string& program, const std::string& scenario,
                            const std::vector<std::string>& sets) {
  Simulated result;
  const auto report = nlohmann::json::parse(ask(program, scenario, sets, {"--json", "-"}));
  result.step = report.at("step_time_s").get<double>();
  for (const auto& [part, seconds] : report.at("account_s").items())
    if (part != "total") result.account.emplace_back(part, seconds.get<double>());
  std::istringstream timeline(ask(program, scenario, sets, {"--stop-after", "timeline", "--dump", "-"}));
  for (std::string line; std::getline(timeline, line);) {
    const size_t dots = line.find("..");
    if (line.empty() || line[0] == '#' || dots == std::string::npos) continue;
    const size_t from = line.rfind(' ', dots) + 1;
    result.start.push_back(std::stod(line.substr(from, dots - from)));
    result.end.push_back(std::stod(line.substr(dots + 2)));
  }
  return result;
}

}  // namespace rehearse::calibration
