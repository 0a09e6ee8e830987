// The layouts of a sweep as columns: what they are called, how they filter, sort and show. No DOM.
import { figureStyle, figureText } from './format.js';

const names = {
  step_time_s: 'step', 'memory.peak_bytes': 'peak', tokens_per_s: 'tokens', tokens_per_s_per_gpu: 'tokens/GPU', model_tflops_per_gpu: 'TFLOP/s',
  bubble_fraction: 'bubble%', 'engine.ranks': 'GPUs',
};

/** Short names: the last part of a path, and more of it where that is taken. */
function shorten(columns) {
  const taken = new Map();
  for (const column of columns) {
    const parts = column.name.split('.');
    let label = names[column.name];
    for (let n = 1; !label || taken.has(label); ++n) {
      label = parts.slice(-n).join('.');
      if (n > parts.length) { label = `${column.name}#${taken.size}`; break; }
    }
    taken.set(label, column);
    column.label = label;
  }
}

function settingColumn({ name, values, at }) {
  const numeric = values.length > 0 && values.every((v) => v !== '' && Number.isFinite(Number(v)));
  const numbers = numeric ? values.map(Number) : null;
  const order = values.map((_, i) => i).sort((a, b) => (values[a] < values[b] ? -1 : 1));
  const rank = [];
  order.forEach((value, i) => { rank[value] = i; });
  return {
    name, values, at, numeric, setting: true, unit: '', better: 0,
    key: (row) => (numeric ? numbers[at[row]] : rank[at[row]]), // to sort by
    number: (row) => (numeric ? numbers[at[row]] : NaN),
    text: (row) => values[at[row]],
  };
}

function figureColumn({ name, numbers }) {
  const style = figureStyle(name);
  const data = new Float64Array(numbers.length);
  for (let i = 0; i < data.length; ++i) data[i] = numbers[i] === null ? NaN : numbers[i];
  return {
    name, data, numeric: true, setting: false, unit: style.unit, better: style.better, style,
    key: (row) => data[row],
    number: (row) => data[row] * style.scale,
    text: (row) => figureText(style, data[row]),
  };
}

/** Whether a column is the same for all rows. */
function constant(column) {
  const data = column.data || column.at;
  return data.every((x) => x === data[0] || (Number.isNaN(x) && Number.isNaN(data[0])));
}

export function readLayouts(sweep) {
  const settings = sweep.settings.map(settingColumn), figures = sweep.figures.map(figureColumn);
  const verdict = settingColumn(sweep.verdict), code = settingColumn(sweep.code);
  const columns = [...settings, ...figures, verdict, code];
  shorten(columns);
  for (const column of columns) column.constant = constant(column);
  return { rows: sweep.rows, settings, figures, verdict, code, columns, find: (name) => columns.find((c) => c.name === name) };
}

const compare = {
  '=': (a, b) => a === b, '!=': (a, b) => a !== b, '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
};

function columnNamed(layouts, word) {
  const low = word.toLowerCase();
  const is = (test) => layouts.columns.find((c) => test(c.label.toLowerCase()) || test(c.name.toLowerCase()));
  return is((name) => name === low) || is((name) => name.endsWith(`.${low}`)) || is((name) => name.startsWith(low));
}

