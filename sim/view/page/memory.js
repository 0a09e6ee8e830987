// Memory: its peak by stage and part, and over time, against what a GPU has.
import { axis, chart, legend, tooltip } from './charts.js';
import { h, section, select, tipContent } from './dom.js';
import { gib, seconds, secondsIn } from './format.js';
import { ground, memoryParts, ramp } from './theme.js';

const GiB = 2 ** 30;
const total = (parts) => memoryParts.reduce((sum, part) => sum + parts[part.key], 0);

function capacityLine(bytes, vertical) {
  const g = ground();
  return {
    silent: true, symbol: 'none', animation: false, lineStyle: { color: g.ink, type: 'dashed', width: 1.5 },
    label: { formatter: `capacity ${gib(bytes)}`, color: g.ink, position: vertical ? 'start' : 'insideStartTop', fontSize: 11 },
    data: [vertical ? { xAxis: bytes / GiB } : { yAxis: bytes / GiB }],
  };
}

function peakOption(memory) {
  const g = ground();
  const shown = memoryParts.filter((part) => memory.stages.some((s) => s.parts[part.key] > 0));
  const most = Math.max(memory.capacity_bytes, memory.peak_bytes) / GiB * 1.04;
  return {
    legend: legend({ data: shown.map((part) => part.label) }),
    grid: { left: 12, right: 24, top: 56, bottom: 8, containLabel: true },
    xAxis: axis({ type: 'value', max: most, axisLabel: { formatter: (x) => `${Math.round(x)} GiB`, showMaxLabel: false } }),
    yAxis: axis({ type: 'category', inverse: true, data: memory.stages.map((s) => `stage ${s.stage}`), axisLabel: { color: g.ink } }),
    tooltip: tooltip({
      trigger: 'axis', axisPointer: { type: 'shadow' },
      formatter: (points) => {
        const stage = memory.stages[points[0].dataIndex];
        const box = h('div', {});
        box.append(...tipContent(`stage ${stage.stage} at its peak`, [
          ...shown.map((part) => [part.label, gib(stage.parts[part.key]), part.colour]), ['total', gib(total(stage.parts))],
          ...(stage.peak_time_s !== undefined ? [['at', seconds(stage.peak_time_s)]] : [])]));
        return box;
      },
    }),
    series: shown.map((part, i) => ({
      name: part.label, type: 'bar', stack: 'peak', barMaxWidth: 20, barCategoryGap: '28%', itemStyle: { color: part.colour, borderColor: g.panel, borderWidth: 1 },
      data: memory.stages.map((s) => s.parts[part.key] / GiB),
      markLine: i === 0 ? capacityLine(memory.capacity_bytes, true) : undefined,
    })),
  };
}

/** GiB of a part of a stage at each change, or of all parts; what does not change is taken from its peak. */
function samples(run, s, key) {
  const over = run.memory_over_time[s], fixed = run.report.memory.stages[s].parts;
  const rest = total(fixed) - fixed.activations - fixed.logits;
  return over.time_ns.map((_, i) => {
    if (key) return (over[key] ? over[key][i] : fixed[key]) / GiB;
    return (rest + over.activations[i] + over.logits[i]) / GiB;
  });
}
function series(run, s, key) {
  const values = samples(run, s, key);
  const data = run.memory_over_time[s].time_ns.map((t, i) => [t * 1e-9, values[i]]);
  data.push([run.report.step_time_s, values[values.length - 1]]);
  return data;
}
/** The value of steps [[time, value]] at a time. */
function valueAt(data, time) {
  let low = 0, high = data.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  return data[Math.max(0, low - 1)][1];
}

const line = (name, colour, data, extra) => ({
  name, type: 'line', step: 'end', showSymbol: false, sampling: 'max', data, lineStyle: { color: colour, width: 1.5 }, itemStyle: { color: colour }, ...extra,
});

