#include <fmt/format.h>

#include "sim/account/names.hpp"
#include "sim/base/csv.hpp"
#include "sim/view/text.hpp"

namespace rehearse {

std::string to_csv(const std::vector<LinkLoad>& loads, double step_s) {
  std::string text = "link,class,links,capacity_bytes_per_s,bytes,busy_share,mean_share,peak_share,traffic\n";
  for (const LinkLoad& load : loads) {
    std::string traffic;
    for (const LinkTraffic& t : load.traffic)
      traffic += fmt::format("{}{} {} x{}: {:.9g}", traffic.empty() ? "" : "; ", axis_name(t.axis), t.what,
                             t.group_size, t.bytes);
    const std::string peak = load.peak_share ? fmt::format("{:.6g}", *load.peak_share) : "";
    text += fmt::format("{},{},{},{:.9g},{:.9g},{:.6g},{:.6g},{},{}\n", csv_cell(load.link), load.link_class,
                        load.links, load.capacity_bytes_per_s, load.bytes,
                        step_s > 0 ? load.busy_s / step_s : 0, load.mean_share, peak, csv_cell(traffic));
  }
  return text;
}

}  // namespace rehearse
