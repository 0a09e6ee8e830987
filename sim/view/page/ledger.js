// The account book of traffic, what set the step, and the load of the network.
import { h, section, table } from './dom.js';
import { bytes, count, digits, percent, seconds, signedPercent } from './format.js';

function difference(row) {
  const off = row.bytes_sent_per_rank / row.closed_form_bytes_per_rank - 1;
  if (!Number.isFinite(off)) return '–';
  return Math.abs(off) < 5e-5 ? '=' : signedPercent(off, 2);
}

// 'ring simple, ring ll': how the calls of a row run, most calls first.
function runsAs(row) {
  return [...new Set((row.runs_as || []).map((w) => `${w.algorithm} ${w.protocol}`))].join(', ');
}

export function ledgerSection(run, alone) {
  const step = run.report.step_time_s;
  const columns = [
    { label: 'axis', cell: (r) => h('span', { class: `axis ${r.axis}` }, r.axis.toUpperCase()) },
    { label: 'what', text: (r) => r.what },
    { label: 'operation', text: (r) => r.collective },
    { label: 'runs as', text: runsAs },
    { label: 'group', num: true, text: (r) => count(r.group_size) },
    { label: 'ranks', num: true, text: (r) => count(r.ranks) },
    { label: 'calls', title: 'a step', num: true, text: (r) => count(r.calls_per_step) },
    { label: 'a call', num: true, text: (r) => bytes(r.bytes_per_call) },
    { label: 'sent a rank', num: true, text: (r) => bytes(r.bytes_sent_per_rank) },
    { label: 'closed form', num: true, text: (r) => bytes(r.closed_form_bytes_per_rank) },
    { label: 'differs', title: 'what was sent from its closed form', num: true, text: difference },
    { label: 'exposed', num: true, text: (r) => seconds(r.exposed_s) },
    { label: 'of step', num: true, text: (r) => percent(r.exposed_s / step, 2) },
    { label: 'model state', title: 'bytes that a rank holds with this axis over those without', num: true, text: (r) => `× ${digits(r.memory_factor, 4)}` },
  ];
  const ledger = run.report.ledger.length
    ? table(columns, run.report.ledger)
    : h('p', { class: 'absent' }, 'Nothing is sent: one rank alone.');
  return section('ledger', 'Traffic', 'means over the ranks that take part, summed from what was simulated', ledger, alone ? null : criticalPath(run));
}

/** What the step's longest chain of tasks consists of. */
export function criticalPath(run) {
  const path = run.report.critical_path || [], step = run.report.step_time_s;
  if (!path.length) return null;
  const most = 10, rest = path.slice(most);
  const rows = path.slice(0, most);
  if (rest.length) rows.push({ what: `${rest.length} more`, seconds: rest.reduce((sum, r) => sum + r.seconds, 0), count: rest.reduce((sum, r) => sum + r.count, 0) });
  return h('div', {}, h('h3', {}, 'The path that sets the step'), table([
    { label: 'what', text: (r) => r.what },
    { label: 'times', num: true, text: (r) => count(r.count) },
    { label: 'time', num: true, text: (r) => seconds(r.seconds) },
    { label: 'of step', num: true, text: (r) => percent(r.seconds / step, 2) },
    { label: '', cell: (r) => h('span', { class: 'bar', style: { width: `${Math.max(1, 160 * r.seconds / step)}px` } }) },
  ], rows));
}

export function linksSection(run) {
  const links = run.report.links;
  if (!links || !links.classes.length) return null;
  const share = (x) => x === null ? '' : percent(x, 2);
  return section('links', 'Link load', 'over the whole step; capacity is the line rate times its efficiency; peak: the fullest link in the fullest hundredth of the step', table([
    { label: 'links', text: (l) => l.class },
    { label: 'that carry traffic', num: true, text: (l) => `${count(l.used)} of ${count(l.links)}` },
    { label: 'capacity', num: true, text: (l) => `${bytes(l.capacity_bytes_per_s)}/s` },
    { label: 'carried, mean', num: true, text: (l) => bytes(l.mean_bytes) },
    { label: 'carried, largest', num: true, text: (l) => bytes(l.largest_bytes) },
    { label: 'busy', num: true, text: (l) => share(l.busy_share) },
    { label: 'load, mean', num: true, text: (l) => share(l.mean_share) },
    { label: 'load, peak', num: true, text: (l) => share(l.peak_share) },
  ], links.classes));
}
