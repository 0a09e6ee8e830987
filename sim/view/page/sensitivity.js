// What the step depends on: a tornado of the knobs, and a curve each.
import { axis, chart, legend, tooltip } from './charts.js';
import { h, section, tipContent } from './dom.js';
import { digits, seconds, secondsIn, signedPercent } from './format.js';
import { categories, ground, palette } from './theme.js';

/** [{knob, points: [[factor, step]]}] in order of their swing, and the step where nothing is changed. */
function curves(result) {
  const by = new Map();
  for (const row of result.sensitivity) {
    if (!by.has(row.knob)) by.set(row.knob, []);
    by.get(row.knob).push([row.factor, row.step_time_s]);
  }
  const nearest = result.sensitivity.reduce((best, row) => (Math.abs(Math.log(row.factor)) < Math.abs(Math.log(best.factor)) ? row : best));
  const base = Number.isFinite(result.step_time_s) ? result.step_time_s : nearest.step_time_s;
  const list = [...by].map(([knob, points]) => {
    points.sort((a, b) => a[0] - b[0]);
    const steps = points.map((p) => p[1]);
    return { knob, points, low: points[steps.indexOf(Math.min(...steps))], high: points[steps.indexOf(Math.max(...steps))] };
  });
  list.sort((a, b) => (b.high[1] - b.low[1]) - (a.high[1] - a.low[1]));
  return { base, list };
}

const share = (p, base) => p[1] / base - 1;

function tornado({ base, list }) {
  const g = ground();
  const widest = Math.max(1e-6, ...list.flatMap((k) => [Math.abs(share(k.low, base)), Math.abs(share(k.high, base))])) * 1.22;
  const bar = (name, colour, of, position) => ({
    name, type: 'bar', stack: 'swing', barMaxWidth: 18, itemStyle: { color: colour }, data: list.map((k) => share(of(k), base)),
    label: { show: true, position, color: g.ink, fontSize: 11, formatter: (p) => (Math.abs(p.value) < 5e-5 ? '' : `${signedPercent(p.value)} (×${digits(of(list[p.dataIndex])[0], 2)})`) },
  });
  return {
    legend: legend({ data: ['shortest step', 'longest step'] }),
    grid: { left: 12, right: 12, top: 34, bottom: 8, containLabel: true },
    xAxis: axis({ type: 'value', min: -widest, max: widest, axisLabel: { formatter: (x) => signedPercent(x, 0), showMinLabel: false, showMaxLabel: false } }),
    yAxis: axis({ type: 'category', inverse: true, data: list.map((k) => k.knob), axisLabel: { color: g.ink } }),
    tooltip: tooltip({
      formatter: (p) => {
        const k = list[p.dataIndex], box = h('div', {});
        box.append(...tipContent(k.knob, k.points.map(([factor, step]) => [`× ${digits(factor, 3)}`, `${seconds(step)}  ${signedPercent(step / base - 1)}`])));
        return box;
      },
    }),
    series: [bar('shortest step', palette.blue, (k) => k.low, 'left'), bar('longest step', palette.vermillion, (k) => k.high, 'right')],
  };
}

const symbols = ['circle', 'rect', 'triangle', 'diamond', 'pin'];

function lines({ base, list }) {
  const g = ground(), unit = secondsIn(Math.max(...list.map((k) => k.high[1])));
  return {
    legend: legend({ data: list.map((k) => k.knob) }),
    grid: { left: 12, right: 24, top: 30 + 22 * Math.ceil(list.length / 5), bottom: 24, containLabel: true },
    xAxis: axis({ type: 'log', logBase: 2, name: 'factor', nameLocation: 'middle', nameGap: 26, axisLabel: { formatter: (x) => `×${Number(x.toPrecision(3))}` } }),
    yAxis: axis({ type: 'value', scale: true, axisLabel: { formatter: (x) => `${unit.text(x)} ${unit.unit}` } }),
    tooltip: tooltip({
      formatter: (p) => {
        const box = h('div', {});
        box.append(...tipContent(p.seriesName, [['factor', `× ${digits(p.value[0], 3)}`], ['step', seconds(p.value[1])], ['change', signedPercent(p.value[1] / base - 1)]]));
        return box;
      },
    }),
    series: list.map((k, i) => ({
      name: k.knob, type: 'line', data: k.points, symbol: symbols[Math.floor(i / categories.length) % symbols.length], symbolSize: 7,
      lineStyle: { color: categories[i % categories.length], type: i < categories.length ? 'solid' : 'dashed' }, itemStyle: { color: categories[i % categories.length] },
      markLine: i ? undefined : { silent: true, symbol: 'none', lineStyle: { color: g.muted, type: 'dashed' }, label: { formatter: 'as it is', color: g.muted, position: 'insideEndTop' }, data: [{ yAxis: base }] },
    })),
  };
}

export function sensitivitySection(result, at = 0) {
  const id = at ? `sensitivity-${at}` : 'sensitivity';
  if (!result.sensitivity.length) return section(id, 'Sensitivity', result.source, h('p', { class: 'absent' }, 'No knob was turned.'));
  const all = curves(result);
  const first = chart({ height: () => 60 + 30 * all.list.length, label: 'Tornado of the knobs', build: () => tornado(all) });
  const second = chart({ height: 340, label: 'Step time over the factor of each knob', build: () => lines(all) });
  return section(id, 'Sensitivity', `change of the step from ${seconds(all.base)}; ${result.source}`, first.box, h('h3', {}, 'Curves'), second.box);
}
