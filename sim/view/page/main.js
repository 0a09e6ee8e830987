// Reads the payload and lays out the page.
import { accountSection } from './account.js';
import { h, section, select } from './dom.js';
import { ledgerSection, linksSection } from './ledger.js';
import { memorySection } from './memory.js';
import { provenanceSection } from './provenance.js';
import { sensitivitySection } from './sensitivity.js';
import { summarySection } from './summary.js';
import { sweepSection } from './sweep.js';
import { isDark, onRedraw, toggleTheme, watchTheme } from './theme.js';
import { timelineSection } from './timeline.js';

/** Gives runs names that tell them apart. */
function labelRuns(runs) {
  const times = (list, x) => list.filter((y) => y === x).length;
  const names = runs.map((run) => run.report.name);
  const withSource = runs.map((run, i) => (times(names, names[i]) > 1 ? `${names[i]} (${[run.source, ...(run.sets || [])].join(' ')})` : names[i]));
  runs.forEach((run, i) => { run.label = times(withSource, withSource[i]) > 1 ? `${withSource[i]} #${i + 1}` : withSource[i]; });
}

function title(page) {
  if (page.title) return page.title;
  const names = [...page.runs.map((run) => run.label), ...page.sweeps.map((sweep) => sweep.name)];
  if (page.runs.length > 1) return `Comparison of ${page.runs.length} runs`;
  return names[0] || 'Results';
}

function header(page, sections) {
  const toggle = h('button', { type: 'button', id: 'theme', onclick: toggleTheme });
  const name = () => { toggle.textContent = isDark() ? 'Light' : 'Dark'; toggle.setAttribute('aria-label', `${toggle.textContent} colours`); };
  name();
  onRedraw(name);
  document.getElementById('top').replaceChildren(
    h('span', { class: 'brand' }, 'rehearse'), h('h1', {}, title(page)),
    h('nav', { 'aria-label': 'Sections' }, sections.map((s) => h('a', { href: `#${s.id}` }, s.querySelector('h2').textContent))), toggle);
}

/** What is shown of one run at a time, with a choice where there are several. */
function details(page) {
  const parts = (run) => [timelineSection(run), memorySection(run), ledgerSection(run, page.runs.length === 1), linksSection(run), provenanceSection(run, page)].filter(Boolean);
  const holder = h('div', { id: 'details' });
  let shown = parts(page.runs[0]);
  holder.append(...shown);
  if (page.runs.length < 2) return { head: null, holder };
  const made = new Map([[0, shown]]);
  const choose = (at) => {
    if (!made.has(at)) made.set(at, parts(page.runs[at]));
    holder.replaceChildren(...made.get(at));
  };
  const head = section('detail', 'One run in detail', null,
    select('run', page.runs.map((run, i) => [`${i}`, run.label]), '0', (value) => choose(Number(value))));
  return { head, holder };
}

function start() {
  const page = JSON.parse(document.getElementById('payload').textContent);
  labelRuns(page.runs);
  document.title = `${title(page)} – rehearse`;
  const sections = [];
  if (page.runs.length) {
    sections.push(summarySection(page), accountSection(page));
    const { head, holder } = details(page);
    if (head) sections.push(head);
    sections.push(...holder.childNodes);
    document.getElementById('main').replaceChildren(...sections.filter((s) => s.parentNode !== holder), holder);
  } else {
    document.getElementById('main').replaceChildren();
  }
  page.sweeps.forEach((sweep, i) => sections.push(sweepSection(sweep, i)));
  page.sensitivities.forEach((result, i) => sections.push(sensitivitySection(result, i)));
  document.getElementById('main').append(...sections.filter((s) => !s.isConnected));
  document.getElementById('main').append(h('footer', {}, `rehearse ${page.version}. Figures are simulated, not measured.`));
  header(page, sections);
  watchTheme();
  document.documentElement.dataset.ready = 'yes';
}

start();
