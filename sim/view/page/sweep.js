// A sweep: what was found, the scatter with its front, and the table of layouts, linked with each other.
import { axis, chart, legend, tooltip } from './charts.js';
import { h, section, select, swatch, table, tipContent } from './dom.js';
import { count, gib, percent, seconds } from './format.js';
import { filterRows, groupBy, paretoFront, readLayouts, sortRows } from './layouts.js';
import { categories, ground, isPrinting, onRedraw, palette, parts, ramp } from './theme.js';
import { printedRows, VirtualTable } from './vtable.js';

const shapes = ['circle', 'rect', 'triangle', 'diamond'];
const first = ['step_time_s', 'mfu', 'tokens_per_s_per_gpu', 'memory.peak_bytes', 'account_s.exposed_tp', 'account_s.exposed_pp', 'account_s.exposed_dp', 'account_s.bubble'];

class SweepView {
  constructor(sweep) {
    this.sweep = sweep;
    this.layouts = readLayouts(sweep);
    const shown = this.layouts.figures.filter((c) => !c.constant);
    const pick = (name, fallback) => this.layouts.find(name) || shown[fallback] || this.layouts.figures[0];
    this.x = pick('step_time_s', 0);
    this.y = pick('memory.peak_bytes', 1);
    this.colour = this.layouts.settings.find((c) => !c.constant) || this.layouts.verdict;
    this.sorted = { key: this.x.name, down: this.x.better > 0 };
    this.all = false;
    this.rows = [];
    this.chosen = -1;
    this.table = new VirtualTable({ choose: (row) => this.choose(row), sort: (key) => this.sortBy(key) });
    this.scatter = chart({ height: 440, label: 'Scatter of layouts with the Pareto front', build: () => this.option(), ready: (drawn) => this.listen(drawn) });
    this.scatter.box.id = 'scatter';
    this.detail = h('div', { class: 'detail', 'aria-live': 'polite' });
    this.found = h('span', { class: 'found', 'aria-live': 'polite' });
    this.problem = h('span', { class: 'problem', role: 'alert' });
    this.pending = 0;
    this.setColumns();
    this.filter('');
    onRedraw(() => this.table.print(isPrinting()));
  }

  tableColumns() {
    const { settings, figures, verdict, code } = this.layouts;
    const wanted = this.all ? [...settings, ...figures, verdict, code]
      : [...settings.filter((c) => !c.constant), ...first.map((name) => this.layouts.find(name)).filter((c) => c && !c.constant), verdict, ...(code.constant ? [] : [code])];
    return [{ key: '', label: 'front', title: 'on the Pareto front of what is shown', width: 56, text: (row) => (this.onFront.has(row) ? '★' : '') },
      ...wanted.map((c) => {
        const label = c.unit ? `${c.label.replace(/%$/, '')} ${c.unit}` : c.label;
        const longest = c.setting ? Math.max(label.length + 2, ...c.values.map((v) => v.length)) : label.length + 2;
        return { key: c.name, label, title: c.name, num: c.numeric, width: Math.max(64, Math.min(240, 16 + 7.4 * longest)), text: c.text };
      })];
  }
  setColumns() {
    this.onFront = this.onFront || new Set();
    this.table.setColumns(this.tableColumns(), this.sorted);
  }

  sortBy(key) {
    if (key === '') return this.sortByFront();
    const column = this.layouts.find(key);
    this.sorted = this.sorted.key === key ? { key, down: !this.sorted.down } : { key, down: column.better > 0 };
    this.setColumns();
    return this.order();
  }
  sortByFront() {
    this.sorted = { key: '', down: false };
    this.setColumns();
    this.order();
  }