function overTimeOption(run, stage, view) {
  const memory = run.report.memory, g = ground(), n = memory.stages.length;
  const list = stage === 'all'
    ? memory.stages.map((s, i) => line(`stage ${s.stage}`, n > 1 ? ramp(i / (n - 1)) : ramp(0), series(run, i)))
    : memoryParts.filter((part) => memory.stages[stage].parts[part.key] > 0 || part.key === 'activations' || part.key === 'logits')
      .map((part) => line(part.label, part.colour, series(run, stage, part.key), { stack: 'parts', sampling: undefined, areaStyle: { color: part.colour, opacity: 0.9 }, lineStyle: { width: 0 } }));
  list[0].markLine = capacityLine(memory.capacity_bytes, false);
  const unit = secondsIn(view.to - view.from);
  const all = stage === 'all';
  return {
    legend: legend({ icon: 'roundRect', data: all && n > 16 ? [] : list.map((l) => l.name) }),
    grid: { left: 12, right: 24, top: n > 8 && all ? 72 : 48, bottom: 8, containLabel: true },
    xAxis: axis({ type: 'value', min: view.from, max: view.to, axisLabel: { formatter: (x) => `${unit.text(x)} ${unit.unit}`, showMinLabel: false, showMaxLabel: false }, splitLine: { show: false } }),
    yAxis: axis({ type: 'value', name: '', min: all ? scaleFrom(memory) : 0, max: Math.max(memory.capacity_bytes, memory.peak_bytes) / GiB * 1.03, axisLabel: { formatter: (x) => `${Math.round(x)} GiB`, showMaxLabel: false, showMinLabel: !all } }),
    tooltip: tooltip({
      trigger: 'axis', axisPointer: { type: 'line', lineStyle: { color: g.muted } },
      formatter: (points) => {
        const box = h('div', {}), time = points[0].axisValue;
        const shown = list.map((l) => [l.name, valueAt(l.data, time), l.itemStyle.color]);
        if (!all) shown.reverse().unshift(['total', shown.reduce((sum, [, value]) => sum + value, 0)]);
        box.append(...tipContent(`at ${seconds(time, 5)}`, shown.slice(0, 24).map(([name, value, colour]) => [name, `${value.toFixed(2)} GiB`, colour])));
        return box;
      },
    }),
    series: list,
  };
}

// Below what all stages hold all the time there is nothing to see.
function scaleFrom(memory) {
  const least = Math.min(...memory.stages.map((s) => total(s.parts) - s.parts.activations - s.parts.logits)) / GiB;
  return Math.max(0, Math.floor((least - 2) / 5) * 5);
}

export function memorySection(run) {
  const memory = run.report.memory;
  const peak = chart({ height: () => 80 + memory.stages.length * Math.max(14, Math.min(26, 420 / memory.stages.length)), label: 'Peak memory of each stage by part', build: () => peakOption(memory) });
  const children = [h('h3', {}, 'At each stage’s peak'), peak.box];
  if (run.memory_over_time) {
    const view = run.view || { from: 0, to: run.report.step_time_s };
    let stage = 'all';
    const over = chart({ height: 330, label: 'Memory over time of each stage', build: () => overTimeOption(run, stage, view) });
    run.onView = (from, to) => { view.from = from; view.to = to; over.draw(); };
    over.box.id = 'memory-over-time';
    children.push(h('div', { class: 'row' }, h('h3', {}, 'Over time'),
      select('stage', [['all', 'all, totals'], ...memory.stages.map((s, i) => [`${i}`, `stage ${s.stage}, parts`])], 'all',
        (value) => { stage = value === 'all' ? 'all' : Number(value); over.draw(); }),
      h('p', { class: 'note' }, 'follows the window of the timeline; of a stage’s replicas the one with the highest peak')), over.box);
  } else {
    children.push(h('p', { class: 'absent' }, 'Memory over time is not in this result: it was given as JSON. Give the scenario itself to see it.'));
  }
  return section('memory', 'Memory', `a rank, against ${gib(memory.capacity_bytes)}`, ...children);
}
