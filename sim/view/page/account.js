// Where the time of a step goes: one stacked bar a run, and the numbers.
import { axis, chart, inkOn, legend, tooltip } from './charts.js';
import { h, section, swatch, table, tipContent } from './dom.js';
import { criticalPath } from './ledger.js';
import { percent, seconds, secondsIn } from './format.js';
import { knownError } from './summary.js';
import { ground, parts } from './theme.js';

const shorten = (text, n = 34) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

const below = 20; // px under the middle of the bar, so that the whisker hides no label

function whiskers(runs, error) {
  const g = ground();
  return {
    name: 'mean error of the model', type: 'custom', z: 5, itemStyle: { color: g.ink }, silent: true,
    data: runs.map((run, i) => [i, run.report.step_time_s]),
    renderItem: (_, api) => {
      const y = api.coord([0, api.value(0)])[1] + below, x = (f) => api.coord([api.value(1) * f, api.value(0)])[0];
      const [from, to] = [x(1 - error.fraction), x(1 + error.fraction)];
      const line = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: g.ink, lineWidth: 1.5 } });
      return { type: 'group', children: [line(from, y, to, y), line(from, y - 4, from, y + 4), line(to, y - 4, to, y + 4)] };
    },
  };
}

function option(runs, shown, error) {
  const g = ground();
  const longest = Math.max(...runs.map((run) => run.report.step_time_s)) * (1 + (error ? error.fraction : 0));
  const unit = secondsIn(longest);
  const single = runs.length === 1;
  return {
    legend: legend({ data: [...shown.map((p) => p.label), ...(error ? ['mean error of the model'] : [])] }),
    grid: { left: single ? 8 : 12, right: 24, top: 44, bottom: 22, containLabel: true },
    xAxis: axis({ type: 'value', max: longest, axisLabel: { formatter: (x) => (x > longest * 0.999 && error ? '' : `${unit.text(Number(x.toPrecision(3)))} ${unit.unit}`), showMaxLabel: false } }),
    yAxis: axis({ type: 'category', inverse: true, data: runs.map((run) => run.label), axisLabel: { show: !single, color: g.ink, fontSize: 12, formatter: (text) => shorten(text) } }),
    tooltip: tooltip({
      trigger: 'item',
      formatter: (p) => {
        const box = h('div', {});
        const run = runs[p.dataIndex], part = shown[p.seriesIndex];
        if (!part) return '';
        box.append(...tipContent(part.label, [['run', run.label], ['time', seconds(run.report.account_s[part.key])],
          ['of the step', percent(run.report.account_s[part.key] / run.report.step_time_s)]]));
        return box;
      },
    }),
    series: [...shown.map((part) => ({
      name: part.label, type: 'bar', stack: 'step', barMaxWidth: 34, barCategoryGap: '30%',
      itemStyle: { color: part.colour, borderColor: g.panel, borderWidth: 1 },
      data: runs.map((run) => run.report.account_s[part.key]),
      label: {
        show: true, color: inkOn(part.colour), fontSize: 11, textBorderWidth: 0,
        formatter: (p) => (p.value / longest > 0.055 ? percent(p.value / runs[p.dataIndex].report.step_time_s) : ''),
      },
    })), ...(error ? [whiskers(runs, error)] : [])],
  };
}

function numbers(runs, shown) {
  const step = (run) => run.report.step_time_s;
  const value = (run, part) => (part.key === 'total' ? step(run) : run.report.account_s[part.key]);
  const columns = [{ label: 'part', cell: (part) => h('span', {}, part.colour ? swatch(part.colour) : null, part.label) }];
  runs.forEach((run, i) => {
    columns.push({ label: runs.length > 1 ? run.label : 'time', num: true, text: (part) => seconds(value(run, part)) },
      { label: 'share', num: true, text: (part) => percent(value(run, part) / step(run)) });
    if (i > 0) columns.push({ label: 'change', title: `from ${runs[0].label}`, num: true, text: (part) => signedSeconds(value(run, part) - value(runs[0], part), step(run)) });
  });
  const box = table(columns, [...shown, { key: 'total', label: 'step' }]);
  box.querySelector('tbody').lastChild.className = 'total';
  return box;
}

function signedSeconds(s, step) {
  return Math.abs(s) < 1e-9 * step ? '±0 s' : `${s > 0 ? '+' : '−'}${seconds(Math.abs(s), 3)}`;
}

export function accountSection(page) {
  const runs = page.runs, error = knownError(page);
  const shown = parts.filter((part) => runs.some((run) => run.report.account_s[part.key] > 0));
  const bars = chart({
    height: () => 76 + (error ? 54 : 46) * runs.length, label: 'Stacked bar of the parts of the step', build: () => option(runs, shown, error),
  });
  return section('account', 'Where the time goes', 'means over all ranks; the parts sum to the step', bars.box,
    h('div', { class: 'beside' }, h('div', {}, h('h3', {}, 'Parts'), numbers(runs, shown)), runs.length === 1 ? criticalPath(runs[0]) : null));
}