  filter(text) {
    const { rows, problems } = filterRows(this.layouts, text);
    this.rows = rows;
    this.problem.textContent = problems.join('; ');
    this.found.textContent = `${count(rows.length)} of ${count(this.layouts.rows)}`;
    this.refreshFront();
    this.order();
    if (this.drawn) this.drawSoon();
  }
  refreshFront() {
    this.front = paretoFront(this.rows, this.x, this.y);
    this.onFront = new Set(this.front);
  }
  order() {
    const rows = this.rows.slice();
    if (this.sorted.key === '') {
      const place = new Map(this.front.map((row, i) => [row, i]));
      rows.sort((a, b) => (place.has(a) ? place.get(a) : Infinity) - (place.has(b) ? place.get(b) : Infinity) || a - b);
    } else {
      sortRows(rows, this.layouts.find(this.sorted.key), this.sorted.down);
    }
    this.table.setOrder(rows);
  }
  /** The scatter follows when typing pauses. */
  drawSoon() {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.scatter.draw(), 120);
  }

  /** Points of a group as pairs, and the rows they are of. */
  groups() {
    const by = groupBy(this.colour);
    const list = by.labels.map((label) => ({ label: `${this.colour.label} ${label}`, rows: [], points: [] }));
    for (const row of this.rows) {
      const x = this.x.number(row), y = this.y.number(row);
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      const group = list[by.of(row)];
      group.rows.push(row);
      group.points.push(x, y);
    }
    list.forEach((group, i) => {
      group.colour = by.ordered ? ramp(i / (list.length - 1)) : categories[i % categories.length];
      group.shape = shapes[i % shapes.length];
    });
    return list.filter((group) => group.rows.length);
  }

  option() {
    const g = ground(), groups = this.groups();
    this.rowsOf = groups.map((group) => group.rows);
    const name = (c) => `${c.label.replace(/%$/, '')}${c.unit ? `, ${c.unit}` : ''}`;
    const capacity = this.y.name === 'memory.peak_bytes' && this.sweep.capacity_bytes > 0 ? this.sweep.capacity_bytes : 0;
    return {
      legend: legend({ data: [...groups.map((group) => group.label), 'front'], type: 'plain' }),
      grid: { left: 28, right: 28, top: 40, bottom: 34, containLabel: true },
      xAxis: axis({ type: 'value', scale: true, name: name(this.x), nameLocation: 'middle', nameGap: 28 }),
      yAxis: axis({ type: 'value', scale: true, name: name(this.y), nameLocation: 'middle', nameGap: 44 }),
      dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl' }, { type: 'inside', yAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl' }],
      tooltip: tooltip({ trigger: 'item', formatter: (p) => this.tip(p) }),
      series: [
        ...groups.map((group) => ({
          name: group.label, type: 'scatter', large: true, largeThreshold: 1500, progressive: 0, dimensions: ['x', 'y'], data: Float64Array.from(group.points),
          symbol: group.shape, symbolSize: this.rows.length > 5000 ? 3.5 : 7, itemStyle: { color: group.colour, opacity: this.rows.length > 5000 ? 0.7 : 0.85 }, emphasis: { scale: false },
          markLine: group === groups[0] && capacity ? {
            silent: true, symbol: 'none', lineStyle: { color: g.ink, type: 'dashed' }, data: [{ yAxis: capacity * 2 ** -30 }],
            label: { formatter: `capacity ${gib(capacity)}`, color: g.ink, position: 'insideEndTop', fontSize: 11 },
          } : undefined,
        })),
        {
          name: 'front', type: 'line', step: 'end', data: this.front.map((row) => [this.x.number(row), this.y.number(row)]), symbol: 'circle', symbolSize: 9, z: 5,
          itemStyle: { color: g.panel, borderColor: palette.vermillion, borderWidth: 2 }, lineStyle: { color: palette.vermillion, width: 1.5 }, emphasis: { scale: false },
        },
        this.mark(),
      ],
    };
  }
  mark() {
    const known = this.chosen >= 0 && Number.isFinite(this.x.number(this.chosen)) && Number.isFinite(this.y.number(this.chosen));
    return {
      id: 'chosen', name: 'chosen', type: 'scatter', z: 6, silent: true, symbol: 'circle', symbolSize: 17,
      data: known ? [[this.x.number(this.chosen), this.y.number(this.chosen)]] : [], itemStyle: { color: 'transparent', borderColor: ground().ink, borderWidth: 2.5 },
    };
  }

  rowAt(p) {
    return p.seriesName === 'front' && p.seriesType === 'line' ? this.front[p.dataIndex] : (this.rowsOf[p.seriesIndex] || [])[p.dataIndex];
  }
  tip(p) {
    const row = this.rowAt(p);
    const box = h('div', {});
    if (row === undefined) return box;
    const varied = this.layouts.settings.filter((c) => !c.constant);
    box.append(...tipContent(`layout ${row + 1}`, [...varied.slice(0, 12).map((c) => [c.label, c.text(row)]),
      ...[this.x, this.y].map((c) => [c.label, `${c.text(row)} ${c.unit}`]), ['', 'click for all of it']]));
    return box;
  }
  listen(drawn) {
    drawn.on('click', (p) => {
      const row = this.rowAt(p);
      if (row !== undefined) this.choose(row);
    });
    this.drawn = drawn;
  }

  choose(row) {
    this.chosen = row;
    this.table.setChosen(row);
    if (this.drawn) this.drawn.setOption({ series: [this.mark()] });
    this.describe(row);
  }

  describe(row) {
    const { settings, figures, verdict, code } = this.layouts;
    const account = parts.map((part) => ({ ...part, s: (this.layouts.find(`account_s.${part.key}`) || { data: [] }).data[row] })).filter((part) => part.s > 0);
    const step = account.reduce((sum, part) => sum + part.s, 0);
    const bar = step > 0 ? h('div', {},
      h('div', { class: 'stack', role: 'img', 'aria-label': 'Where its time goes' }, account.map((part) => h('span', { style: { width: `${100 * part.s / step}%`, background: part.colour }, title: `${part.label} ${seconds(part.s)}` }))),
      h('div', { class: 'legend' }, account.map((part) => h('span', {}, swatch(part.colour), `${part.label} ${seconds(part.s)} (${percent(part.s / step)})`)))) : null;
    const list = (columns) => h('dl', { class: 'figures' }, columns.map((c) => h('div', {}, h('dt', { title: c.name }, c.label.replace(/%$/, '')), h('dd', {}, `${c.text(row)} ${c.unit}`))));
    this.detail.replaceChildren(h('h3', {}, `Layout ${row + 1}: `, verdict.text(row), code.text(row) ? ` (${code.text(row)})` : ''),
      ...(bar ? [bar] : []), list(figures.filter((c) => Number.isFinite(c.data[row]) && !c.name.startsWith('account_s.'))),
      h('pre', { title: 'options that make this layout of the base scenario' }, settings.map((c) => `--set ${c.name}=${c.text(row)}`).join('\n')));
  }

  controls() {
    const figures = this.layouts.figures.map((c) => [c.name, c.label.replace(/%$/, '') + (c.unit ? `, ${c.unit}` : '')]);
    const axes = (which) => (name) => { this[which] = this.layouts.find(name); this.refreshFront(); this.order(); this.scatter.draw(); };
    const groups = [...this.layouts.settings.filter((c) => !c.constant), this.layouts.verdict].map((c) => [c.name, c.label]);
    return h('div', { class: 'row' }, select('x', figures, this.x.name, axes('x')), select('y', figures, this.y.name, axes('y')),
      select('colour', groups, this.colour.name, (name) => { this.colour = this.layouts.find(name); this.scatter.draw(); }),
      h('button', { type: 'button', onclick: () => this.scatter.draw() }, 'whole'),
      h('span', { class: 'hint' }, 'Ctrl + wheel zooms, drag moves, click a point for its row'));
  }
  search() {
    const input = h('input', { type: 'search', id: 'filter', placeholder: 'tp>=4 zero=1 step<30 …', spellcheck: 'false', autocomplete: 'off', oninput: () => this.filter(input.value) });
    const everything = h('input', { type: 'checkbox', onchange: () => { this.all = everything.checked; this.setColumns(); this.order(); } });
    return h('div', { class: 'row' }, h('label', { class: 'control' }, h('span', {}, 'filter'), input), this.found, this.problem,
      h('label', { class: 'control' }, everything, h('span', {}, 'all columns')),
      h('span', { class: 'hint' }, 'in the units shown; a word alone is searched in all texts'));
  }
}

