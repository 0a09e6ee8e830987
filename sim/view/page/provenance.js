// What the figures rest on.
import { h, section, table } from './dom.js';
import { count, percent, signedPercent } from './format.js';

// '84.8 % fitted, 6.6 % guess, 8.6 % bubble; 1.9 % read far from what was measured', of the step's seconds.
function restsOn(report) {
  const seconds = report.rests_on_s, step = report.step_time_s;
  if (!seconds) return null;
  const shares = ['measured', 'fitted', 'datasheet', 'guess', 'bubble'].filter((on) => seconds[on] >= 5e-4 * step)
    .map((on) => `${percent(seconds[on] / step, 1)} ${on}`).join(', ');
  return seconds.outside >= 5e-4 * step ? `${shares}; ${percent(seconds.outside / step, 1)} read far from what was measured` : shares;
}

function facts(run, page) {
  const p = run.report.provenance, e = run.report.engine;
  return [
    ['result', run.source], ['program', `rehearse ${page.version}`], ['scenario', p.scenario],
    ['profile', `${p.profile}${p.digest ? ` (${p.digest})` : ''}`], ['software constants', p.stack],
    ['engine', `${e.name}: ${count(e.simulated_ranks)} of ${count(e.ranks)} ranks simulated, ${count(e.tasks)} tasks, ${count(e.events)} events, ${count(e.flows)} flows`],
    ['folding', e.fold_note], ['the step, by what it rests on', restsOn(run.report)],
  ].filter(([, text]) => text);
}

function doubts(constants) {
  const guesses = constants.filter((c) => c.basis === 'guess');
  if (!guesses.length) return null;
  return h('div', { class: 'doubts' }, h('b', {}, `${guesses.length} of ${constants.length} constants are guesses: `), guesses.map((c) => c.name).join(', '));
}

const byBasis = (list) => ['guess', 'datasheet', 'fitted', 'measured'].map((basis) => [basis, list.filter((c) => c.basis === basis).length])
  .filter(([, n]) => n).map(([basis, n]) => `${n} ${basis}`).join(', ');

function known(page) {
  if (!page.scores.length) return h('p', { class: 'note' }, 'The error of the model is not part of this result; give the JSON of rehearse score to show it.');
  return page.scores.map((score) => table([
    { label: 'measured steps', text: (f) => f.family },
    { label: 'steps', num: true, text: (f) => count(f.rows) },
    { label: 'mean error', num: true, text: (f) => percent(f.mape) },
    { label: 'bias', num: true, text: (f) => signedPercent(f.bias) },
    { label: '90th percentile', num: true, text: (f) => percent(f.p90) },
  ], score.families.filter((f) => f.rows > 0), `Error of the model, by ${score.source}; ${score.mean_of_families === null ? 'nothing was scored' : `mean of families ${percent(score.mean_of_families)}`}`));
}

const fold = (summary, ...children) => h('details', {}, h('summary', {}, summary), ...children);

export function provenanceSection(run, page) {
  const p = run.report.provenance;
  return section('provenance', 'What it rests on', null,
    h('dl', { class: 'setup' }, facts(run, page).map(([what, text]) => h('div', {}, h('dt', {}, what), h('dd', {}, text)))),
    doubts(p.constants), known(page),
    fold(`Constants (${byBasis(p.constants)})`, table([
      { label: 'constant', text: (c) => c.name },
      { label: 'value', num: true, text: (c) => (typeof c.value === 'number' ? `${Number(c.value.toPrecision(6))}` : `${c.value}`) },
      { label: 'basis', cell: (c) => h('span', { class: `basis ${c.basis}` }, c.basis) },
      { label: 'source', text: (c) => c.source },
    ], p.constants)),
    fold(`Tables (${byBasis(p.tables)})`, table([
      { label: 'of', text: (t) => t.what },
      { label: 'tables', num: true, text: (t) => count(t.tables) },
      { label: 'rows', num: true, text: (t) => count(t.rows) },
      { label: 'basis', cell: (t) => h('span', { class: `basis ${t.basis}` }, t.basis) },
      { label: 'source', text: (t) => t.source },
      { label: 'licence', text: (t) => t.licence },
    ], p.tables)),
    run.scenario_text ? fold('Scenario', h('pre', {}, run.scenario_text), (run.sets || []).length ? h('pre', {}, run.sets.map((s) => `--set ${s}`).join('\n')) : null) : null);
}
