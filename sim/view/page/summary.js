// The figures one looks for first.
import { h, section, table } from './dom.js';
import { count, digits, gib, percent, rate, seconds, signedPercent } from './format.js';

function tile(label, value, unit, sub, more) {
  return h('div', { class: 'tile' }, h('div', { class: 'label' }, label),
    h('div', { class: 'value' }, value, unit ? h('span', { class: 'unit' }, ` ${unit}`) : null), sub ? h('div', { class: 'sub' }, sub) : null, more);
}

export function verdict(fits) {
  return h('span', { class: `verdict ${fits ? 'good' : 'bad'}` }, fits ? '✓ fits' : '✗ does not fit');
}

function meter(memory) {
  const share = memory.peak_bytes / memory.capacity_bytes;
  return h('div', { class: `meter ${memory.fits ? '' : 'over'}`, role: 'img', 'aria-label': `${percent(share)} of the memory` },
    h('div', { style: { width: `${Math.min(100, 100 * share)}%` } }));
}

/** The mean error of the model, where a score was given: {fraction, source}. */
export function knownError(page) {
  const score = page.scores[0];
  return score ? { fraction: score.mean_of_families, source: score.source } : null;
}

function tiles(run, page) {
  const r = run.report, error = knownError(page);
  const [value, unit] = seconds(r.step_time_s).split(' ');
  return h('div', { class: 'tiles' },
    tile('step time', value, unit, error ? `± ${percent(error.fraction)} mean error of ${error.source}` : null),
    tile('MFU', digits(100 * r.mfu, 3), '%', `HFU ${percent(r.hfu)}`),
    tile('throughput', rate(r.tokens_per_s), 'tokens/s', `${rate(r.tokens_per_s_per_gpu)} a GPU`),
    tile('model FLOP rate', digits(r.model_tflops_per_gpu, 4), 'TFLOP/s', 'a GPU'),
    tile('bubble', digits(100 * r.bubble_fraction, 3), '%', 'of the step'),
    tile('peak memory', digits(r.memory.peak_bytes / 2 ** 30, 4), 'GiB', `of ${gib(r.memory.capacity_bytes)}`, meter(r.memory)),
    h('div', { class: 'tile' }, h('div', { class: 'label' }, 'verdict'), h('div', { class: 'value' }, verdict(r.memory.fits)),
      h('div', { class: 'sub' }, r.engine.ranks ? `${count(r.engine.ranks)} GPUs` : null)));
}

export function warnings(run) {
  const list = run.report.provenance.warnings;
  if (!list.length) return null;
  return h('ul', { class: 'warnings' }, list.map((w) => h('li', {}, h('b', {}, w.code), ` ${w.message}`)));
}

function setup(run) {
  if (!run.setup) return null;
  return h('dl', { class: 'setup' }, run.setup.map(([what, text]) => h('div', {}, h('dt', {}, what), h('dd', {}, text))),
    (run.sets || []).map((set) => h('div', {}, h('dt', {}, 'set'), h('dd', {}, set))));
}

const rows = [
  ['step time', (r) => r.step_time_s, seconds, -1],
  ['MFU', (r) => r.mfu, percent, 1],
  ['HFU', (r) => r.hfu, percent, 0],
  ['tokens/s', (r) => r.tokens_per_s, rate, 1],
  ['tokens/s/GPU', (r) => r.tokens_per_s_per_gpu, rate, 1],
  ['model TFLOP/s/GPU', (r) => r.model_tflops_per_gpu, (x) => digits(x, 4), 1],
  ['bubble', (r) => r.bubble_fraction, percent, -1],
  ['peak memory', (r) => r.memory.peak_bytes, gib, -1],
  ['memory of a GPU', (r) => r.memory.capacity_bytes, gib, 0],
];

function comparison(runs) {
  const best = ([, of, , better]) => (better ? Math[better < 0 ? 'min' : 'max'](...runs.map((run) => of(run.report))) : null);
  const columns = [{ label: '', text: (row) => row[0] },
    ...runs.map((run, i) => ({
      label: run.label, num: true,
      class: (row) => (runs.length > 1 && of(row, run) === best(row) ? 'best' : ''),
      cell: (row) => h('span', {}, row[2](of(row, run)), i > 0 && of(row, runs[0]) !== of(row, run)
        ? h('small', {}, ` ${signedPercent(of(row, run) / of(row, runs[0]) - 1)}`) : null),
    }))];
  const box = table(columns, rows);
  const body = box.querySelector('tbody');
  body.append(h('tr', {}, h('td', {}, 'verdict'), runs.map((run) => h('td', { class: 'num' }, verdict(run.report.memory.fits)))));
  const said = [...new Set(runs.flatMap((run) => (run.setup || []).map(([what]) => what)))];
  for (const what of said) {
    const texts = runs.map((run) => ((run.setup || []).find(([w]) => w === what) || ['', '–'])[1]);
    body.append(h('tr', { class: new Set(texts.filter((text) => text !== '–')).size > 1 ? 'differs' : '' }, h('td', {}, what), texts.map((text) => h('td', { class: 'num wrap' }, text))));
  }
  box.classList.add('compare');
  return box;
}

function of(row, run) {
  return row[1](run.report);
}

export function summarySection(page) {
  if (page.runs.length === 1) return section('summary', 'Summary', null, tiles(page.runs[0], page), warnings(page.runs[0]), setup(page.runs[0]));
  return section('summary', 'Summary', 'differences are from the first; the best is bold', comparison(page.runs),
    ...page.runs.map((run) => (warnings(run) ? h('div', {}, h('h3', {}, run.label), warnings(run)) : null)).filter(Boolean));
}