function reasons(layouts) {
  const counts = new Map();
  for (let row = 0; row < layouts.rows; ++row) {
    const key = `${layouts.verdict.text(row)}\n${layouts.code.text(row)}`;
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const rows = [...counts].map(([key, n]) => [...key.split('\n'), n]).sort((a, b) => b[2] - a[2]);
  return table([
    { label: 'verdict', text: (r) => r[0] }, { label: 'why', text: (r) => r[1] }, { label: 'layouts', num: true, text: (r) => count(r[2]) },
    { label: '', cell: (r) => h('span', { class: 'bar', style: { width: `${Math.max(1, 160 * r[2] / layouts.rows)}px` } }) },
  ], rows);
}

function sameForAll(layouts) {
  const same = layouts.settings.filter((c) => c.constant);
  return same.length ? h('p', { class: 'note' }, 'the same for all: ', same.map((c) => `${c.name}=${c.text(0)}`).join(', ')) : null;
}

export function sweepSection(sweep, at = 0) {
  const id = at ? `sweep-${at}` : 'sweep', title = `Layouts of ${sweep.name}`;
  if (!sweep.rows || !sweep.figures.length) return section(id, title, sweep.source, h('p', { class: 'absent' }, 'The store holds no layout.'));
  const view = new SweepView(sweep);
  return section(id, title, `${count(sweep.rows)} layouts; ${sweep.source}`, h('div', { class: 'found-all' }, reasons(view.layouts)), sameForAll(view.layouts),
    h('h3', {}, 'Trade-offs'), view.controls(), view.scatter.box,
    h('h3', {}, 'Table'), view.search(), view.table.box, h('p', { class: 'paper' }, `On paper the first ${printedRows} rows of what is shown.`), view.detail);
}