/** A row passes a term: KEY<NUMBER in the unit shown, KEY=TEXT, or a word that some text of the row holds. */
function term(layouts, word) {
  const match = word.match(/^([^<>=!]+)(<=|>=|!=|=|<|>)(.*)$/);
  if (!match) {
    const low = word.toLowerCase();
    const texts = [...layouts.settings, layouts.verdict, layouts.code].filter((c) => !c.numeric);
    const hits = texts.map((c) => c.values.map((v) => v.toLowerCase().includes(low)));
    return { test: (row) => texts.some((c, i) => hits[i][c.at[row]]) };
  }
  const [, key, op, value] = match;
  const column = columnNamed(layouts, key);
  if (!column) return { problem: `no column is called ${key}` };
  if (value === '') return { test: () => true }; // still being typed
  const number = Number(value);
  if (column.numeric) {
    if (!Number.isFinite(number)) return { problem: `${column.label} is compared with a number` };
    const near = (row) => Math.abs(column.number(row) - number) <= 1e-9 * Math.abs(number);
    if (op === '=') return { test: (row) => near(row) || column.text(row) === value };
    if (op === '!=') return { test: (row) => !near(row) && column.text(row) !== value };
    return { test: (row) => compare[op](column.number(row), number) };
  }
  if (op !== '=' && op !== '!=') return { problem: `${column.label} is text: write ${key}=${value}` };
  const low = value.toLowerCase();
  const hit = column.values.map((v) => v.toLowerCase() === low || (op === '=' && v.toLowerCase().startsWith(low)));
  return { test: (row) => hit[column.at[row]] === (op === '=') };
}

/** The rows that pass all terms of a filter, in their order; problems of terms that mean nothing. */
export function filterRows(layouts, text) {
  const terms = text.trim().split(/\s+/).filter(Boolean).map((word) => term(layouts, word));
  const problems = terms.filter((t) => t.problem).map((t) => t.problem);
  const tests = terms.filter((t) => t.test).map((t) => t.test);
  const rows = [];
  for (let row = 0; row < layouts.rows; ++row) if (tests.every((test) => test(row))) rows.push(row);
  return { rows, problems };
}

/** Sorts in place; what is not known comes last either way. */
export function sortRows(rows, column, down) {
  const keys = [];
  for (const row of rows) keys[row] = column.key(row);
  const sign = down ? -1 : 1;
  return rows.sort((a, b) => {
    const x = keys[a], y = keys[b], ax = Number.isNaN(x), by = Number.isNaN(y);
    if (ax || by) return ax && by ? a - b : ax ? 1 : -1;
    return x === y ? a - b : sign * (x < y ? -1 : 1);
  });
}

/** Rows that no other beats in both figures; ordered by the first. Rows without either are not looked at. */
export function paretoFront(rows, x, y) {
  const sx = x.better > 0 ? -1 : 1, sy = y.better > 0 ? -1 : 1;
  const known = rows.filter((row) => Number.isFinite(x.number(row)) && Number.isFinite(y.number(row)));
  known.sort((a, b) => sx * (x.number(a) - x.number(b)) || sy * (y.number(a) - y.number(b)) || a - b);
  const front = [];
  let best = Infinity;
  for (const row of known) {
    const value = sy * y.number(row);
    if (value < best) { best = value; front.push(row); }
  }
  return front;
}

/** Up to eight groups of rows by a column: [{label, of: row => boolean index}] as labels and a function row -> group. */
export function groupBy(column, most = 8) {
  const distinct = column.values.map((_, i) => i);
  const numbers = column.numeric ? column.values.map(Number) : null;
  distinct.sort((a, b) => (numbers ? numbers[a] - numbers[b] : column.values[a] < column.values[b] ? -1 : 1));
  const group = new Array(distinct.length);
  if (distinct.length <= most) {
    distinct.forEach((value, i) => { group[value] = i; });
    return { labels: distinct.map((value) => `${column.values[value]}`), of: (row) => group[column.at[row]], ordered: false };
  }
  if (!numbers) {
    distinct.forEach((value, i) => { group[value] = Math.min(i, most - 1); });
    return { labels: [...distinct.slice(0, most - 1).map((value) => column.values[value]), 'others'], of: (row) => group[column.at[row]], ordered: false };
  }
  const bins = 6, edges = [];
  distinct.forEach((value, i) => {
    group[value] = Math.floor(i * bins / distinct.length);
    (edges[group[value]] = edges[group[value]] || []).push(column.values[value]);
  });
  return { labels: edges.map((e) => (e.length > 1 ? `${e[0]} – ${e[e.length - 1]}` : e[0])), of: (row) => group[column.at[row]], ordered: true };
}
